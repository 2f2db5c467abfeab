//! `uring-multishot`: one `IORING_OP_RECV` that keeps completing, into a pool of provided buffers.
//! All available completions are read at once.

use std::os::fd::BorrowedFd;

use super::definition::Definition;
use super::receiver::{Inspect, Receiver};
use super::socket_reader::broken;
use crate::path::uring::{no, own};
use zc_kernel::uring::Multishot;
use zc_run::{RecvCounts, Result, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(UringMultishot::open(socket, setup.buffer_bytes)?)),
    buffers: Multishot::BUFFERS,
    shows_bytes: true,
};

struct UringMultishot {
    ring: Multishot,
    bytes: u64,
}

impl UringMultishot {
    fn open(socket: BorrowedFd<'_>, buffer_bytes: usize) -> std::result::Result<Self, Unavailable> {
        Ok(Self { ring: Multishot::new(own(socket)?, buffer_bytes).map_err(no)?, bytes: 0 })
    }
}

impl Receiver for UringMultishot {
    fn receive(&mut self, inspect: Option<Inspect<'_>>) -> Result<usize> {
        let received = match inspect {
            Some(inspect) => self.ring.receive(inspect),
            None => self.ring.receive(&mut |_| {}),
        };
        let received = received.map_err(|error| broken("io_uring", error))?;
        self.bytes += received as u64;
        Ok(received)
    }

    fn counts(&self) -> RecvCounts {
        RecvCounts { bytes: self.bytes, calls: self.ring.calls(), mapped_bytes: 0 }
    }
}
