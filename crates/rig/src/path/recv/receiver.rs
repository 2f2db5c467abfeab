//! The interface of every receive path.

use zc_run::{RecvCounts, Result};

/// Called with the bytes that were received, in order, in slices.
pub type Inspect<'a> = &'a mut dyn FnMut(&[u8]);

/// A receive path that is open. Made and used on one thread.
pub trait Receiver {
    /// Takes bytes out of the socket, blocking until there are some. Returns how many; 0 at the end
    /// of the stream. `inspect` is passed in proofs and tests only; a path that never has the bytes
    /// in its memory ([`shows_bytes`](crate::path::shows_bytes)) does not call it.
    ///
    /// # Errors
    /// The connection was reset, or the kernel refused.
    fn receive(&mut self, inspect: Option<Inspect<'_>>) -> Result<usize>;

    /// Bytes and calls so far.
    fn counts(&self) -> RecvCounts;
}
