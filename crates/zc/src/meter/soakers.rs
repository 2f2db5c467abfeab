//! The soakers: a thread per CPU at the lowest scheduling class that counts units of fixed work.

use crate::record::{Result, SoakReading, SoakerKind};

/// Soakers at work, or paused. They stop when this is dropped.
#[derive(Debug)]
pub struct Soakers {}

impl Soakers {
    /// Starts one soaker on each of `cpus`.
    ///
    /// # Errors
    /// A CPU does not exist or may not be used, or SCHED_IDLE was refused.
    pub fn start(_cpus: &[usize], _kind: SoakerKind) -> Result<Self> {
        Ok(Self {})
    }

    /// Reads the counters: a few loads, no system call but the clock.
    pub fn read(&self) -> SoakReading {
        SoakReading::default()
    }

    /// Stops the work and returns when every soaker sleeps.
    pub fn pause(&self) {}

    /// Starts the work again and returns when every soaker has finished a unit.
    pub fn resume(&self) {}
}
