//! Loads by subtraction: the part of the soakers' idle rates that a window lacks.

use super::model::{Load, TakenShare};
use super::window::{busy_but_nice, busy_share, elapsed_ns, stat_cpus, units};
use zc_run::{Severity, SoakEdge, SoakStart, SoakWindow, Taken, Warning};

/// A machine is quiet if at most this share of its CPUs is busy.
pub(super) const QUIET_LIMIT: f64 = 0.02;
/// With a larger share in use by other tasks, the cost of a command is not judged: the command and
/// the other tasks take CPU time from each other.
pub(super) const WITHHOLD_LIMIT: f64 = 0.1;

/// The idle rate of each soaker, in units per nanosecond. `None` without windows, or when a soaker
/// made no progress in any of them.
pub fn idle_rates(windows: &[SoakWindow]) -> Option<Vec<f64>> {
    let first = windows.first()?;
    let elapsed_ns: f64 = windows.iter().map(elapsed_ns).sum();
    let rates = (0..first.opened.soak.units.len()).map(|cpu| {
        let units: Option<f64> = windows.iter().map(|window| units(window, cpu)).sum();
        units.map(|units| units / elapsed_ns).filter(|rate| *rate > 0.0 && rate.is_finite())
    });
    rates.collect()
}

/// The rate of each soaker while it runs, in units per nanosecond of its own CPU time: its rate on
/// an idle machine, even if the machine was not idle. Interrupts are charged to the task that they
/// interrupt, so with many interrupts this rate is slightly low. `None` when a soaker had no CPU
/// time.
pub fn paces(start: &SoakStart) -> Option<Vec<f64>> {
    let each = start.pace.iter().map(|pace| pace.units as f64 / pace.cpu_ns as f64);
    each.map(|rate| (rate > 0.0 && rate.is_finite()).then_some(rate)).collect()
}

/// The load of a window relative to idle rates. `None` when the two are not of the same CPUs.
pub fn load(window: &SoakWindow, rates: &[f64]) -> Option<Load> {
    let elapsed = elapsed_ns(window);
    if elapsed <= 0.0 {
        return None;
    }
    let cpus: Option<Vec<f64>> = rates
        .iter()
        .enumerate()
        .map(|(cpu, rate)| Some(1.0 - units(window, cpu)? / (rate * elapsed)))
        .collect();
    let cpus = cpus?;
    let (stat_cpus, steal_cpus) =
        stat_cpus(&window.opened.stat, &window.closed.stat, busy_but_nice)?;
    Some(Load {
        elapsed_ns: elapsed as u64,
        busy_cpus: cpus.iter().sum(),
        cpus,
        stat_cpus,
        steal_cpus,
    })
}

/// The CPU share that the soakers took from a busy process of another session; `None` if it cannot
/// be computed.
pub fn taken_share(taken: &Taken, rates: &[f64]) -> Option<TakenShare> {
    let edge = |soak: &zc_run::SoakReading| SoakEdge { soak: soak.clone(), ..SoakEdge::default() };
    let window = SoakWindow { opened: edge(&taken.opened), closed: edge(&taken.closed) };
    let elapsed = elapsed_ns(&window);
    let got: Option<f64> = rates
        .iter()
        .enumerate()
        .map(|(cpu, rate)| Some(units(&window, cpu)? / (rate * elapsed)))
        .sum();
    let lost = |burnt: &[zc_run::Burnt]| {
        let lost: f64 =
            burnt.iter().map(|each| 1.0 - each.cpu_ns as f64 / each.wall_ns as f64).sum();
        lost / burnt.len() as f64
    };
    let share = TakenShare {
        soakers: got? / rates.len() as f64,
        lost: lost(&taken.soaked),
        lost_unsoaked: lost(&taken.unsoaked),
        other_cgroup: taken.other_cgroup,
    };
    (share.soakers.is_finite() && share.lost.is_finite() && share.lost_unsoaked.is_finite())
        .then_some(share)
}

/// The warning `busy-machine`, if the machine was not quiet while the idle rates were measured. A
/// soaker that is preempted then counts too few units, and every later load is too small.
pub fn not_quiet(start: &SoakStart) -> Option<Warning> {
    let busy = busy_share(&start.idle);
    (busy > QUIET_LIMIT).then(|| {
        Warning::new(
            "busy-machine",
            if busy > WITHHOLD_LIMIT { Severity::Withhold } else { Severity::Doubt },
            format!(
                "something else used {:.1} % of the CPUs while the soakers' idle rates were taken: \
                 only load beyond that is seen",
                100.0 * busy
            ),
        )
        .remedy("stop what runs beside it")
    })
}
