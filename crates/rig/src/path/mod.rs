//! Send and receive paths: each is one way to get bytes into a socket, or out of it.
//!
//! A path moves bytes on request, drains its completions and counts its calls. It knows nothing of
//! windows, pacing, meters or links. Each has a file of its own in `send/` or `recv/`, and those that
//! move bytes from one socket to another in `proxy/`.

mod huge_pages;
mod proxy;
mod recv;
mod resident;
mod send;
mod socket_kind;
mod uring;

#[cfg(test)]
mod datagram_tests;
#[cfg(test)]
mod testing;

pub use proxy::{Forwarder, ProxySetup, open_forwarder};
pub use recv::{Inspect, Receiver, RecvSetup, open_receiver, receive_memory_bytes, shows_bytes};
pub(crate) use recv::{not_received, receive_buffer};
pub use resident::{Resident, ResidentCopy};
pub use send::{ClientSender, More, SendSetup, Sender, open_client_sender, open_sender};
