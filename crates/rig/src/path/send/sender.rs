//! The interface of every send path.

use std::os::fd::BorrowedFd;

use crate::workload::Piece;
use zc_run::{Result, SendCounts};

/// A send path that is open. Made and used on one thread, which is pinned and inside the sender's
/// network namespace.
pub trait Sender {
    /// Puts exactly the bytes of `piece` on the socket, in order, blocking while the socket is
    /// full. When it returns, the socket has taken them all; of a zero-copy send the kernel may
    /// still be reading the pages.
    ///
    /// # Errors
    /// The peer is gone, a file has become shorter than it was (`ErrorKind::Input`), or the kernel
    /// refused.
    fn send(&mut self, piece: Piece) -> Result<()>;

    /// Waits until the kernel has released every buffer, and counts the last completions. Called
    /// after the last piece, before the socket is closed for writing; bounded in time: a peer that
    /// stopped reading is an error.
    ///
    /// # Errors
    /// Same as [`send`](Self::send).
    fn drain(&mut self) -> Result<()>;

    /// Goes on with another connection, with the buffers, pipes and mappings that there are, as a
    /// server does for its next client. Call it after [`drain`](Self::drain). False: this path
    /// cannot, and has to be opened on that connection.
    ///
    /// # Errors
    /// No more descriptors.
    fn go_on_with(&mut self, _socket: BorrowedFd<'_>) -> Result<bool> {
        Ok(false)
    }

    /// Bytes, calls and completions so far.
    fn counts(&self) -> SendCounts;
}
