//! Definition of a receive path by its file: how it is opened, and whether it has the bytes.

use std::os::fd::BorrowedFd;

use super::receiver::Receiver;
use super::setup::RecvSetup;
use zc_run::Unavailable;

/// The path, or why it cannot run here.
pub(super) type Opened = Result<Box<dyn Receiver>, Unavailable>;

/// A receive path, for the table of `recv/mod.rs`.
pub(super) struct Definition {
    /// Opens it on a connected socket. Finds out by trying whether it can run here.
    pub(super) open: fn(BorrowedFd<'_>, &RecvSetup) -> Opened,
    /// Number of such buffers of an open path.
    pub(super) buffers: usize,
    /// Whether the bytes reach the program's memory, so that they can be checked.
    pub(super) shows_bytes: bool,
}
