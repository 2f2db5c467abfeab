//! What traffic took of CPUs in one window, by the clocks of the soakers and of the traffic's threads.
//!
//! A soaker's thread clock runs while it has its CPU, and while an interrupt or a softirq has it in its
//! place. Its units say how much of that time was its own: as many as it would have done in idle
//! windows in the same time *of its clock*. The rest was taken by interrupts. So what traffic took is
//!
//! ```text
//! clocks of its threads + clock of ksoftirqd + (clock of the soaker - units / units per ns when idle)
//! ```
//!
//! and what other programs take is in no term, and neither is what the hypervisor takes, where the
//! kernel leaves it out of task clocks (CONFIG_PARAVIRT_TIME_ACCOUNTING). Interrupts come while another
//! program has the CPU as often as while the soaker has it, and are in that program's clock: they are
//! scaled in.
//!
//! With CONFIG_IRQ_TIME_ACCOUNTING no task clock contains interrupts (`update_rq_clock_task` in
//! kernel/sched/core.c), and the lost wall time of [`crate::costs`] is what there is.

use zc_run::{Block, Header, Reading, Slot};

use crate::machine::Machine;

/// The least share of the time that the traffic left over which the soakers must have had in a window:
/// what they lost in less says little about what interrupts took from others in the rest.
const LEAST_SHARE: f64 = 0.05;

/// Whether the readings of a run on these machines can contain own clocks that tell costs: the kernel's
/// task clocks contain interrupts, and all threads that work for the traffic are known.
pub(crate) fn tells_costs(header: &Header) -> bool {
    let plan = &header.plan;
    let known = !plan.has_unknown_processes() && plan.responses.is_none();
    let server_is_elsewhere = plan.is_of_a_client() || plan.is_of_a_server() && plan.nfs.is_some();
    known && !server_is_elsewhere && Machine::all(header).all(|machine| machine.irq_time != Some(true))
}

/// What was taken from each CPU of a machine in a window, without the threads of the traffic.
pub(crate) struct Taken {
    window_ns: f64,
    /// In the order of the machine's CPUs.
    by_cpu: Vec<TakenFrom>,
}

/// See [`Taken`].
struct TakenFrom {
    soaker_ns: f64,
    /// Of `soaker_ns` what interrupts took.
    interrupts_ns: f64,
    ksoftirqd_ns: f64,
}

impl Taken {
    /// In the window of slot number `slot`. `None` without own clocks, or without idle windows in
    /// which the soakers ran.
    pub(crate) fn of(block: &Block, slot: usize, machine: &Machine<'_>) -> Option<Self> {
        let (opened, closed) = machine.edges(&block.slots[slot])?;
        let window = Clocks::between(opened, closed, machine)?;
        let speeds = speeds(block, slot, machine)?;
        let of_cpu = |(clock, speed): (&Clock, f64)| TakenFrom {
            soaker_ns: clock.soaker_ns,
            interrupts_ns: clock.soaker_ns - clock.units / speed,
            ksoftirqd_ns: clock.ksoftirqd_ns,
        };
        let by_cpu = std::iter::zip(&window.by_cpu, speeds).map(of_cpu).collect();
        Some(Self { window_ns: window.elapsed_ns, by_cpu })
    }

    pub(crate) fn window_ns(&self) -> f64 {
        self.window_ns
    }

    /// CPU time that traffic took on the CPUs at these places, where its threads used `threads_ns`.
    /// `None` where the soakers there hardly ran.
    pub(crate) fn from(&self, places: impl Iterator<Item = usize>, threads_ns: f64) -> Option<f64> {
        let (mut all_ns, mut soakers_ns, mut interrupts_ns, mut ksoftirqd_ns) = (0.0, 0.0, 0.0, 0.0);
        for cpu in places.map(|place| &self.by_cpu[place]) {
            all_ns += self.window_ns;
            soakers_ns += cpu.soaker_ns;
            interrupts_ns += cpu.interrupts_ns;
            ksoftirqd_ns += cpu.ksoftirqd_ns;
        }
        let left_ns = all_ns - threads_ns - ksoftirqd_ns;
        if soakers_ns < LEAST_SHARE * left_ns {
            return None;
        }
        // What is left to nobody, as thread clocks are read a moment apart, is no other program.
        let others_ns = (left_ns - soakers_ns).max(0.0);
        let scaled = if soakers_ns > 0.0 { 1.0 + others_ns / soakers_ns } else { 1.0 };
        Some(threads_ns + ksoftirqd_ns + interrupts_ns * scaled)
    }
}

