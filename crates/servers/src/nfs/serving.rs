//! An NFS server that runs, and what it counts.

use std::time::Duration;

use super::super::kept::{IoBytes, Kept};
use super::knfsd;
use zc_kernel::clock;
use zc_run::Result;

/// Time allowed to its keeper to end all of it, and to report that.
const TOLD: Duration = Duration::from_secs(3);

/// An NFS server of zc's. It ends when this is dropped.
#[derive(Debug)]
pub struct Serving {
    kept: Kept,
    /// The CPU of the threads of the kernel's server; `None`: it is a process.
    in_kernel_on: Option<usize>,
    threads: Vec<i32>,
}

impl Serving {
    pub(super) fn new(kept: Kept, in_kernel_on: Option<usize>) -> Self {
        Self { kept, in_kernel_on, threads: Vec::new() }
    }

    /// Fails if it has ended.
    ///
    /// # Errors
    /// It has: how, and its last words.
    pub fn check(&mut self) -> Result<()> {
        self.kept.check()
    }

    /// After a READ has failed: fails if it has ended, which its keeper may not have told yet.
    ///
    /// # Errors
    /// It has: how, and its last words.
    pub(crate) fn check_after_a_fault(&mut self) -> Result<()> {
        self.kept.check_within(TOLD)
    }

    /// Finds its processes and threads, which it may have started meanwhile.
    pub fn find_processes(&mut self) {
        self.kept.find_processes();
        self.threads = self.in_kernel_on.map(knfsd::threads_on).unwrap_or_default();
    }

    /// CPU time of its processes and threads so far: one system call for each.
    pub(crate) fn cpu_ns(&self) -> u64 {
        // Each thread of the kernel is a process of its own.
        let of_threads = self.threads.iter().filter_map(|pid| clock::cpu_ns_of_process(*pid).ok());
        self.kept.cpu_ns() + of_threads.sum::<u64>()
    }

    /// Bytes that it has read from its file and written to it so far, by the kernel's count;
    /// `None`: they are not counted.
    pub(crate) fn io_bytes(&self) -> Option<IoBytes> {
        match self.in_kernel_on {
            Some(_) => self.kept.pids().first().copied().and_then(knfsd::bytes),
            None => self.kept.io_bytes(),
        }
    }
}
