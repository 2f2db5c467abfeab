//! Send paths to many clients, on sockets that do not block: a call puts as much on one as it takes,
//! and the program goes on with the next, as web servers do.

mod mmap_write;
mod msg_zerocopy;
mod read_send;
mod sendfile;

use std::io;
use std::os::fd::BorrowedFd;

use super::setup::{More, SendSetup};
use crate::workload::Piece;
use zc_run::{Result, SendCounts, SendPath, Unavailable};

/// How much of a piece a client's socket took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offered {
    /// Bytes that it took.
    pub taken: usize,
    /// It is full: there is nothing to offer to it before it is writable again.
    pub is_full: bool,
}

impl Offered {
    /// What a call took of `len` bytes that it was given.
    fn of(taken: usize, len: usize) -> Self {
        Self { taken, is_full: taken < len }
    }

    /// Nothing.
    const FULL: Self = Self { taken: 0, is_full: true };
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

/// Opens `path` for so many clients.
///
/// # Errors
/// Why it cannot be used so, or not here.
pub fn open_client_sender(
    path: SendPath,
    setup: &SendSetup,
    clients: usize,
) -> std::result::Result<Box<dyn ClientSender>, Unavailable> {
    if setup.more != More::Never {
        return Err(Unavailable::unsupported("to clients nothing says MSG_MORE")
            .remedy("--push cork does about the same"));
    }
    match path {
        SendPath::ReadSend => Ok(Box::new(read_send::ReadSend::open(setup, clients)?)),
        SendPath::MmapWrite => Ok(Box::new(mmap_write::MmapWrite::open(setup)?)),
        SendPath::Sendfile => Ok(Box::new(sendfile::Sendfile::open(setup)?)),
        SendPath::MsgZerocopy => Ok(Box::new(msg_zerocopy::MsgZerocopy::open(setup, clients)?)),
        _ => Err(Unavailable::unsupported(format!("{path} waits for one client at a time"))
            .remedy("--paths read+send,mmap+write,sendfile,msg-zerocopy go on with the next one")),
    }
}

/// The error of a socket that reports one and has nothing in its error queue.
fn broken_client(socket: BorrowedFd<'_>, call: &str) -> Result<()> {
    match zc_kernel::tcp::take_error(socket) {
        Ok(None) => Ok(()),
        Ok(Some(error)) | Err(error) => Err(super::socket_writer::broken(call, error)),
    }
}

/// Whether a call failed only because the socket is full.
fn would_block(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}
