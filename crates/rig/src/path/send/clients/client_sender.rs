//! The interface of every send path to clients, and what they share.

use std::io;
use std::os::fd::BorrowedFd;

use super::super::socket_writer::broken;
use crate::workload::Piece;
use zc_run::{Error, Result, SendCounts};

/// How much of a piece a client's socket took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offered {
    /// Bytes that it took.
    pub taken: usize,
    /// It is full: there is nothing to offer to it before it is writable again.
    pub is_full: bool,
}

impl Offered {
    /// Nothing.
    pub(super) const FULL: Self = Self { taken: 0, is_full: true };

    /// What a call on a client's socket took of the `len` bytes that it was given, which is counted.
    ///
    /// # Errors
    /// It failed, and not because the socket is full: `explain` converts its error.
    pub(super) fn by(
        called: io::Result<usize>,
        len: usize,
        counts: &mut SendCounts,
        explain: impl FnOnce(io::Error) -> Error,
    ) -> Result<Self> {
        match called {
            Ok(taken) => {
                counts.bytes += taken as u64;
                counts.short += u64::from(taken < len);
                Ok(Self { taken, is_full: taken < len })
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Self::FULL),
            Err(error) => Err(explain(error)),
        }
    }
}

/// A send path to clients that are numbered from 0.
pub trait ClientSender {
    /// Offers a client the bytes of `piece` from its beginning on, with at most one call on its
    /// socket. What it does not take has to be offered to it next.
    ///
    /// # Errors
    /// The client is gone, a file has become shorter, or the kernel refused.
    fn offer(&mut self, client: usize, socket: BorrowedFd<'_>, piece: Piece) -> Result<Offered>;

    /// Reads the completions of a client, whose socket reports an error or something in its error
    /// queue.
    ///
    /// # Errors
    /// The client is gone.
    fn look(&mut self, client: usize, socket: BorrowedFd<'_>) -> Result<()>;

    /// The clients to whom the kernel refused to send for lack of room, once there may be some: they
    /// can be offered something again, as nothing else will wake them.
    fn refused(&mut self) -> Vec<usize> {
        Vec::new()
    }

    /// Sends whose pages the kernel may still be reading.
    fn outstanding(&self) -> u64 {
        0
    }

    /// Compares what can only be seen at the end.
    ///
    /// # Errors
    /// A file has become shorter.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    /// Bytes, calls and completions so far, of all clients.
    fn counts(&self) -> SendCounts;
}

/// The error of a socket that reports one and has nothing in its error queue.
pub(super) fn broken_client(socket: BorrowedFd<'_>, call: &str) -> Result<()> {
    match zc_kernel::tcp::take_error(socket) {
        Ok(None) => Ok(()),
        Ok(Some(error)) | Err(error) => Err(broken(call, error)),
    }
}
