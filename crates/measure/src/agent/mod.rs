//! The far half of a trial: who receives on another machine, and how the two machines come to an understanding about it over
//! a stream of bytes. It prints nothing and computes no figure.

mod arrivals;
mod complaints;
pub mod door;
mod far;
pub mod handshake;
mod hex;
pub mod iperf3;
mod near;
mod others;
mod protocol;
pub mod secret;
pub mod stdio;
pub mod tell;
pub mod via;
mod via_faults;
pub mod wire;

pub use far::{DataPort, SessionEnd, serve};
pub use near::{Found, Keeps, Near};
pub use others::{Discard, Iperf3};
pub use protocol::{PORT, Prepare, Ready};
