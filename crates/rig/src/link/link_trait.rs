//! The interface of every link that is up.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;

use super::null::ack_generator::AckGenerator;
use super::tcp_packets::TcpPackets;
use zc_run::{LinkCounters, LinkFacts, Result, Warning};

/// Bytes that the layer of a link has carried from the sender to the receiver, each with headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerBytes {
    /// By the counter of its sending end.
    pub sent: u64,
    /// By the counter of its receiving end.
    pub received: u64,
}

/// A link that is up.
pub trait Link: Send + Sync {
    /// Its devices and settings, and the results of the checks.
    fn facts(&self) -> &LinkFacts;

    /// Conditions found while it was brought up that weaken its figures.
    fn warnings(&self) -> &[Warning] {
        &[]
    }

    /// Moves the calling thread to the sender's network namespace. Its later sockets belong there.
    ///
    /// # Errors
    /// setns(2) failed.
    fn enter_sender(&self) -> Result<()>;

    /// Moves the calling thread to the receiver's network namespace.
    ///
    /// # Errors
    /// setns(2) failed.
    fn enter_receiver(&self) -> Result<()>;

    /// The address that a receiver listens on and a sender connects to.
    fn receiver_address(&self) -> IpAddr;

    /// The sender's own address, at which a server on that side is reached.
    fn sender_address(&self) -> IpAddr;

    /// Counters of the sending device, from any thread and namespace.
    ///
    /// # Errors
    /// Netlink failed.
    fn counters(&self) -> Result<LinkCounters>;

    /// Bytes that its layer has carried so far, from any thread and namespace. `None` where there
    /// is no layer, or one that counts in its sockets.
    ///
    /// # Errors
    /// Netlink failed.
    fn layer_bytes(&self) -> Result<Option<LayerBytes>> {
        Ok(None)
    }

    /// Counters of the packets that TCP got on the receiver's side; `None` where that is on another
    /// machine, or they are not shown.
    fn tcp_packets(&self) -> Option<&TcpPackets> {
        None
    }

    /// The network namespaces of sender and receiver. `None` if they are not the link's own.
    fn namespaces(&self) -> Option<[BorrowedFd<'_>; 2]> {
        None
    }

    /// Gives connections that the sender begins from here on the link's wide initial congestion
    /// window, as it was brought up with, or the kernel's. Does nothing where the link has none of
    /// its own. Best effort: a window that stays wide shows in the packets.
    fn use_wide_window(&self, _wide: bool) {}

    /// The ACK generator of the link `null`; `None` where a receive path of zc's receives.
    fn far_end(&self) -> Option<&AckGenerator> {
        None
    }
}
