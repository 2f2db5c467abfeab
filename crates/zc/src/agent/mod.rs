//! The far half of a trial: who receives on another machine, and how the two machines come to an understanding about it over
//! a stream of bytes. It prints nothing and computes no figure.

pub mod door;
pub mod handshake;
pub mod iperf3;
pub mod secret;
pub mod stdio;
pub mod tell;
pub mod wire;
