//! Definition of a send path by its file: how it is opened, and what it cannot do.

use std::os::fd::BorrowedFd;

use super::sender::Sender;
use super::setup::SendSetup;
use zc_run::Unavailable;

/// The path, or why it cannot run here.
pub(super) type Opened = Result<Box<dyn Sender>, Unavailable>;

/// A send path, for the table of `send/mod.rs`.
pub(super) struct Definition {
    /// Opens it on a connected socket. Finds out by trying (feature probes, never version numbers)
    /// whether it can run here.
    pub(super) open: fn(BorrowedFd<'_>, &SendSetup) -> Opened,
    /// The call that puts the bytes on the socket, where it takes no flags and so cannot say
    /// MSG_MORE.
    pub(super) call_without_flags: Option<&'static str>,
}