/// Units and clocks of a window.
struct Clocks {
    /// The middle of the window by CLOCK_MONOTONIC.
    middle_ns: f64,
    elapsed_ns: f64,
    /// In the order of the machine's CPUs.
    by_cpu: Vec<Clock>,
}

/// See [`Clocks`].
struct Clock {
    units: f64,
    soaker_ns: f64,
    ksoftirqd_ns: f64,
}

impl Clocks {
    /// `None` when the window has no length, or a clock is missing or ran backwards.
    fn between(opened: &Reading, closed: &Reading, machine: &Machine<'_>) -> Option<Self> {
        let (from, to) = (&opened.soak, &closed.soak);
        let elapsed_ns = to.at_ns.checked_sub(from.at_ns).filter(|ns| *ns > 0)? as f64;
        let lists = [&from.units, &to.units, &from.cpu_ns, &to.cpu_ns];
        if machine.cpus.is_empty() || lists.iter().any(|list| list.len() != machine.cpus.len()) {
            return None;
        }
        let grown = |from: u64, to: u64| to.checked_sub(from).map(|by| by as f64);
        let ksoftirqd_ns = |cpu: usize| match (from.ksoftirqd_ns.get(cpu), to.ksoftirqd_ns.get(cpu)) {
            (Some(from), Some(to)) => grown(*from, *to),
            _ => Some(0.0), // its time counts as that of other programs
        };
        let of_cpu = |cpu: usize| {
            Some(Clock {
                units: grown(from.units[cpu], to.units[cpu])?,
                soaker_ns: grown(from.cpu_ns[cpu], to.cpu_ns[cpu])?,
                ksoftirqd_ns: ksoftirqd_ns(cpu)?,
            })
        };
        let by_cpu = (0..machine.cpus.len()).map(of_cpu).collect::<Option<_>>()?;
        Some(Self { middle_ns: from.at_ns as f64 + elapsed_ns / 2.0, elapsed_ns, by_cpu })
    }
}

/// Units per ns of its own clock of each soaker at the middle of a window, if it were idle: in a
/// straight line between the idle windows before and after in which it had some of its CPU, or as in
/// one of them where the other is missing.
pub(crate) fn speeds(block: &Block, slot: usize, machine: &Machine<'_>) -> Option<Vec<f64>> {
    let (opened, closed) = machine.edges(&block.slots[slot])?;
    let middle_ns = (opened.soak.at_ns as f64 + closed.soak.at_ns as f64) / 2.0;
    let before: Vec<Clocks> =
        block.slots[..slot].iter().rev().filter_map(|slot| idle_clocks(slot, machine)).collect();
    let after: Vec<Clocks> =
        block.slots[slot + 1..].iter().filter_map(|slot| idle_clocks(slot, machine)).collect();
    let of_cpu = |cpu: usize| {
        let first = |windows: &[Clocks]| windows.iter().find_map(|window| speed(window, cpu));
        match (first(&before), first(&after)) {
            (Some((from_ns, from)), Some((to_ns, to))) => {
                Some(from + (middle_ns - from_ns) / (to_ns - from_ns) * (to - from))
            }
            (Some((_, only)), None) | (None, Some((_, only))) => Some(only),
            (None, None) => None,
        }
    };
    (0..machine.cpus.len()).map(of_cpu).collect()
}

/// When it was, and units per ns of a soaker's own clock; `None` where it hardly ran.
fn speed(window: &Clocks, cpu: usize) -> Option<(f64, f64)> {
    let Clock { units, soaker_ns, .. } = window.by_cpu[cpu];
    let ran = soaker_ns >= LEAST_SHARE * window.elapsed_ns && units > 0.0;
    ran.then(|| (window.middle_ns, units / soaker_ns))
}

/// The clocks of an idle window; `None` for any other slot.
fn idle_clocks(slot: &Slot, machine: &Machine<'_>) -> Option<Clocks> {
    let Slot::Idle(_) = slot else { return None };
    let (opened, closed) = machine.edges(slot)?;
    Clocks::between(opened, closed, machine)
}
