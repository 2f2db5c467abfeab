//! Wall time taken from the soakers in one window, by everything that ran in their place.
//!
//! A soaker's rate in the window is compared with the idle rate of the same CPU *at that moment*.
//! The idle rate is interpolated linearly in time between the idle windows before and after, each
//! taken at its middle. The missing part of that rate is the share of the CPU that was taken,
//! whichever task was charged for it: the traffic, other programs, the hypervisor. Rates of other
//! blocks are never used, because clock frequencies and the load of neighbours drift.

use crate::machine::Machine;
use crate::sides::{Account, Threads};
use crate::taken::TakenFrom;
use crate::window::units;
use zc_run::{Block, Reading, Slot};

/// The account of a machine in the window of slot number `slot`. `None` without idle windows around
/// it, or if a counter is missing or ran backwards.
pub(crate) fn account(block: &Block, slot: usize, machine: &Machine<'_>) -> Option<Account> {
    let (window, idle_units_per_ns) = rates(block, slot, machine)?;
    let of_cpu = |(units_per_ns, idle): (&f64, f64)| {
        let known_ns = (idle > 0.0).then(|| (1.0 - units_per_ns / idle) * window.elapsed_ns)?;
        Some(TakenFrom { known_ns, ..TakenFrom::default() })
    };
    let by_cpu = std::iter::zip(&window.units_per_ns, idle_units_per_ns).map(of_cpu);
    let by_cpu = by_cpu.collect::<Option<_>>()?;
    Some(Account { window_ns: window.elapsed_ns, by_cpu, threads: Threads::AreKnown })
}

/// The rates of a machine's soakers in a trial's window, and their idle rates at that moment: in a
/// straight line between the idle windows before and after it.
pub(crate) fn rates(
    block: &Block,
    slot: usize,
    machine: &Machine<'_>,
) -> Option<(Rates, Vec<f64>)> {
    let (opened, closed) = machine.edges(&block.slots[slot])?;
    let window = Rates::between(opened, closed, machine)?;
    let before = block.slots[..slot].iter().rev().find_map(|slot| idle_rates(slot, machine))?;
    let after = block.slots[slot + 1..].iter().find_map(|slot| idle_rates(slot, machine))?;
    let span = after.middle_ns - before.middle_ns;
    if span <= 0.0 {
        return None;
    }
    let towards_after = (window.middle_ns - before.middle_ns) / span;
    let idle = std::iter::zip(&before.units_per_ns, &after.units_per_ns)
        .map(|(before, after)| before + towards_after * (after - before))
        .collect();
    Some((window, idle))
}

/// The rate of every soaker in a window.
pub(crate) struct Rates {
    /// The middle of the window by CLOCK_MONOTONIC.
    pub(crate) middle_ns: f64,
    pub(crate) elapsed_ns: f64,
    /// Rate of each CPU's soaker, in the order of the machine's CPUs.
    pub(crate) units_per_ns: Vec<f64>,
}

impl Rates {
    /// `None` when the window has no length or a counter is missing or ran backwards.
    pub(crate) fn between(
        opened: &Reading,
        closed: &Reading,
        machine: &Machine<'_>,
    ) -> Option<Self> {
        let (elapsed_ns, units) = units(opened, closed, machine)?;
        let units_per_ns = units.into_iter().map(|units| units / elapsed_ns).collect();
        let middle_ns = opened.soak.at_ns as f64 + elapsed_ns / 2.0;
        Some(Self { middle_ns, elapsed_ns, units_per_ns })
    }

    pub(crate) fn total(&self) -> f64 {
        self.units_per_ns.iter().sum()
    }
}

/// The rates of an idle window; `None` for any other slot, and when a soaker made no progress.
pub(crate) fn idle_rates(slot: &Slot, machine: &Machine<'_>) -> Option<Rates> {
    let Slot::Idle(_) = slot else { return None };
    let (opened, closed) = machine.edges(slot)?;
    Rates::between(opened, closed, machine)
        .filter(|rates| rates.units_per_ns.iter().all(|rate| *rate > 0.0))
}
