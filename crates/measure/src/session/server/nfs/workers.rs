//! The kernel's client works in workers of the kernel that are bound to no CPU.

use zc_run::{Severity, Warning};

/// The CPUs of those workers.
const WORKERS: &str = "/sys/devices/virtual/workqueue/cpumask";

/// The warning that a part of the client's cost may be on the server's CPU; `None`: workers are on
/// the client's alone.
pub(super) fn warning(client_cpu: usize) -> Option<Warning> {
    let mask = std::fs::read_to_string(WORKERS).unwrap_or_default();
    (!is_only(&mask, client_cpu)).then(anywhere)
}

fn anywhere() -> Warning {
    let text = "the kernel's client works in threads of the kernel that may be on the server's \
                CPU too: the costs of both ends together are right, and what is the client's \
                alone is not certain";
    Warning::new("nfs-workers", Severity::Doubt, text).remedy(format!(
        "as root, write the mask of the client's CPU into {WORKERS} (it is the machine's, for \
         every workqueue), and what was there afterwards"
    ))
}

/// Whether a mask of CPUs, in hexadecimal, has this one and no other.
fn is_only(mask: &str, cpu: usize) -> bool {
    let digits = mask.trim().chars().rev().filter(|digit| *digit != ',');
    let words: Vec<u32> = digits.filter_map(|digit| digit.to_digit(16)).collect();
    let set: u32 = words.iter().map(|word| word.count_ones()).sum();
    set == 1 && words.get(cpu / 4).is_some_and(|word| word >> (cpu % 4) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_of_one_cpu_is_told_from_others() {
        assert!(is_only("2\n", 1) && is_only("00000001,00000000\n", 32) && is_only("0010", 4));
        for (mask, cpu) in [("3\n", 1), ("2", 0), ("", 0), ("1", 4), ("00000001,00000001", 32)] {
            assert!(!is_only(mask, cpu), "{mask} {cpu}");
        }
    }
}
