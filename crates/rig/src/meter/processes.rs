//! CPU time of all processes, by their CPU clocks: what a machine does besides the command that is
//! measured, by name.

use std::collections::{BTreeMap, HashMap};

use super::pid_stat::{PidStat, last_cpus};
use zc_kernel::clock;
use zc_run::ProcessKind;

/// The processes of one moment. Those of other users are missing where /proc is mounted with
/// `hidepid`.
#[derive(Debug, Clone)]
pub struct Processes {
    /// When they were read, by CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Processes by id and start time: ids are reused.
    each: HashMap<(i32, u64), Process>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    kind: ProcessKind,
    name: String,
    parent: i32,
    cpu_ns: u64,
    /// CPU time of the children that it has waited for, and of theirs.
    waited_ns: u64,
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
                let PidStat { name, parent, waited_ns, started, .. } = stat;
                Some(((pid, started), Process { kind, name, parent, cpu_ns, waited_ns }))
            })
            .collect();
        Self { at_ns: clock::monotonic_ns(), each }
    }

    /// CPU time of each process since `before`, by kind and name: of those that began meanwhile
    /// from their beginning, and without those that have ended.
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

    /// CPU time of the processes that have ended since `before`, beyond what `before` has of it, by
    /// the name of the process that waited for them: a compiler runs so shortly that it is seldom
    /// seen alive. In ticks of 10 ms.
    pub fn ended_since(&self, before: &Self) -> ByName {
        let mut known_ns: HashMap<i32, u64> = HashMap::new();
        let ended = before.each.iter().filter(|(id, _)| !self.each.contains_key(id));
        for (_, process) in ended {
            // Whoever ended before its parent did was waited for by that one.
            let survivor = before.living_ancestor(process, self);
            *known_ns.entry(survivor).or_default() += process.cpu_ns + process.waited_ns;
        }
        let mut used = ByName::new();
        // Orphans become children of process 1, whoever knew them.
        for (id, process) in self.each.iter().filter(|((pid, _), _)| *pid != 1) {
            let until = before.each.get(id).map_or(0, |process| process.waited_ns);
            let known_ns = known_ns.get(&id.0).copied().unwrap_or(0);
            let waited_ns = process.waited_ns.saturating_sub(until).saturating_sub(known_ns);
            if waited_ns > 0 {
                *used.entry((process.kind, process.name.clone())).or_default() += waited_ns;
            }
        }
        used
    }

    /// The nearest ancestor of a process of this moment that lives in a later one.
    fn living_ancestor(&self, process: &Process, later: &Self) -> i32 {
        let mut parent = process.parent;
        // No chain of processes is longer.
        for _ in 0..self.each.len() {
            let of_pid = |each: &Self| each.each.keys().find(|(pid, _)| *pid == parent).copied();
            match of_pid(self) {
                Some(id) if !later.each.contains_key(&id) => parent = self.each[&id].parent,
                _ => break,
            }
        }
        parent
    }

    /// The process that used most CPU time since `before` among those that ran last on a CPU: its
    /// name and number.
    pub fn busiest_on(&self, cpu: usize, before: &Self) -> Option<(String, i32)> {
        let used = |id: &(i32, u64), process: &Process| {
            let until = before.each.get(id).map_or(0, |process| process.cpu_ns);
            process.cpu_ns.saturating_sub(until)
        };
        let each = self.each.iter().filter(|(_, process)| process.kind == ProcessKind::Other);
        let mut each: Vec<_> =
            each.map(|(id, process)| (used(id, process), id.0, process)).collect();
        each.sort_by_key(|(used, ..)| std::cmp::Reverse(*used));
        each.iter()
            .take_while(|(used, ..)| *used > 0)
            .find(|(_, pid, _)| last_cpus(*pid).contains(&cpu))
            .map(|(_, pid, process)| (process.name.clone(), *pid))
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
                    let (kind, parent, waited_ns) = (ProcessKind::Other, 1, 0);
                    ((pid, started), Process { kind, name, parent, cpu_ns, waited_ns })
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

    #[test]
    fn processes_that_have_ended_count_for_who_waited_for_them_once() {
        let of = |each: &[(i32, i32, &str, u64, u64)]| Processes {
            at_ns: 0,
            each: each
                .iter()
                .map(|&(pid, parent, name, cpu_ns, waited_ns)| {
                    let (kind, name) = (ProcessKind::Other, name.to_owned());
                    ((pid, 10), Process { kind, name, parent, cpu_ns, waited_ns })
                })
                .collect(),
        };
        let before = of(&[
            (1, 0, "init", 5, 0),
            (2, 1, "make", 5, 100),
            (3, 2, "sh", 1, 20),
            (4, 3, "cc", 40, 0),
        ]);
        // The compiler used 10 more, two further ones 30 each that nobody saw.
        let after = of(&[(1, 0, "init", 5, 7), (2, 1, "make", 6, 100 + 20 + 1 + 50 + 60)]);
        let ended: Vec<_> = after.ended_since(&before).into_iter().collect();
        assert_eq!(ended, [((ProcessKind::Other, "make".to_owned()), 70)]);
    }

    #[test]
    fn who_has_a_cpu_is_found_by_where_it_ran_last() {
        let own = std::process::id() as i32;
        let before = Processes::read(&[]);
        let begun = clock::own_cpu_ns();
        while clock::own_cpu_ns() < begun + 20_000_000 {}
        let now = Processes::read(&[]);
        let only = |pid: i32| Processes {
            at_ns: 0,
            each: now.each.clone().into_iter().filter(|((each, _), _)| *each == pid).collect(),
        };
        let cpu = last_cpus(own)[0];
        assert_eq!(only(own).busiest_on(cpu, &before).map(|(_, pid)| pid), Some(own));
        assert_eq!(only(own).busiest_on(70_000, &before), None);
    }
}
