//! State shared by the thread of a load and its handle.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;

use super::counts::Counting;
use zc_run::{Error, Result};

/// Counts, the flag that ends the thread, and what ends its sleep.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) counting: Counting,
    stop: AtomicBool,
    /// An eventfd(2).
    pub(super) wakeup: OwnedFd,
}

impl Shared {
    pub(super) fn new() -> Result<Self> {
        let wakeup = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| Error::os("make an eventfd", error))?;
        Ok(Self { counting: Counting::default(), stop: AtomicBool::new(false), wakeup })
    }

    /// Ends the thread's sleep.
    pub(super) fn wake(&self) {
        // Fails only once the counter is near 2^64.
        let _ = rustix::io::write(&self.wakeup, &1_u64.to_ne_bytes());
    }

    /// Ends the thread.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wake();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
