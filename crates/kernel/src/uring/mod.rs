//! io_uring: rings that own the memory that their requests use.
//!
//! There is one type per way to move bytes, each a ring with everything that its requests point to:
//! [`ReadSend`] (file to buffer to socket), [`ZeroCopy`] (memory to socket), [`Splice`] (file to
//! pipe to socket), [`SpliceSockets`] (socket to pipe to socket), [`Receive`] and [`Multishot`] (socket to buffer). A request in flight may write
//! to, or read from, memory that Rust believes to be free. So no type here frees its memory before
//! the kernel has released it. If the kernel does not do so in time, the memory is leaked
//! (`in_flight.rs`).
//!
//! Whether the kernel has an operation is found out by asking it (`IORING_REGISTER_PROBE`) or by
//! trying, never from its version.
//!
//! # References
//! - [io_uring(7)]
//! - include/uapi/linux/io_uring.h
//!
//! [io_uring(7)]: https://man7.org/linux/man-pages/man7/io_uring.7.html

mod buf_ring;
mod bundle;
mod copied;
mod in_flight;
mod message;
mod multishot;
mod read_send;
mod read_send_batch;
mod receive;
mod registered_ring;
mod ring;
mod send_bundle;
mod sends;
mod splice;
mod splice_sockets;
#[cfg(test)]
mod tests;
mod transfer;
mod zero_copy;

pub use bundle::ReceiveBundle;
pub use multishot::Multishot;
pub use read_send::ReadSend;
pub use read_send_batch::ReadSendBatch;
pub use receive::Receive;
pub use send_bundle::SendBundle;
pub use splice::Splice;
pub use splice_sockets::{SpliceEnd, SpliceSockets};
pub use transfer::TransferError;
pub use zero_copy::{ZeroCopy, ZeroCopyCounts, ZeroCopySends};

/// Value of `kernel.io_uring_disabled`: 0 every user may create a ring, 1 only members of
/// `kernel.io_uring_group` and CAP_SYS_ADMIN, 2 none. `None`: the kernel lacks the sysctl (before
/// 6.6).
///
/// # References
/// [Documentation/admin-guide/sysctl/kernel.rst]
///
/// [Documentation/admin-guide/sysctl/kernel.rst]:
///   https://docs.kernel.org/admin-guide/sysctl/kernel.html
#[doc(alias = "io_uring_setup")]
pub fn disabled_sysctl() -> Option<u8> {
    std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok()?.trim().parse().ok()
}
