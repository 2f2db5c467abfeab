//! `uring-splice`: `IORING_OP_SPLICE` from the socket into a pipe, linked to another from the pipe
//! into the other socket. A worker thread of io_uring does both.

use super::errors::{not_received, not_sent};
use super::forwarder::Forwarder;
use super::setup::{ProxySetup, Sockets};
use crate::path::uring::no;
use zc_kernel::uring::{SpliceEnd, SpliceSockets};
use zc_run::{RecvCounts, Result, Unavailable};

pub(super) fn open(setup: &ProxySetup<'_>) -> std::result::Result<Box<dyn Forwarder>, Unavailable> {
    let Sockets { source, target } = setup.own()?;
    let ring = SpliceSockets::new(source, target, setup.pipe()?, setup.cpu).map_err(no)?;
    Ok(Box::new(UringSplice { ring, bytes: 0 }))
}

struct UringSplice {
    ring: SpliceSockets,
    bytes: u64,
}

impl Forwarder for UringSplice {
    fn forward(&mut self) -> Result<usize> {
        let moved = self.ring.forward().map_err(|(end, error)| match end {
            SpliceEnd::Source => not_received("io_uring", error),
            SpliceEnd::Target => not_sent("io_uring", error),
        })?;
        self.bytes += moved as u64;
        Ok(moved)
    }

    fn counts(&self) -> RecvCounts {
        RecvCounts { bytes: self.bytes, calls: self.ring.calls(), ..RecvCounts::default() }
    }
}
