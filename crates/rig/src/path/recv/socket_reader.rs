//! Shared by all receive paths: holds a handle of the socket, counts, and explains errors.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use crate::tls::not_decrypted;
use zc_kernel::pages::Pages;
use zc_run::{Error, RecvCounts, Result, Unavailable};

/// The socket and the counts.
#[derive(Debug)]
pub(super) struct SocketReader {
    pub(super) socket: OwnedFd,
    pub(super) counts: RecvCounts,
}

impl SocketReader {
    pub(super) fn new(socket: BorrowedFd<'_>) -> std::result::Result<Self, Unavailable> {
        let socket = socket.try_clone_to_owned().map_err(|error| {
            Unavailable::failed(format!("the socket cannot be duplicated: {error}"))
        })?;
        Ok(Self { socket, counts: RecvCounts::default() })
    }

    /// Counts a call that took bytes out of the socket, or failed.
    pub(super) fn took(&mut self, call: &str, received: io::Result<usize>) -> Result<usize> {
        self.counts.calls += 1;
        let received = received.map_err(|error| broken(call, error))?;
        self.counts.bytes += received as u64;
        Ok(received)
    }
}

/// The error of a failed call.
pub(crate) fn broken(call: &str, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::ConnectionReset => {
            Error::failed("sender-reset", "the sender reset the connection")
        }
        // Only the kernel's TLS says EBADMSG: a record has another tag.
        _ if error.raw_os_error() == Some(rustix::io::Errno::BADMSG.raw_os_error()) => {
            not_decrypted()
        }
        _ => Error::os(format!("receive with {call}"), error),
    }
}

/// A buffer of whole pages, all of them populated.
pub(crate) fn buffer(bytes: usize) -> std::result::Result<Pages, Unavailable> {
    let mut pages = Pages::new(bytes).map_err(|error| {
        Unavailable::failed(format!("cannot allocate a buffer of {bytes} bytes: {error}"))
    })?;
    pages.as_mut_slice().fill(0);
    Ok(pages)
}
