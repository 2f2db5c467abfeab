//! The CPUs of sender and receiver: which ones they are pinned to when the user does not choose,
//! and what placement makes of that.
//!
//! Two CPUs of different cores (SMT siblings share what is measured), of one package if possible,
//! and not CPU 0 if there is a choice: most kernels leave interrupts and housekeeping there. CPUs
//! that something else keeps busy are left to it where two others are left.

use std::path::Path;
use std::time::Duration;

use crate::meter::KernelMeters;
use zc_run::{CpuTicks, FixedParams, Placement, Result};

/// Package and core of a CPU, from /sys/devices/system/cpu/cpuN/topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CpuPlace {
    cpu: usize,
    core: Option<(i64, i64)>,
}

/// Sender's and receiver's CPU out of `allowed` (ascending, not empty). They are the same when
/// there is only one.
pub fn choose_cpus(allowed: &[usize]) -> (usize, usize) {
    choose(&places(allowed, Path::new("/sys/devices/system/cpu")))
}

/// A CPU of which something else uses a larger share is busy.
const BUSY: f64 = 0.5;

/// Time for which CPUs are watched: thirty ticks of /proc/stat.
const WATCHED: Duration = Duration::from_millis(300);

/// Returns the CPUs of `allowed` that nothing else keeps busy; all of them if those are fewer than
/// two. Takes a third of a second where there is a choice.
///
/// # Errors
/// /proc/stat cannot be read.
pub fn calm_cpus(allowed: Vec<usize>) -> Result<Vec<usize>> {
    if allowed.len() <= 2 {
        return Ok(allowed);
    }
    let mut meters = KernelMeters::open(&allowed)?;
    let before = meters.read_stat()?;
    std::thread::sleep(WATCHED);
    let after = meters.read_stat()?;
    let used: Vec<f64> = std::iter::zip(&before.cpus, &after.cpus).map(used_share).collect();
    Ok(calm(allowed, &used))
}

/// The share of a CPU's ticks in which something ran on it.
fn used_share((before, after): (&CpuTicks, &CpuTicks)) -> f64 {
    let since = |of: fn(&CpuTicks) -> u64| of(after).saturating_sub(of(before)) as f64;
    let used = since(|cpu| cpu.user + cpu.nice + cpu.system + cpu.irq + cpu.softirq);
    let all = used + since(|cpu| cpu.idle + cpu.iowait + cpu.steal);
    if all > 0.0 { used / all } else { 0.0 }
}

fn calm(allowed: Vec<usize>, used: &[f64]) -> Vec<usize> {
    let calm: Vec<usize> = std::iter::zip(&allowed, used)
        .filter(|(_, used)| **used <= BUSY)
        .map(|(cpu, _)| *cpu)
        .collect();
    if calm.len() < 2 { allowed } else { calm }
}

/// The CPUs that a side's threads may run on, where the CPU of that side is `side_cpu`.
pub(super) fn thread_cpus(fixed: &FixedParams, side_cpu: usize) -> Vec<usize> {
    match fixed.placement {
        Placement::Separate | Placement::Same => vec![side_cpu],
        Placement::Free => fixed.soaked_cpus.clone(),
    }
}

fn places(allowed: &[usize], root: &Path) -> Vec<CpuPlace> {
    let number = |cpu: usize, name: &str| {
        std::fs::read_to_string(root.join(format!("cpu{cpu}/topology/{name}")))
            .ok()?
            .trim()
            .parse::<i64>()
            .ok()
    };
    allowed
        .iter()
        .map(|&cpu| CpuPlace {
            cpu,
            core: number(cpu, "physical_package_id").zip(number(cpu, "core_id")),
        })
        .collect()
}

fn choose(places: &[CpuPlace]) -> (usize, usize) {
    // With four CPUs or more one can be spared: CPU 0.
    let usable = if places.len() >= 4 && places[0].cpu == 0 { &places[1..] } else { places };
    let first = usable[0];
    let apart = |place: &&CpuPlace| {
        place.cpu != first.cpu && (place.core.is_none() || place.core != first.core)
    };
    let same_package =
        |place: &&CpuPlace| place.core.zip(first.core).is_none_or(|(one, other)| one.0 == other.0);
    let second = usable
        .iter()
        .filter(apart)
        .find(same_package)
        .or_else(|| usable.iter().find(apart))
        .or_else(|| usable.iter().find(|place| place.cpu != first.cpu))
        .unwrap_or(&first);
    (first.cpu, second.cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places_of(cores: &[(usize, i64, i64)]) -> Vec<CpuPlace> {
        cores
            .iter()
            .map(|&(cpu, package, core)| CpuPlace { cpu, core: Some((package, core)) })
            .collect()
    }

    #[test]
    fn one_cpu_serves_both_sides() {
        assert_eq!(choose(&places_of(&[(3, 0, 0)])), (3, 3));
    }

    #[test]
    fn two_cpus_are_one_each() {
        assert_eq!(choose(&places_of(&[(0, 0, 0), (1, 0, 1)])), (0, 1));
    }

    #[test]
    fn siblings_of_one_core_are_not_a_pair_where_another_core_exists() {
        assert_eq!(choose(&places_of(&[(0, 0, 0), (1, 0, 0), (2, 0, 1), (3, 0, 1)])), (1, 2));
        assert_eq!(choose(&places_of(&[(0, 0, 0), (1, 0, 0)])), (0, 1));
    }

    #[test]
    fn a_busy_cpu_is_left_alone_where_two_others_are_left() {
        assert_eq!(calm(vec![0, 1, 2], &[0.0, 0.97, 0.1]), [0, 2]);
        assert_eq!(calm(vec![0, 1, 2], &[0.9, 0.97, 0.1]), [0, 1, 2]);
        assert_eq!(calm(vec![3], &[1.0]), [3]);
        let ticks = |user, idle| CpuTicks { user, idle, ..CpuTicks::default() };
        assert_eq!(used_share((&ticks(10, 10), &ticks(25, 15))), 0.75);
        assert_eq!(used_share((&ticks(10, 10), &ticks(10, 10))), 0.0);
    }

    #[test]
    fn one_package_is_preferred() {
        assert_eq!(choose(&places_of(&[(0, 0, 0), (1, 1, 0), (2, 0, 1), (3, 1, 1)])), (1, 3));
    }
}
