//! Steal where task clocks contain it (no CONFIG_PARAVIRT_TIME_ACCOUNTING).
//!
//! There a soaker's clock runs on while its CPU is stolen, which looks as if an interrupt had it.
//! In random order that is no bias, but noise. /proc/stat knows steal to a tick of 10 ms, which is
//! long beside a window: a tick may belong to the window before, or lack what was stolen since. So
//! what is taken off is the part of each tick by which soakers were slower in idle windows that had
//! one: the slope of a regression, which is near to 1 where steal comes in bursts of many ticks and
//! near to 0 where a tick says little about its window.

use zc_run::{Block, Header};

use crate::clocks::{Clocks, idle_clocks};
use crate::machine::Machine;

/// Share of each tick of steal, 0 to 1, by which clocks are too long, on both machines.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct StealInClocks {
    local: f64,
    remote: f64,
}

impl StealInClocks {
    /// From all idle windows of these blocks.
    pub(crate) fn from_idle_windows(blocks: &[&Block], header: &Header) -> Self {
        let mut found = Self::default();
        for machine in Machine::all(header).filter(|machine| machine.steal_in_clocks) {
            let share = slope(blocks, &machine);
            if machine.remote { found.remote = share } else { found.local = share }
        }
        found
    }

    /// The share on a machine.
    pub(crate) fn on(self, machine: &Machine<'_>) -> f64 {
        if machine.remote { self.remote } else { self.local }
    }
}

/// Time that a soaker lost in an idle window, divided by the steal that /proc/stat counted in it,
/// both beyond those of the idle windows beside it.
fn slope(blocks: &[&Block], machine: &Machine<'_>) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for block in blocks {
        let idle = block.slots.iter().filter_map(|slot| idle_clocks(slot, machine));
        let windows: Vec<Clocks> = idle.collect();
        for three in windows.windows(3) {
            let [before, window, after] = three else { continue };
            for cpu in 0..machine.cpus.len() {
                let beyond = |of: fn(&Clocks, usize) -> f64| {
                    of(window, cpu) - (of(before, cpu) + of(after, cpu)) / 2.0
                };
                let stolen = beyond(|window, cpu| window.by_cpu[cpu].steal_ns / window.elapsed_ns);
                let speed = |window: &Clocks| {
                    let cpu = &window.by_cpu[cpu];
                    (cpu.soaker_ns > 0.0).then(|| cpu.units / cpu.soaker_ns)
                };
                let (Some(before), Some(own), Some(after)) =
                    (speed(before), speed(window), speed(after))
                else {
                    continue;
                };
                if before + after > 0.0 {
                    let lost = 1.0 - 2.0 * own / (before + after);
                    products += stolen * lost;
                    squares += stolen * stolen;
                }
            }
        }
    }
    if squares > 0.0 { (products / squares).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlanIndex;
    use crate::costs::{Side, trial_costs};
    use zc_run::Run;
    use zc_testkit::synthetic::Synthetic;

    fn world(steal_in_clocks: bool) -> Synthetic {
        Synthetic {
            blocks: 60,
            noise: 0.0,
            block_drift: 0.0,
            idle_noise: 0.001,
            steal_share: 0.02,
            steal_in_bursts: true,
            steal_in_clocks,
            ..Synthetic::default()
        }
    }

    fn share(run: &Run) -> f64 {
        let blocks: Vec<&Block> = run.blocks.iter().collect();
        StealInClocks::from_idle_windows(&blocks, &run.header).local
    }

    /// Root mean square of the errors of the reference's costs, relative to its cost, and their
    /// mean.
    fn errors(run: &Run) -> (f64, f64) {
        let blocks: Vec<&Block> = run.blocks.iter().collect();
        let found = trial_costs(&blocks, &run.header, &PlanIndex::new(&run.header.plan));
        let errors: Vec<f64> = found
            .iter()
            .map(|block| block[0].as_ref().unwrap().ns_per_kib(Side::Both).unwrap() / 900.0 - 1.0)
            .collect();
        let mean = |of: fn(f64) -> f64| errors.iter().map(|e| of(*e)).sum::<f64>() / 60.0;
        (mean(|error| error * error).sqrt(), mean(|error| error))
    }

    #[test]
    fn steal_that_clocks_leave_out_is_no_error_and_is_not_taken_off() {
        let run = world(false).run();
        assert_eq!(share(&run), 0.0);
        let (scatter, mean) = errors(&run);
        assert!(scatter < 0.01 && mean.abs() < 0.003, "{scatter} {mean}");
    }

    #[test]
    fn steal_in_clocks_makes_less_noise_when_its_ticks_are_taken_off() {
        let run = world(true).run();
        assert!(share(&run) > 0.5, "{}", share(&run));
        let (scatter, mean) = errors(&run);
        let mut unknown = run.clone();
        unknown.header.host.paravirt_time_accounting = None;
        let (before, _) = errors(&unknown);
        eprintln!("share {} scatter {scatter} mean {mean} before {before}", share(&run));
        assert!(scatter < 0.7 * before, "{scatter} {before}");
        assert!(mean.abs() < 0.02, "{mean}");
    }
}
