//! The paths of a proxy, one to a file: each moves what arrives on one socket to another.

mod errors;
mod forwarder;
mod recv_send;
mod setup;
mod sockmap;
mod splice;
mod uring_splice;

#[cfg(test)]
mod tests;

use zc_run::{ProxyPath, Unavailable};

pub use forwarder::Forwarder;
pub use setup::ProxySetup;

/// Opens `path` between two connected sockets.
///
/// # Errors
/// Why it cannot run here.
pub fn open_forwarder(
    path: ProxyPath,
    setup: &ProxySetup<'_>,
) -> Result<Box<dyn Forwarder>, Unavailable> {
    match path {
        ProxyPath::None => Err(Unavailable::unsupported("there is no proxy")),
        ProxyPath::RecvSend => recv_send::open(setup),
        ProxyPath::Splice => splice::open(setup),
        ProxyPath::UringSplice => uring_splice::open(setup),
        ProxyPath::Sockmap => sockmap::open(setup),
    }
}
