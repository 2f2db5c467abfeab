//! Costs of the same traffic by other accounting methods.
//!
//! getrusage counts the CPU time of both threads, /proc/stat the ticks that found a CPU busy. Both
//! are totals divided by bytes, as a tool would have computed them over the whole run: ticks of 4
//! or 10 ms mean nothing in a window of 12 ms.

use crate::costs::sender_alone;
use crate::figures::{figure, per};
use crate::kept::KeptBlocks;
use crate::machine::Machine;
use crate::model::cell::{OtherMethod, Others};
use crate::model::estimates::Estimates;
use crate::model::figure::{Figure, Sides};
use crate::rules::{TICK_NS, ticks_by_cpu};
use crate::window::{bytes, elapsed_ns, remote_edges};
use zc_run::{CpuTicks, Header, LinkKind, Trial, TrialKind};

pub(super) fn others(
    kept: &KeptBlocks,
    label: &str,
    soaked: &Sides<Figure>,
    other_cpus: Option<&Figure>,
) -> Others {
    let soaked = Sides {
        sender: soaked.sender.map(|figure| figure.value),
        receiver: soaked.receiver.map(|figure| figure.value),
        both: soaked.both.map(|figure| figure.value),
    };
    // /proc/stat covers all CPUs, so it is compared with the loss of all soakers.
    let everywhere = Sides {
        sender: None,
        receiver: None,
        both: soaked.both.map(|both| both + other_cpus.map_or(0.0, |figure| figure.value)),
    };
    Others {
        getrusage_soaked: getrusage(kept, label, TrialKind::Soaked, &soaked),
        getrusage_unsoaked_control: getrusage(kept, label, TrialKind::UnsoakedControl, &soaked),
        proc_stat: proc_stat(kept, label, &everywhere),
        far_process_ns_per_kib: far_process(kept, label),
    }
}

fn getrusage(kept: &KeptBlocks, label: &str, kind: TrialKind, soaked: &Sides<f64>) -> OtherMethod {
    let (mut sender_ns, mut receiver_ns, mut moved) = (0.0, 0.0, 0u64);
    for (_, trial) in kept.trials(label, kind).filter(|(_, trial)| elapsed_ns(trial).is_some()) {
        sender_ns += trial.closed.sender.cpu_ns.saturating_sub(trial.opened.sender.cpu_ns) as f64;
        let (opened, closed) = remote_edges(trial).unwrap_or((&trial.opened, &trial.closed));
        receiver_ns += closed.receiver.cpu_ns.saturating_sub(opened.receiver.cpu_ns) as f64;
        moved = moved.saturating_add(bytes(trial));
    }
    let cost = |ns: f64| per(ns * 1024.0, moved as f64);
    let receiver = if sender_alone(kept.header) { None } else { cost(receiver_ns) };
    let cost = Sides { sender: cost(sender_ns), receiver, both: cost(sender_ns + receiver_ns) };
    compared(cost, soaked, moved)
}

/// CPU time per KiB by the report of a remote end other than zc: its process's CPU time over whole
/// soaked trials, divided by the bytes that it received.
fn far_process(kept: &KeptBlocks, label: &str) -> Option<f64> {
    let reports =
        kept.trials(label, TrialKind::Soaked).filter_map(|(_, trial)| trial.remote_report);
    let (cpu_ns, bytes) = reports.fold((0.0, 0.0), |(cpu_ns, bytes), report| {
        (
            cpu_ns + report.cpu_percent / 100.0 * report.seconds * 1e9,
            bytes + report.received_bytes as f64,
        )
    });
    per(cpu_ns * 1024.0, bytes)
}

/// Busy ticks in the soaked windows. Soakers run at nice 19, so their ticks are in another column.
/// /proc/stat is most accurate there: no tick is stopped, because no CPU idles.
fn proc_stat(kept: &KeptBlocks, label: &str, soaked: &Sides<f64>) -> OtherMethod {
    let fixed = &kept.header.plan.fixed;
    // The ACK generator's CPU, which is always busy.
    let not_counted = (fixed.link == LinkKind::Null).then_some(fixed.receiver_cpu);
    let (mut ticks, mut moved, mut moved_meanwhile) = (0u64, 0u64, 0.0);
    for (_, trial) in kept.trials(label, TrialKind::Soaked) {
        let Some(window_ns) = elapsed_ns(trial) else { continue };
        let Some(busy) = busy_ticks(kept.header, trial, not_counted) else { continue };
        let (opened, closed) = (&trial.opened, &trial.closed);
        // /proc/stat is read some milliseconds before the window opens and after it closes. The
        // rate of traffic is assumed to be the same.
        let stat_ns = closed.stat.at_ns.saturating_sub(opened.stat.at_ns);
        ticks = ticks.saturating_add(busy);
        moved = moved.saturating_add(bytes(trial));
        moved_meanwhile += bytes(trial) as f64 * stat_ns as f64 / window_ns as f64;
    }
    let both = per(ticks as f64 * TICK_NS * 1024.0, moved_meanwhile);
    compared(Sides { sender: None, receiver: None, both }, soaked, moved)
}

/// Busy ticks of all machines in a trial's window, without the CPU `not_counted` of the sender's
/// machine.
fn busy_ticks(header: &Header, trial: &Trial, not_counted: Option<usize>) -> Option<u64> {
    let local = Machine::local(header);
    let by_cpu = ticks_by_cpu(&trial.opened, &trial.closed, &local, busy)?;
    let counted = local
        .cpus
        .iter()
        .zip(by_cpu)
        .filter(|(cpu, _)| Some(**cpu) != not_counted)
        .map(|(_, ticks)| ticks);
    let far = match (Machine::remote(header), remote_edges(trial)) {
        (Some(machine), Some((opened, closed))) => ticks_by_cpu(opened, closed, &machine, busy)?,
        _ => Vec::new(),
    };
    Some(counted.chain(far).fold(0u64, u64::saturating_add))
}

/// Ticks other than idle, iowait, steal and the soakers' (nice).
fn busy(cpu: &CpuTicks) -> u64 {
    [cpu.user, cpu.system, cpu.irq, cpu.softirq].into_iter().fold(0, u64::saturating_add)
}

fn compared(cost: Sides<f64>, soaked: &Sides<f64>, bytes: u64) -> OtherMethod {
    let by = |cost: Option<f64>, soaked: Option<f64>| per(cost?, soaked?);
    OtherMethod {
        cost_ns_per_kib: cost,
        by_soaked: Sides {
            sender: by(cost.sender, soaked.sender),
            receiver: by(cost.receiver, soaked.receiver),
            both: by(cost.both, soaked.both),
        },
        bytes,
    }
}

impl Estimates {
    /// Ratio of the cost with soakers to the cost without, by getrusage, the only account that
    /// exists for both: soaked windows divided by unsoaked controls. The figure is taken over cells
    /// instead of blocks, because a cell has few controls. A CPU that never idles runs a woken task
    /// at once: more wake-ups, smaller batches. `None` without unsoaked controls.
    pub fn cost_ratio_with_soakers(&self) -> Option<Figure> {
        let times = self.cells.iter().filter_map(|cell| {
            let (soaked, control) =
                (&cell.others.getrusage_soaked, &cell.others.getrusage_unsoaked_control);
            let times = soaked.cost_ns_per_kib.both?
                / control.cost_ns_per_kib.both.filter(|cost| *cost > 0.0)?;
            times.is_finite().then_some(times)
        });
        figure(&times.collect::<Vec<_>>(), self.confidence)
    }
}
