//! Units and clocks of a machine's soakers in one window.

use zc_run::{CpuTicks, Reading, Slot};

use crate::division::per;
use crate::machine::Machine;
use crate::ticks::{TICK_NS, ticks_by_cpu};
use crate::window::units;

/// Idle time of a CPU that ticks may show although it was not idle: a tick, and what follows of
/// rounding.
const LEAST_STOP_NS: f64 = 2.0 * TICK_NS;

/// Units and clocks of a window.
pub(crate) struct Clocks {
    /// The middle of the window by CLOCK_MONOTONIC.
    pub(crate) middle_ns: f64,
    pub(crate) elapsed_ns: f64,
    /// The clocks of each CPU, in the order of the machine's CPUs.
    pub(crate) by_cpu: Vec<Clock>,
}

/// See [`Clocks`].
pub(crate) struct Clock {
    pub(crate) units: f64,
    pub(crate) soaker_ns: f64,
    pub(crate) ksoftirqd_ns: f64,
    /// Steal, by the ticks of /proc/stat.
    pub(crate) steal_ns: f64,
    /// Steal that is in no task clock. Nothing interrupts a CPU then.
    pub(crate) steal_outside_ns: f64,
    /// Time in which the CPU was idle, by the ticks of /proc/stat.
    pub(crate) stopped_ns: f64,
}

impl Clock {
    /// CPU time of the soaker, less this share of the steal that fell on it.
    pub(crate) fn soaker_without_ns(&self, steal: f64, window_ns: f64) -> f64 {
        self.soaker_ns * (1.0 - steal * self.steal_ns / window_ns)
    }
}

impl Clocks {
    /// The clocks of a slot's window. `None` without readings; otherwise see
    /// [`between`](Self::between).
    pub(crate) fn in_slot(slot: &Slot, machine: &Machine<'_>) -> Option<Self> {
        let (opened, closed) = machine.edges(slot)?;
        Self::between(opened, closed, machine)
    }

    /// `None` when the window has no length, or a clock is missing or ran backwards.
    pub(crate) fn between(
        opened: &Reading,
        closed: &Reading,
        machine: &Machine<'_>,
    ) -> Option<Self> {
        let (elapsed_ns, units) = units(opened, closed, machine)?;
        let (from, to) = (&opened.soak, &closed.soak);
        if from.cpu_ns.len() != units.len() || to.cpu_ns.len() != units.len() {
            return None;
        }
        let grown = |from: u64, to: u64| to.checked_sub(from).map(|by| by as f64);
        let ksoftirqd_ns = |cpu: usize| {
            match (from.ksoftirqd_ns.get(cpu), to.ksoftirqd_ns.get(cpu)) {
                (Some(from), Some(to)) => grown(*from, *to),
                _ => Some(0.0), // it is one of the other programs
            }
        };
        let stat_ns = closed.stat.at_ns.saturating_sub(opened.stat.at_ns) as f64;
        let in_window = |columns: fn(&CpuTicks) -> u64| {
            let ticks = ticks_by_cpu(opened, closed, machine, columns);
            move |cpu: usize| {
                let ticks = ticks.as_ref().map_or(0.0, |ticks| ticks[cpu] as f64);
                per(ticks * TICK_NS * elapsed_ns, stat_ns).unwrap_or(0.0)
            }
        };
        let steal_ns = in_window(|cpu| cpu.steal);
        let idle_ns = in_window(|cpu| cpu.idle.saturating_add(cpu.iowait));
        let of_cpu = |cpu: usize| {
            Some(Clock {
                units: units[cpu],
                soaker_ns: grown(from.cpu_ns[cpu], to.cpu_ns[cpu])?,
                ksoftirqd_ns: ksoftirqd_ns(cpu)?,
                steal_ns: steal_ns(cpu),
                steal_outside_ns: if machine.steal_in_clocks { 0.0 } else { steal_ns(cpu) },
                stopped_ns: Some(idle_ns(cpu)).filter(|ns| *ns > LEAST_STOP_NS).unwrap_or(0.0),
            })
        };
        let by_cpu = (0..units.len()).map(of_cpu).collect::<Option<_>>()?;
        Some(Self { middle_ns: from.at_ns as f64 + elapsed_ns / 2.0, elapsed_ns, by_cpu })
    }

    /// Time in which all of zc was stopped.
    pub(crate) fn stopped_ns(&self) -> f64 {
        self.by_cpu.iter().map(|cpu| cpu.stopped_ns).fold(f64::INFINITY, f64::min)
    }
}

/// The clocks of an idle window; `None` for any other slot.
pub(crate) fn idle_clocks(slot: &Slot, machine: &Machine<'_>) -> Option<Clocks> {
    let Slot::Idle(_) = slot else { return None };
    Clocks::in_slot(slot, machine)
}
