//! CPU time of the ksoftirqd threads: softirqs that were put off, which are nobody's time but
//! theirs.

use std::path::Path;

use crate::root::{numbered, read};
use zc_kernel::clock;

/// The ksoftirqd threads of a set of CPUs.
#[derive(Debug)]
pub struct Ksoftirqd {
    /// In the order of the CPUs.
    pids: Vec<i32>,
}

impl Ksoftirqd {
    /// Finds them. None where one is missing: kernel threads are only visible in the first process
    /// id namespace.
    pub fn find(cpus: &[usize]) -> Self {
        let mut found: Vec<Option<i32>> = cpus.iter().map(|_| None).collect();
        let root = Path::new("/");
        for process in numbered(root, "proc") {
            let Some(comm) = read(root, &format!("proc/{process}/comm")) else { continue };
            let cpu = comm.strip_prefix("ksoftirqd/").and_then(|cpu| cpu.parse::<usize>().ok());
            if let Some(place) = cpu.and_then(|cpu| cpus.iter().position(|&each| each == cpu)) {
                found[place] = Some(process);
            }
        }
        Self { pids: found.into_iter().collect::<Option<_>>().unwrap_or_default() }
    }

    /// CPU time of each so far, by its process clock, which lacks what it has run since the last
    /// tick if it runs at this moment (thread_group_cputime in kernel/sched/cputime.c). Empty where
    /// they cannot be seen.
    pub fn cpu_ns(&self) -> Vec<u64> {
        let each = self.pids.iter().map(|&pid| clock::cpu_ns_of_process(pid).ok());
        each.collect::<Option<_>>().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_has_one_whose_clock_grows() {
        let cpus = zc_kernel::sched::allowed_cpus().unwrap();
        let ksoftirqd = Ksoftirqd::find(&cpus);
        let first = ksoftirqd.cpu_ns();
        if first.is_empty() {
            return eprintln!("skipped: the ksoftirqd threads cannot be seen here");
        }
        assert_eq!(first.len(), cpus.len());
        assert!(ksoftirqd.cpu_ns().iter().zip(&first).all(|(after, before)| after >= before));
        assert_eq!(Ksoftirqd::find(&[0, 99_999]).cpu_ns(), Vec::<u64>::new());
    }
}
