//! What the kernel itself counts: /proc/stat, /proc/softirqs, /proc/interrupts, the CPU time of this process and of
//! ksoftirqd.

use crate::record::{Reading, Result};

/// Open files of /proc that are read again and again (`pread` at 0), for a set of CPUs.
#[derive(Debug)]
pub struct KernelMeters {}

impl KernelMeters {
    /// Opens what there is.
    ///
    /// # Errors
    /// /proc/stat cannot be read. What else is missing is null in every reading.
    pub fn open(_cpus: &[usize]) -> Result<Self> {
        Ok(Self {})
    }

    /// Fills `process_cpu_ns`, `stat`, `softirqs`, `interrupts` and `ksoftirqd_ns` of a reading.
    ///
    /// # Errors
    /// A file that could be read before cannot be read now.
    pub fn read(&mut self, _into: &mut Reading) -> Result<()> {
        Ok(())
    }
}
