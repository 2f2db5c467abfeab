//! Memory that a ring's requests point to, kept until the kernel is done with it.

use std::mem::ManuallyDrop;
use std::time::Duration;

use super::ring::Ring;

/// A ring and the memory that it lends to the kernel. Dropped, it calls off what is under way and waits for it; what
/// the kernel has not given back within the limit is leaked, which is always sound.
#[derive(Debug)]
pub(super) struct InFlight<M> {
    pub(super) ring: Ring,
    memory: ManuallyDrop<M>,
    limit: Duration,
}

impl<M> InFlight<M> {
    /// `limit` bounds how long a drop may wait.
    pub(super) fn new(ring: Ring, memory: M, limit: Duration) -> Self {
        Self { ring, memory: ManuallyDrop::new(memory), limit }
    }

    pub(super) fn memory(&self) -> &M {
        &self.memory
    }

    /// Both at once.
    pub(super) fn parts(&mut self) -> (&mut Ring, &mut M) {
        (&mut self.ring, &mut self.memory)
    }
}

impl<M> Drop for InFlight<M> {
    fn drop(&mut self) {
        if self.ring.quiesce(self.limit) {
            // SAFETY: this is the only place that drops it, it is not used again, and the ring is owed nothing, so that
            // the kernel has no request left that could point to it.
            unsafe { ManuallyDrop::drop(&mut self.memory) };
        }
    }
}
