//! CPU time of other tasks while a command or a service runs: processes by name, of which the
//! largest are listed, and threads of the kernel.

use std::collections::BTreeMap;

use zc_run::{ProcessKind, ProcessTime};

/// The largest number of processes with a name.
const MOST_NAMES: usize = 8;

/// CPU time in any unit.
#[derive(Debug, Default)]
pub(super) struct Others<'p> {
    by_name: BTreeMap<&'p str, f64>,
    /// Time of the kernel's threads.
    pub(super) kernel_threads: f64,
}

impl<'p> Others<'p> {
    /// Adds the time of a process.
    pub(super) fn add(&mut self, process: &'p ProcessTime, time: f64) {
        match process.kind {
            ProcessKind::KernelThread => self.kernel_threads += time,
            ProcessKind::Other => *self.by_name.entry(&process.name).or_default() += time,
        }
    }

    /// Time of all processes other than threads of the kernel.
    pub(super) fn processes(&self) -> f64 {
        self.by_name.values().sum()
    }

    /// Processes that took at least so much, by name, the largest first, and the sum of the rest.
    pub(super) fn largest(&self, least: f64) -> (Vec<(&'p str, f64)>, f64) {
        let each = self.by_name.iter().map(|(name, time)| (*name, *time));
        let mut named: Vec<(&str, f64)> = each.filter(|(_, time)| *time >= least).collect();
        named.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        named.truncate(MOST_NAMES);
        let rest = self.processes() - named.iter().map(|(_, time)| time).sum::<f64>();
        (named, rest)
    }
}
