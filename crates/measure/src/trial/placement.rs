//! Which CPUs sender and receiver are pinned to when the user does not say.
//!
//! Two CPUs of different cores (SMT siblings share what is measured), of one package if there are two such, and not
//! CPU 0 where there is a choice: it is where most kernels leave interrupts and housekeeping.

use std::path::Path;

/// Where a CPU sits: package and core, from /sys/devices/system/cpu/cpuN/topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seat {
    cpu: usize,
    core: Option<(i64, i64)>,
}

/// Sender's and receiver's CPU out of `allowed` (ascending, not empty). They are the same when there is only one.
pub fn choose_cpus(allowed: &[usize]) -> (usize, usize) {
    choose(&seats(allowed, Path::new("/sys/devices/system/cpu")))
}

fn seats(allowed: &[usize], root: &Path) -> Vec<Seat> {
    let number = |cpu: usize, name: &str| {
        std::fs::read_to_string(root.join(format!("cpu{cpu}/topology/{name}")))
            .ok()?
            .trim()
            .parse::<i64>()
            .ok()
    };
    allowed
        .iter()
        .map(|&cpu| Seat {
            cpu,
            core: number(cpu, "physical_package_id").zip(number(cpu, "core_id")),
        })
        .collect()
}

fn choose(seats: &[Seat]) -> (usize, usize) {
    // With four CPUs or more there is one to spare, and CPU 0 is the one.
    let usable = if seats.len() >= 4 && seats[0].cpu == 0 { &seats[1..] } else { seats };
    let first = usable[0];
    let apart =
        |seat: &&Seat| seat.cpu != first.cpu && (seat.core.is_none() || seat.core != first.core);
    let same_package =
        |seat: &&Seat| seat.core.zip(first.core).is_none_or(|(one, other)| one.0 == other.0);
    let second = usable
        .iter()
        .filter(apart)
        .find(same_package)
        .or_else(|| usable.iter().find(apart))
        .or_else(|| usable.iter().find(|seat| seat.cpu != first.cpu))
        .unwrap_or(&first);
    (first.cpu, second.cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seats_of(cores: &[(usize, i64, i64)]) -> Vec<Seat> {
        cores
            .iter()
            .map(|&(cpu, package, core)| Seat { cpu, core: Some((package, core)) })
            .collect()
    }

    #[test]
    fn one_cpu_serves_both_sides() {
        assert_eq!(choose(&seats_of(&[(3, 0, 0)])), (3, 3));
    }

    #[test]
    fn two_cpus_are_one_each() {
        assert_eq!(choose(&seats_of(&[(0, 0, 0), (1, 0, 1)])), (0, 1));
    }

    #[test]
    fn siblings_of_one_core_are_not_a_pair_where_another_core_exists() {
        assert_eq!(choose(&seats_of(&[(0, 0, 0), (1, 0, 0), (2, 0, 1), (3, 0, 1)])), (1, 2));
        assert_eq!(choose(&seats_of(&[(0, 0, 0), (1, 0, 0)])), (0, 1));
    }

    #[test]
    fn one_package_is_preferred() {
        assert_eq!(choose(&seats_of(&[(0, 0, 0), (1, 1, 0), (2, 0, 1), (3, 1, 1)])), (1, 3));
    }
}
