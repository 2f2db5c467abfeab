//! The CPUs of sender and receiver: which ones they are pinned to when the user does not choose,
//! and what placement makes of that.
//!
//! Two CPUs of different cores (SMT siblings share what is measured), of one package if possible,
//! and not CPU 0 if there is a choice: most kernels leave interrupts and housekeeping there.

use std::path::Path;

use zc_run::{FixedParams, Placement};

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
    fn one_package_is_preferred() {
        assert_eq!(choose(&places_of(&[(0, 0, 0), (1, 1, 0), (2, 0, 1), (3, 1, 1)])), (1, 3));
    }
}
