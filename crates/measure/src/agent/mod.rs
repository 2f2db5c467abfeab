//! The far half of a trial: who receives on another machine, and how the two machines come to an understanding about it over
//! a stream of bytes. It prints nothing and computes no figure.

mod accept;
mod client;
pub mod connection;
pub mod handshake;
mod hex;
pub mod iperf3;
pub mod listener;
mod others;
mod protocol;
pub mod reject_log;
pub mod secret;
mod server;
mod stderr_tail;
pub mod stdio;
pub mod via;
mod via_errors;

pub use client::{Client, Found, Transport};
pub use others::{Discard, Iperf3};
pub use protocol::{PORT, Prepare, Ready};
pub use server::{DataPort, SessionEnd, serve};
