//! iperf3 at the other end, of either kind: as a client of an unmodified server ([`Test`]), so that somebody whose far end runs
//! iperf3 already measures his sender with nothing to install there; and as a server of unmodified clients ([`serve`]).
//!
//! There is no description of the protocol but its implementation (<https://github.com/esnet/iperf>, `iperf_api.c` and its
//! neighbours); docs/iperf3.md says what is spoken here, and what the figures of an iperf3 are worth.

mod client;
mod control;
mod messages;
mod server;

#[cfg(test)]
mod interoperation;
#[cfg(test)]
mod testing;

pub use client::{BLOCK_BYTES, MOST_STREAMS, ServerReport, Test, settle};
pub use server::{Ended, Event, Limits, serve};
