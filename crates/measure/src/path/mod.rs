//! Send and receive paths: one way each of getting bytes into a TCP socket, or out of it.
//!
//! A path moves bytes when it is told to, drains its completions and counts its calls. It knows nothing of windows,
//! pacing, meters or links. Each lives in a file of its own under `send/` or `recv/`.

mod huge_pages;
mod recv;
mod resident;
mod send;
mod uring;

#[cfg(test)]
mod testing;

use std::sync::Arc;

use crate::workload::{FileSet, Piece};
use zc_run::{Align, CopyPages, RecvCounts, RecvPath, Result, SendCounts, SendPath, Unavailable};

pub use resident::{Resident, ResidentCopy};

/// What a send path is built from.
#[derive(Debug, Clone)]
pub struct SendSetup {
    /// The files; kept open and unchanged for the life of the path.
    pub files: Arc<FileSet>,
    /// The file set in anonymous memory, one allocation of a kind of pages for all paths that send from memory; made when first wanted.
    pub resident: Arc<Resident>,
    /// Bytes per call for paths with a user-space buffer.
    pub buffer_bytes: usize,
    /// The most bytes per call for paths without one; null leaves it to the piece, and to the pipe where there is one.
    pub call_bytes: Option<usize>,
    /// Every call says that more will follow: MSG_MORE, SPLICE_F_MORE. A path that cannot say so cannot be opened.
    pub more: bool,
    /// Where on its page a user-space buffer begins.
    pub align: Align,
    /// What `resident` is made of.
    pub pages: CopyPages,
    /// The CPU that this sender is pinned to (for io_uring's worker threads, which do not inherit it).
    pub cpu: Option<usize>,
}

impl SendSetup {
    /// Paths that send `files` through buffers of `buffer_bytes`, and otherwise as they do when nothing is asked of them.
    pub fn new(files: Arc<FileSet>, buffer_bytes: usize) -> Self {
        Self {
            files,
            resident: Arc::default(),
            buffer_bytes,
            call_bytes: None,
            more: false,
            align: Align::Page,
            pages: CopyPages::Scattered,
            cpu: None,
        }
    }
}

/// One way of sending. Made and used on one thread, which is pinned and inside the sender's network namespace.
pub trait Sender {
    /// Puts exactly the bytes of `piece` on the socket, in order, blocking while the socket is full. When it returns,
    /// the socket has taken them all, although the kernel may still be reading them from pages this path lent it.
    ///
    /// # Errors
    /// The peer is gone, a file has become shorter than it was (`ErrorKind::Input`), or the kernel refused.
    fn send(&mut self, piece: Piece) -> Result<()>;

    /// Waits until the kernel has given back every buffer, and counts the last completions. Called after the last
    /// piece, before the socket is closed for writing; bounded in time: a peer that stopped reading is an error.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    fn drain(&mut self) -> Result<()>;

    /// What it did so far.
    fn counts(&self) -> SendCounts;
}

/// Is shown the bytes that were received, in order, in slices.
pub type Inspect<'a> = &'a mut dyn FnMut(&[u8]);

/// One way of receiving. Made and used on one thread.
pub trait Receiver {
    /// Takes bytes out of the socket, blocking until there are some. Returns how many; 0 at the end of the stream.
    /// `inspect`, given in proofs and tests only, is shown the bytes in order, in slices; a path that cannot show
    /// them (`recv-trunc`, `splice`) does not call it.
    ///
    /// # Errors
    /// The connection was reset, or the kernel refused.
    fn receive(&mut self, inspect: Option<Inspect<'_>>) -> Result<usize>;

    /// What it did so far.
    fn counts(&self) -> RecvCounts;
}

/// Opens `path` on a connected socket. Finds out by trying (feature probes, never version numbers) whether it can run here.
///
/// # Errors
/// Why it cannot: a row of the table, not an error of the run.
pub fn open_sender(
    path: SendPath,
    socket: &std::net::TcpStream,
    setup: &SendSetup,
) -> std::result::Result<Box<dyn Sender>, Unavailable> {
    send::open(path, socket, setup)
}

/// Opens `path` on a connected socket, with buffers of `buffer_bytes`.
///
/// # Errors
/// Why it cannot run here.
pub fn open_receiver(
    path: RecvPath,
    socket: &std::net::TcpStream,
    buffer_bytes: usize,
) -> std::result::Result<Box<dyn Receiver>, Unavailable> {
    recv::open(path, socket, buffer_bytes)
}
