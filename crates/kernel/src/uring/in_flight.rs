//! Memory that a ring's requests point to, kept until the kernel is done with it.

use std::mem::ManuallyDrop;
use std::time::Duration;

use super::ring::Ring;

/// A ring and the memory that its requests use. Dropping it cancels the requests in flight and
/// waits for them. Memory that the kernel still uses after the limit is leaked, which is always
/// sound.
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

    /// The ring and the memory, both mutable.
    pub(super) fn parts(&mut self) -> (&mut Ring, &mut M) {
        (&mut self.ring, &mut self.memory)
    }
}

impl<M> Drop for InFlight<M> {
    fn drop(&mut self) {
        if self.ring.quiesce(self.limit) {
            // SAFETY: this is the only place that drops it, and it is not used again. The ring has
            // nothing outstanding, so the kernel has no request left that could point to it.
            unsafe { ManuallyDrop::drop(&mut self.memory) };
        }
    }
}
