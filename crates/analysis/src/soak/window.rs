//! Readings of a soaked window: units, ticks of /proc/stat, and CPU time of the soakers.

use crate::ticks::TICK_NS;
use zc_run::{CpuTicks, SoakEdge, SoakWindow, SoakerPace, StatReading};

pub(super) fn elapsed_ns(window: &SoakWindow) -> f64 {
    window.closed.soak.at_ns.saturating_sub(window.opened.soak.at_ns) as f64
}

pub(super) fn units(window: &SoakWindow, cpu: usize) -> Option<f64> {
    let (opened, closed) = (window.opened.soak.units.get(cpu)?, window.closed.soak.units.get(cpu)?);
    Some(closed.saturating_sub(*opened) as f64)
}

pub(super) fn stat_elapsed_ns(opened: &StatReading, closed: &StatReading) -> f64 {
    closed.at_ns.saturating_sub(opened.at_ns) as f64
}

/// Busy ticks without those of the soakers, which run at nice 19. Ticks of other niced tasks, such
/// as a niced command, are missing too.
pub(super) fn busy_but_nice(ticks: &CpuTicks) -> u64 {
    ticks.user + ticks.system + ticks.irq + ticks.softirq
}

pub(super) fn busy(ticks: &CpuTicks) -> u64 {
    busy_but_nice(ticks) + ticks.nice
}

/// Share of a CPU that /proc/stat counted as one of these.
pub(super) fn stat_of(
    opened: &StatReading,
    closed: &StatReading,
    cpu: usize,
    counted: fn(&CpuTicks) -> u64,
) -> Option<f64> {
    let ticks = counted(closed.cpus.get(cpu)?).saturating_sub(counted(opened.cpus.get(cpu)?));
    let share = ticks as f64 * TICK_NS / stat_elapsed_ns(opened, closed);
    share.is_finite().then_some(share)
}

/// Numbers of busy and of stolen CPUs by /proc/stat.
pub(super) fn stat_cpus(
    opened: &StatReading,
    closed: &StatReading,
    busy: fn(&CpuTicks) -> u64,
) -> Option<(f64, f64)> {
    let sum = |of: fn(&CpuTicks) -> u64| -> Option<f64> {
        (0..opened.cpus.len()).map(|cpu| stat_of(opened, closed, cpu, of)).sum()
    };
    Some((sum(busy)?, sum(|ticks| ticks.steal)?))
}

/// CPU time of a soaker by its own clock. `None` where that is not known by CPU.
pub(super) fn soaker_ns(window: &SoakWindow, cpu: usize) -> Option<f64> {
    let (opened, closed) =
        (window.opened.soak.cpu_ns.get(cpu)?, window.closed.soak.cpu_ns.get(cpu)?);
    Some(closed.saturating_sub(*opened) as f64)
}

/// CPU time of all soakers.
pub(super) fn soakers_ns(window: &SoakWindow) -> f64 {
    let so_far = |edge: &SoakEdge| match edge.soaker_cpu_ns {
        Some(all_ns) => all_ns,
        None => edge.soak.cpu_ns.iter().sum(),
    };
    so_far(&window.closed).saturating_sub(so_far(&window.opened)) as f64
}

/// Units of a soaker that nothing interrupted.
pub(super) fn undisturbed(window: &SoakWindow, cpu: usize) -> Option<SoakerPace> {
    let (opened, closed) = (&window.opened.undisturbed, &window.closed.undisturbed);
    Some(closed.get(cpu)?.since(*opened.get(cpu)?))
}

/// Units of a soaker in whose time the timer ticked.
pub(super) fn ticked(window: &SoakWindow, cpu: usize) -> Option<SoakerPace> {
    let (opened, closed) = (&window.opened.ticked, &window.closed.ticked);
    Some(closed.get(cpu)?.since(*opened.get(cpu)?))
}

/// CPU time of the ksoftirqd threads; 0 where it is not known.
pub(super) fn ksoftirqd_ns(window: &SoakWindow) -> f64 {
    let so_far = |edge: &SoakEdge| edge.soak.ksoftirqd_ns.iter().sum::<u64>();
    so_far(&window.closed).saturating_sub(so_far(&window.opened)) as f64
}

/// Share of the CPUs that other tasks used while the idle rates were measured.
pub(super) fn busy_share<'a>(idle: impl IntoIterator<Item = &'a SoakWindow>) -> f64 {
    let (mut had_ns, mut used_ns) = (0.0, 0.0);
    for window in idle {
        had_ns += elapsed_ns(window) * window.opened.soak.units.len() as f64;
        // By the soakers' CPU clock, which is exact. A tick of /proc/stat is a tenth of such a
        // window.
        used_ns += soakers_ns(window);
    }
    1.0 - used_ns / had_ns
}
