//! io_uring: rings that own the memory they lend to the kernel.
//!
//! One type for each way of moving bytes, each a ring with all that its requests point to: [`ReadSend`] (file to
//! buffer to socket), [`ZeroCopy`] (memory to socket), [`Splice`] (file to pipe to socket), [`Receive`] and
//! [`Multishot`] (socket to buffer). A request that the kernel has not finished may write to, or read from, memory that
//! Rust believes to be free; so no type here gives its memory up before the kernel has, and where the kernel does not
//! do so in time, the memory is leaked instead (`lent.rs`).
//!
//! Whether the kernel has an operation is found out by asking it (`IORING_REGISTER_PROBE`) or by trying, never from
//! its version.
//!
//! # References
//! io_uring(7), io_uring_setup(2), io_uring_enter(2), io_uring_register(2); include/uapi/linux/io_uring.h.

mod copied;
mod in_flight;
mod multishot;
mod read_send;
mod receive;
mod ring;
mod splice;
mod zero_copy;

use std::io;

use crate::pages::Pages;

pub use multishot::Multishot;
pub use read_send::ReadSend;
pub use receive::Receive;
pub use splice::Splice;
pub use zero_copy::{ZeroCopy, ZeroCopyCounts};

/// Why bytes did not get from a file to a socket.
#[derive(Debug)]
pub enum TransferError {
    /// The file is shorter than what was to be sent of it.
    FileEnded,
    /// Reading the file failed.
    File(io::Error),
    /// Sending failed.
    Socket(io::Error),
    /// io_uring itself failed.
    Ring(io::Error),
}

/// What `kernel.io_uring_disabled` says (Documentation/admin-guide/sysctl/kernel.rst): 0 anybody may have a ring, 1 only
/// members of `kernel.io_uring_group` and CAP_SYS_ADMIN, 2 nobody. None: the kernel has no such switch (before 6.6).
pub fn disabled_sysctl() -> Option<u8> {
    std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok()?.trim().parse().ok()
}

/// A result of a request that says "again", not "no".
fn is_interruption(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN))
}

/// The error in a completion's negative result.
fn error_of(result: i32) -> io::Error {
    io::Error::from_raw_os_error(result.wrapping_neg())
}

/// A buffer whose pages are there already, so that no page fault is in what is measured.
fn touched(bytes: usize) -> io::Result<Pages> {
    let mut pages = Pages::new(bytes)?;
    pages.as_mut_slice().fill(0);
    Ok(pages)
}
