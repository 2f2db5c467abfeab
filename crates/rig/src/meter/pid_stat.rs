//! The processes of this machine by /proc/PID/stat, and which of them descend from which.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::root::numbered;

/// Length of a tick in /proc/PID/stat: USER_HZ is 100.
const TICK_NS: u64 = 10_000_000;

/// `PF_KTHREAD` of include/linux/sched.h, in the field `flags`.
const KERNEL_THREAD: i64 = 0x0020_0000;

/// Fields of a process's /proc/PID/stat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PidStat {
    pub(super) name: String,
    pub(super) parent: i32,
    pub(super) is_zombie: bool,
    pub(super) is_kernel_thread: bool,
    /// When it started: a process id is used again.
    pub(super) started: u64,
    /// CPU time of the children that it has waited for, and of theirs.
    pub(super) waited_ns: u64,
}

impl PidStat {
    /// Reads the fields of all processes, by process id. Takes some 10 us for each.
    pub(super) fn all() -> HashMap<i32, Self> {
        let each = numbered(Path::new("/"), "proc").into_iter().filter_map(|pid| {
            let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, Self::parse(&String::from_utf8_lossy(&stat))?))
        });
        each.collect()
    }

    /// proc_pid_stat(5): fields 3 (state), 4 (parent), 9 (flags), 16 and 17 (cutime, cstime), 22
    /// (start time). The name may contain spaces and parentheses; it ends at the last one.
    fn parse(stat: &str) -> Option<Self> {
        let (head, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<i64>().ok();
        let ticks = u64::try_from(number(16)?).ok()? + u64::try_from(number(17)?).ok()?;
        Some(Self {
            name: head.split_once('(')?.1.to_owned(),
            parent: number(4)?.try_into().ok()?,
            is_zombie: matches!(fields.first(), Some(&"Z" | &"X")),
            is_kernel_thread: number(9)? & KERNEL_THREAD != 0,
            started: number(22)?.try_into().ok()?,
            waited_ns: ticks.saturating_mul(TICK_NS),
        })
    }
}

/// The CPUs on which the threads of a process ran last; empty for one that has ended.
pub(super) fn last_cpus(pid: i32) -> Vec<usize> {
    let tasks = format!("proc/{pid}/task");
    let cpu = |task: i32| {
        let stat = std::fs::read(format!("/{tasks}/{task}/stat")).ok()?;
        last_cpu(&String::from_utf8_lossy(&stat))
    };
    numbered(Path::new("/"), &tasks).into_iter().filter_map(cpu).collect()
}

/// proc_pid_stat(5): field 39 (processor).
fn last_cpu(stat: &str) -> Option<usize> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(39 - 3)?.parse().ok()
}

/// A process, first, and those that descend from it.
pub(super) fn tree(pid: i32, all: &HashMap<i32, PidStat>) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for (pid, stat) in all {
        children.entry(stat.parent).or_default().push(*pid);
    }
    let (mut found, mut next) = (Vec::new(), vec![pid]);
    while let Some(pid) = next.pop() {
        // No process is its own ancestor; a number may be used again while they are read.
        if !found.contains(&pid) {
            found.push(pid);
            next.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found
}

/// The processes that descend from `ancestor`, without itself. Reads all of /proc: some 10 us for
/// each process of the machine.
pub fn descendants(ancestor: i32) -> Vec<i32> {
    tree(ancestor, &PidStat::all()).split_off(1)
}

/// These processes and all that descend from them, each once, without zc and what it has started.
/// Reads all of /proc, as [`descendants`].
pub fn with_descendants(pids: &[i32]) -> Vec<i32> {
    let all = PidStat::all();
    let of_zc: HashSet<i32> = tree(std::process::id() as i32, &all).into_iter().collect();
    let each: HashSet<i32> = pids.iter().flat_map(|pid| tree(*pid, &all)).collect();
    each.difference(&of_zc).copied().collect()
}

/// The workers of the kernel's work queues (`kworker/...`). Reads all of /proc, as [`descendants`].
pub fn kernel_workers() -> Vec<i32> {
    let is_worker = |stat: &PidStat| stat.is_kernel_thread && stat.name.starts_with("kworker/");
    let all = PidStat::all().into_iter();
    all.filter(|(_, stat)| is_worker(stat)).map(|(pid, _)| pid).collect()
}

/// The kernel's threads of this name. Reads all of /proc, as [`descendants`].
pub fn kernel_threads(name: &str) -> Vec<i32> {
    let all = PidStat::all().into_iter();
    all.filter(|(_, stat)| stat.is_kernel_thread && stat.name == name).map(|(pid, _)| pid).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_with_those_that_it_has_waited_for() {
        let stat = "7 (a) (b c)) S 5 7 7 0 -1 4194560 10 0 0 0 1 2 30 4 20 0 1 0 1234 8 9";
        let expected = PidStat {
            name: "a) (b c)".to_owned(),
            parent: 5,
            is_zombie: false,
            is_kernel_thread: false,
            started: 1234,
            waited_ns: 340_000_000,
        };
        assert_eq!(PidStat::parse(stat), Some(expected));
        let thread = "9 (ksoftirqd/0) S 2 0 0 0 -1 69238848 0 0 0 0 0 5 0 0 20 0 1 0 3 0 0";
        let thread = PidStat::parse(thread).unwrap();
        assert!(thread.name == "ksoftirqd/0" && thread.is_kernel_thread && thread.started == 3);
        for wrong in ["", "7", "7 (a", "7 (a) S 1 2 3", ") ("] {
            assert_eq!(PidStat::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn who_descends_from_a_process_is_found_at_any_depth() {
        let of = |pid, parent| {
            let stat = format!("{pid} (a) S {parent}{}", " 0".repeat(18));
            (pid, PidStat::parse(&stat).unwrap())
        };
        let all = HashMap::from([of(1, 0), of(2, 1), of(3, 2), of(4, 3), of(5, 1)]);
        assert_eq!(tree(2, &all), [2, 3, 4]);
        assert_eq!(tree(5, &all), [5]);
        // Number 2 is used again while they are read.
        let circle = HashMap::from([of(2, 4), of(3, 2), of(4, 3)]);
        assert_eq!(tree(3, &circle), [3, 4, 2]);
    }
}
