//! A service that runs: which processes it has, what CPU time they use, and what its sockets do.

mod container;
mod sockets;
mod target;

pub use sockets::{NetReading, Network, socket_inodes};
pub use target::{Target, TargetReading};
