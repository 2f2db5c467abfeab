//! A client for unmodified iperf3 servers ([`Test`]), which measures this machine's sender without
//! installing anything on the other.
//!
//! The protocol is defined only by its implementation (<https://github.com/esnet/iperf>,
//! `iperf_api.c` and others). docs/iperf3.md describes what is supported here, and how far iperf3's
//! figures can be trusted.

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "a test that gets no thread may panic")
)]
#![forbid(unsafe_code)]

mod client;
mod control;
pub mod inbox;
pub mod messages;

#[cfg(test)]
mod interoperation;

pub use client::{ServerReport, Test, settle};
