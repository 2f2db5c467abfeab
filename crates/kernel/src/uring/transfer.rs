//! Code shared by the rings: the error of a transfer, the decoding of results, and buffers whose
//! pages exist in advance.

use std::io;

use crate::pages::Pages;

/// Failure of a transfer from a file to a socket.
#[derive(Debug)]
pub enum TransferError {
    /// The file is shorter than the range to be sent.
    FileEnded,
    /// Reading the file failed.
    File(io::Error),
    /// Sending failed.
    Socket(io::Error),
    /// io_uring itself failed.
    Ring(io::Error),
}

/// Whether a request's error means "try again" (EINTR, EAGAIN).
pub(super) fn is_interruption(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN))
}

/// The error in a completion's negative result.
pub(super) fn error_of(result: i32) -> io::Error {
    io::Error::from_raw_os_error(result.wrapping_neg())
}

/// A buffer whose pages are allocated already, so that no page fault falls into a measurement.
pub(super) fn touched(bytes: usize) -> io::Result<Pages> {
    let mut pages = Pages::new(bytes)?;
    pages.as_mut_slice().fill(0);
    Ok(pages)
}
