//! CPU time of all processes, by their CPU clocks: what a machine does besides the command that is
//! measured, by name.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use zc_kernel::clock;

use crate::root::numbered;
use zc_run::ProcessKind;

/// `PF_KTHREAD` of include/linux/sched.h, in the field `flags` of /proc/PID/stat.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The processes of one moment. Those of other users are missing where /proc is mounted with
/// `hidepid`.
#[derive(Debug, Clone)]
pub struct Processes {
    /// When they were read, by CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// By process id and start time: a number is used again.
    each: HashMap<(i32, u64), Process>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    kind: ProcessKind,
    name: String,
    cpu_ns: u64,
}

/// CPU time by kind and name of process.
pub type ByName = BTreeMap<(ProcessKind, String), u64>;

impl Processes {
    /// Reads them, without those in `except`. Takes some 10 us for each.
    pub fn read(except: &[i32]) -> Self {
        let each = numbered(Path::new("/"), "proc")
            .into_iter()
            .filter(|pid| !except.contains(pid))
            .filter_map(|pid| {
                let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
                let (name, kernel_thread, started) = fields(&String::from_utf8_lossy(&stat))?;
                let kind =
                    if kernel_thread { ProcessKind::KernelThread } else { ProcessKind::Other };
                let cpu_ns = clock::cpu_ns_of_process(pid).ok()?;
                Some(((pid, started), Process { kind, name, cpu_ns }))
            })
            .collect();
        Self { at_ns: clock::monotonic_ns(), each }
    }

    /// What each used since `before`, by kind and name: those that began meanwhile from their
    /// beginning, without those that have ended.
    pub fn since(&self, before: &Self) -> ByName {
        let mut used = ByName::new();
        for (id, process) in &self.each {
            let until = before.each.get(id).map_or(0, |process| process.cpu_ns);
            let cpu_ns = process.cpu_ns.saturating_sub(until);
            if cpu_ns > 0 {
                *used.entry((process.kind, process.name.clone())).or_default() += cpu_ns;
            }
        }
        used
    }
}

/// Name, whether it is a thread of the kernel, and start time of a /proc/PID/stat: its fields 2, 9
/// and 22. The name may contain spaces and parentheses; it ends at the last one.
fn fields(stat: &str) -> Option<(String, bool, u64)> {
    let (head, rest) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let mut rest = rest.split_ascii_whitespace();
    let flags: u64 = rest.nth(6)?.parse().ok()?;
    let started = rest.nth(12)?.parse().ok()?;
    Some((name, flags & KERNEL_THREAD != 0, started))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_is_read_to_the_last_one() {
        let stat = "7 (a) (b c)) S 1 7 7 0 -1 4194560 10 0 0 0 1 2 0 0 20 0 1 0 1234 8 9";
        assert_eq!(fields(stat), Some(("a) (b c)".to_owned(), false, 1234)));
        let thread = "9 (ksoftirqd/0) S 2 0 0 0 -1 69238848 0 0 0 0 0 5 0 0 20 0 1 0 3 0 0";
        assert_eq!(fields(thread), Some(("ksoftirqd/0".to_owned(), true, 3)));
        for wrong in ["", "7", "7 (a", "7 (a) S 1 2 3", ") ("] {
            assert_eq!(fields(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_a_process_uses_is_found_under_its_name() {
        let own = std::process::id() as i32;
        let name = std::fs::read_to_string("/proc/self/comm").unwrap().trim_end().to_owned();
        let burn = |except: &[i32]| {
            let before = Processes::read(except);
            let begun = clock::own_cpu_ns();
            while clock::own_cpu_ns() < begun + 5_000_000 {}
            let used = Processes::read(except);
            assert!(used.each.keys().any(|(pid, _)| *pid == own) == except.is_empty());
            used.since(&before).get(&(ProcessKind::Other, name.clone())).copied()
        };
        assert!(burn(&[]).unwrap() >= 5_000_000);
        // Other tests may have processes of this name.
        let _ = burn(&[own]);
    }

    #[test]
    fn one_that_began_counts_from_its_beginning_and_one_that_has_ended_not_at_all() {
        let of = |each: &[(i32, u64, &str, u64)]| Processes {
            at_ns: 0,
            each: each
                .iter()
                .map(|&(pid, started, name, cpu_ns)| {
                    let name = name.to_owned();
                    ((pid, started), Process { kind: ProcessKind::Other, name, cpu_ns })
                })
                .collect(),
        };
        let before = of(&[(1, 10, "nginx", 100), (2, 10, "nginx", 50), (3, 10, "gone", 7)]);
        // Number 3 belongs to another process now.
        let after = of(&[(1, 10, "nginx", 130), (2, 10, "nginx", 55), (3, 20, "new", 9)]);
        let used = after.since(&before);
        let expected = [("new", 9), ("nginx", 35)];
        assert_eq!(used.len(), 2);
        for ((kind, name), ns) in used {
            assert!(kind == ProcessKind::Other && expected.contains(&(&*name, ns)), "{name} {ns}");
        }
    }
}
