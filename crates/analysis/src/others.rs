//! Costs of the same traffic by other accounting methods.
//!
//! Each is compared with the soaked cost in the same form. getrusage counts the CPU time of both
//! threads to the nanosecond: its figure is the median over windows, as that of the soakers.
//! /proc/stat counts ticks of 4 or 10 ms, which mean nothing in a window of 12 ms: its figure is a
//! total divided by bytes, and is compared with the soakers' total.

use zc_stats::median;

use crate::costs::{TrialCost, sender_alone};
use crate::figures::{figure, per};
use crate::kept::KeptBlocks;
use crate::machine::{Machine, is_emulated};
use crate::model::cell::{OtherMethod, Others};
use crate::model::figure::{Figure, Sides};
use crate::ticks::{TICK_NS, ticks_by_cpu};
use crate::window::{bytes, elapsed_ns, remote_edges};
use zc_run::{CpuTicks, Header, LinkKind, Trial, TrialKind};

pub(super) fn others(kept: &KeptBlocks, place: usize, soaked: &Sides<Figure>) -> Others {
    if is_emulated(kept.header) {
        return Others::default();
    }
    let label = &kept.header.plan.cells[place].label;
    let soaked = Sides {
        sender: soaked.sender.map(|figure| figure.value),
        receiver: soaked.receiver.map(|figure| figure.value),
        both: soaked.both.map(|figure| figure.value),
    };
    Others {
        getrusage_soaked: getrusage(kept, label, TrialKind::Soaked, &soaked),
        getrusage_unsoaked_control: getrusage(kept, label, TrialKind::UnsoakedControl, &soaked),
        proc_stat: proc_stat(kept, place),
        far_process_ns_per_kib: far_process(kept, label),
    }
}

/// CPU time per KiB of the two threads in one window; `None` for a window without bytes, of a
/// server whose processes zc does not know, and on an emulated machine.
fn thread_cost(kept: &KeptBlocks, trial: &Trial) -> Option<Sides<f64>> {
    let plan = &kept.header.plan;
    let is_unknown = plan.server_ran_already() && !plan.has_all_clocks();
    if is_unknown || is_emulated(kept.header) {
        return None;
    }
    elapsed_ns(trial)?;
    let sender_ns = trial.closed.sender.cpu_ns.saturating_sub(trial.opened.sender.cpu_ns) as f64;
    let (opened, closed) = remote_edges(trial).unwrap_or((&trial.opened, &trial.closed));
    let receiver_ns = closed.receiver.cpu_ns.saturating_sub(opened.receiver.cpu_ns) as f64;
    let cost = |ns: f64| per(ns * 1024.0, bytes(trial) as f64);
    // The load of a server has an account, and is not in the cost.
    let alone = sender_alone(kept.header);
    Some(Sides {
        sender: Some(cost(sender_ns)?),
        receiver: if alone { None } else { cost(receiver_ns) },
        both: cost(if alone { sender_ns } else { sender_ns + receiver_ns }),
    })
}

fn getrusage(kept: &KeptBlocks, label: &str, kind: TrialKind, soaked: &Sides<f64>) -> OtherMethod {
    let moved = kept
        .trials(label, kind)
        .filter(|(_, trial)| thread_cost(kept, trial).is_some())
        .fold(0, |sum: u64, (_, trial)| sum.saturating_add(bytes(trial)));
    compared(thread_costs(kept, label, kind), soaked, moved)
}

/// CPU time per KiB of the threads of a cell: medians over its windows.
pub(super) fn thread_costs(kept: &KeptBlocks, label: &str, kind: TrialKind) -> Sides<f64> {
    let windows: Vec<Sides<f64>> =
        kept.trials(label, kind).filter_map(|(_, trial)| thread_cost(kept, trial)).collect();
    let middle = |side: fn(&Sides<f64>) -> Option<f64>| {
        median(&windows.iter().filter_map(side).collect::<Vec<_>>())
    };
    Sides {
        sender: middle(|cost| cost.sender),
        receiver: middle(|cost| cost.receiver),
        both: middle(|cost| cost.both),
    }
}

/// The cost with soakers divided by the cost without, by getrusage, the only account that exists
/// for both: a soaked window and the unsoaked control of the same cell in the same block, over all
/// such pairs. A CPU that never idles runs a woken task at once: more wake-ups, smaller batches.
/// `None` without unsoaked controls.
pub(super) fn cost_ratio_with_soakers(kept: &KeptBlocks) -> Option<Figure> {
    let cost = |trial| thread_cost(kept, trial)?.both;
    let twins = kept.header.plan.cells.iter().flat_map(|cell| kept.twins(&cell.label));
    let ratios = twins.filter_map(|(soaked, control)| per(cost(soaked)?, cost(control)?));
    figure(&ratios.collect::<Vec<_>>(), kept.level)
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
///
/// It covers all CPUs, so it is compared with the loss of all soakers.
fn proc_stat(kept: &KeptBlocks, place: usize) -> OtherMethod {
    let label = &kept.header.plan.cells[place].label;
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
    let all_cpus =
        |cost: &TrialCost| Some(cost.gross.both_ns + cost.gross.other_cpus_ns.unwrap_or(0.0));
    let soaked = Sides { sender: None, receiver: None, both: kept.total_cost(place, all_cpus) };
    compared(Sides { sender: None, receiver: None, both }, &soaked, moved)
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
