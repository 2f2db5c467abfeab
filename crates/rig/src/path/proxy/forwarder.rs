//! The interface of every path of a proxy.

use zc_run::{RecvCounts, Result};

/// A path that is open between two sockets. Made and used on one thread.
pub trait Forwarder {
    /// Moves what has arrived, blocking until there is something. Returns the number of bytes; 0 at
    /// the end of the stream. A path that leaves the moving to the kernel returns at the end only.
    ///
    /// # Errors
    /// One of the connections was reset or closed early, or the kernel refused.
    fn forward(&mut self) -> Result<usize>;

    /// Bytes and calls so far.
    fn counts(&self) -> RecvCounts;
}
