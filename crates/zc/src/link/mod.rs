//! Links: where the bytes travel. A link is brought up, entered by threads, counted, and gone when it is dropped or
//! when the process dies: its namespaces are anonymous, held by file descriptors alone.

mod loopback;
mod veth;

use std::net::IpAddr;

use crate::record::{LinkCounters, LinkFacts, LinkKind, No, Result};

/// A link that is up.
pub trait Link: Send + Sync {
    /// As it was brought up, with what was checked about it.
    fn facts(&self) -> &LinkFacts;

    /// Moves the calling thread to the sender's side (its network namespace). Sockets it makes from now on live there.
    ///
    /// # Errors
    /// setns(2) failed.
    fn enter_sender(&self) -> Result<()>;

    /// Moves the calling thread to the receiver's side.
    ///
    /// # Errors
    /// setns(2) failed.
    fn enter_receiver(&self) -> Result<()>;

    /// Where a receiver listens and a sender connects to.
    fn receiver_address(&self) -> IpAddr;

    /// Counters of the sending device, from any thread and namespace.
    ///
    /// # Errors
    /// Netlink failed.
    fn counters(&self) -> Result<LinkCounters>;
}

/// Which CPUs the two sides are to run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sides {
    /// The sender's CPU.
    pub sender_cpu: usize,
    /// The receiver's CPU.
    pub receiver_cpu: usize,
}

/// Brings a link up. For `veth` without root this makes a user namespace, which only a process with a single thread can
/// do: call it before the first thread is started.
///
/// # Errors
/// Why this user cannot have it here; nothing is left behind.
pub fn bring_up(kind: LinkKind, sides: Sides) -> std::result::Result<Box<dyn Link>, No> {
    match kind {
        LinkKind::Loopback => loopback::bring_up(sides),
        LinkKind::Veth => veth::bring_up(sides),
    }
}
