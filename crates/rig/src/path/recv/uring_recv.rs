//! `uring-recv`: `IORING_OP_RECV` into one buffer, one io_uring_enter(2) for each.

use std::os::fd::BorrowedFd;

use super::definition::Definition;
use super::receiver::{Inspect, Receiver};
use super::socket_reader::broken;
use crate::path::uring::{no, own};
use zc_kernel::uring::Receive;
use zc_run::{RecvCounts, Result, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(UringRecv::open(socket, setup.buffer_bytes)?)),
    buffers: 1,
    shows_bytes: true,
};

struct UringRecv {
    ring: Receive,
    bytes: u64,
}

impl UringRecv {
    fn open(socket: BorrowedFd<'_>, buffer_bytes: usize) -> std::result::Result<Self, Unavailable> {
        Ok(Self { ring: Receive::new(own(socket)?, buffer_bytes).map_err(no)?, bytes: 0 })
    }
}

impl Receiver for UringRecv {
    fn receive(&mut self, inspect: Option<Inspect<'_>>) -> Result<usize> {
        let received = self.ring.receive().map_err(|error| broken("io_uring", error))?;
        self.bytes += received.len() as u64;
        if let Some(inspect) = inspect {
            inspect(received);
        }
        Ok(received.len())
    }

    fn counts(&self) -> RecvCounts {
        RecvCounts { bytes: self.bytes, calls: self.ring.calls(), mapped_bytes: 0 }
    }
}
