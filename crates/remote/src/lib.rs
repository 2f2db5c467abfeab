//! Control connections between machines: the handshake, the messages of a session, zc's client and
//! server, and the far ends that are no zc: iperf3 servers and discard ports.
//!
//! The client sends the data and asks; the server receives the data and answers. Or the server
//! sends requests to the client's machine, or reads from an NFS server there, when it is told to.
//! Nothing here prints or computes results.

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "a test that gets no thread may panic")
)]
#![forbid(unsafe_code)]

mod accept;
pub mod ask;
mod asking;
pub mod boots;
pub mod carry;
#[cfg(test)]
mod carry_tests;
mod client;
pub mod connection;
pub mod errand;
#[cfg(test)]
mod far_host;
mod far_reads;
mod guesses;
pub mod handshake;
mod hex;
pub mod lines;
pub mod listener;
pub mod log_limit;
mod others;
pub mod protocol;
mod reading;
pub mod reject_log;
pub mod secret;
mod server;
pub mod stdio;
pub mod via;
mod via_errors;

pub use client::{Client, Found, Transport};
pub use far_reads::FarReads;
pub use others::{Discard, Iperf3};
pub use protocol::{FarFile, FarOrigin, LoadWanted, NfsWanted, PORT, Prepare, Ready};
pub use server::{DataPort, Duties, SessionEnd, serve};
