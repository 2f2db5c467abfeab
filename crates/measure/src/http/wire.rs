//! The bytes of one connection: sent, received, or discarded in the kernel, and counted.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use zc_kernel::tcp;

use super::counts::Counting;

/// The most that one call discards. It only bounds how long the call takes.
const DISCARD_AT_A_TIME: u64 = 4 << 20;

/// A connection's socket.
#[derive(Debug)]
pub(super) struct Wire {
    socket: OwnedFd,
}

/// What one call received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Received {
    /// How many bytes; 0 at the end of the stream.
    pub(super) bytes: usize,
    /// Whether there were no more: the next ones raise an event.
    pub(super) is_all: bool,
}

impl Wire {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self { socket }
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends what is left of `request`, `sent` bytes of which have gone. Returns whether all has.
    pub(super) fn send(
        &mut self,
        request: &[u8],
        sent: &mut usize,
        counting: &Counting,
    ) -> io::Result<bool> {
        while *sent < request.len() {
            match tcp::send(&self.socket, &request[*sent..]) {
                Ok(bytes) => {
                    *sent += bytes;
                    counting.sent_bytes.add(bytes as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Receives bytes.
    pub(super) fn receive(&mut self, into: &mut [u8], counting: &Counting) -> io::Result<Received> {
        let bytes = tcp::recv(&self.socket, into)?;
        counting.received_bytes.add(bytes as u64);
        // epoll(7): fewer bytes than asked for means that a stream has no more.
        Ok(Received { bytes, is_all: bytes < into.len() })
    }

    /// Removes up to `most` bytes without copying them.
    pub(super) fn discard(&mut self, most: u64, counting: &Counting) -> io::Result<Received> {
        let most = most.min(DISCARD_AT_A_TIME) as usize;
        let bytes = tcp::recv_discard(&self.socket, most)?;
        counting.received_bytes.add(bytes as u64);
        Ok(Received { bytes, is_all: bytes < most })
    }
}
