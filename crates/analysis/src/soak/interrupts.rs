//! Time that interrupts and softirqs took from the soakers in a window.
//!
//! A soaker that is interrupted is charged with the interrupt and does not count meanwhile. So the
//! time of its own clock beyond what its units need is interrupts. How long a unit takes is known
//! from those of the same window that nothing interrupted: the speed of a CPU changes by a percent
//! from one second to the next, and by what its neighbour does, which is as much as interrupts
//! take.

use super::window::{soaker_ns, ticked, undisturbed, units};
use zc_run::{SoakWindow, SoakerPace};

/// Least share of undisturbed units. With fewer, the shortest of them are short by chance.
const LEAST_UNDISTURBED: f64 = 0.2;

/// CPU time of soakers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct OfSoakers {
    /// Total by their own clocks.
    pub(super) had_ns: f64,
    /// The part that interrupts took.
    pub(super) interrupts_ns: f64,
}

impl OfSoakers {
    fn add(&mut self, more: Self) {
        self.had_ns += more.had_ns;
        self.interrupts_ns += more.interrupts_ns;
    }
}

/// Duration of a unit on a CPU that nothing interrupts. `None` where too few units were
/// undisturbed, or where the soakers do not tell.
pub(super) fn ns_per_unit(window: &SoakWindow, cpu: usize) -> Option<f64> {
    let (all, undisturbed) = (units(window, cpu)?, undisturbed(window, cpu)?);
    let enough = undisturbed.units > 0 && undisturbed.units as f64 >= LEAST_UNDISTURBED * all;
    enough.then(|| undisturbed.cpu_ns as f64 / undisturbed.units as f64)
}

/// What the timer's ticks took from the soaker of a CPU, if a unit takes it `ns_per_unit`: 0 where
/// the soakers do not tell.
pub(super) fn ticks_ns(window: &SoakWindow, cpu: usize, ns_per_unit: f64) -> f64 {
    let of = |SoakerPace { units, cpu_ns }| cpu_ns as f64 - units as f64 * ns_per_unit;
    ticked(window, cpu).map_or(0.0, of)
}

/// All interrupts on the time of the soaker of one CPU, if a unit takes it `ns_per_unit`.
fn on(window: &SoakWindow, cpu: usize, ns_per_unit: f64) -> Option<OfSoakers> {
    let had_ns = soaker_ns(window, cpu)?;
    Some(OfSoakers { had_ns, interrupts_ns: had_ns - units(window, cpu)? * ns_per_unit })
}

/// All interrupts on the time of the soakers in windows, by CPU. A soaker that was never
/// undisturbed has none, as if it had not been there.
pub(super) fn all<'w>(
    windows: impl Iterator<Item = &'w SoakWindow> + Clone,
    cpus: usize,
) -> Vec<OfSoakers> {
    let of_cpu = |cpu: usize| {
        let mut sum = OfSoakers::default();
        let each = windows.clone().filter_map(|it| on(it, cpu, ns_per_unit(it, cpu)?));
        each.for_each(|more| sum.add(more));
        sum
    };
    (0..cpus).map(of_cpu).collect()
}

/// Interrupts on the time of all soakers in a window beyond those that there are in `idle` windows
/// in as much of the soakers' time. A soaker whose speed is known in none of them is left out.
pub(super) fn beyond_idle<'w>(
    window: &SoakWindow,
    idle: impl Iterator<Item = &'w SoakWindow> + Clone,
) -> OfSoakers {
    let mut sum = OfSoakers::default();
    let cpus = window.opened.soak.units.len();
    for (cpu, level) in all(idle.clone(), cpus).into_iter().enumerate() {
        // So many interrupts that hardly a unit is free of them: as fast as when it was idle.
        let usual = || idle.clone().find_map(|it| ns_per_unit(it, cpu));
        let found = ns_per_unit(window, cpu).or_else(usual);
        let Some(here) = found.and_then(|ns| on(window, cpu, ns)) else { continue };
        let share = if level.had_ns > 0.0 { level.interrupts_ns / level.had_ns } else { 0.0 };
        let interrupts_ns = here.interrupts_ns - share * here.had_ns;
        sum.add(OfSoakers { interrupts_ns, ..here });
    }
    sum
}
