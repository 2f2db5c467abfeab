//! CPU time of all processes, by their CPU clocks: what a machine does besides the command that is
//! measured, by name.

use std::collections::{BTreeMap, HashMap};

use zc_kernel::clock;

use super::pid_stat::PidStat;
use zc_run::ProcessKind;

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
        let each = PidStat::all()
            .into_iter()
            .filter(|(pid, _)| !except.contains(pid))
            .filter_map(|(pid, stat)| {
                let kind = match stat.is_kernel_thread {
                    true => ProcessKind::KernelThread,
                    false => ProcessKind::Other,
                };
                let cpu_ns = clock::cpu_ns_of_process(pid).ok()?;
                Some(((pid, stat.started), Process { kind, name: stat.name, cpu_ns }))
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

#[cfg(test)]
mod tests {
    use super::*;

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
