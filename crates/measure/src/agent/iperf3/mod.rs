//! iperf3: a client for unmodified servers ([`Test`]), which measures this machine's sender without
//! installing anything on the other, and a server for unmodified clients ([`serve`]).
//!
//! The protocol is defined only by its implementation (<https://github.com/esnet/iperf>,
//! `iperf_api.c` and others). docs/iperf3.md describes what is supported here, and how far iperf3's
//! figures can be trusted.

mod client;
mod control;
pub mod inbox;
pub mod messages;
mod server;

#[cfg(test)]
mod interoperation;
#[cfg(test)]
mod testing;

pub use client::{BLOCK_BYTES, MOST_STREAMS, ServerReport, Test, settle};
pub use server::{Ended, Event, Limits, Refusal, Request, serve};
