//! `uring-bundle` and `uring-min-wait`: one multishot `IORING_OP_RECV` on a tuned ring whose
//! completions cover all that was queued (`IORING_RECVSEND_BUNDLE`), in buffers that fill bit by
//! bit (`IOU_PBUF_RING_INC`). The second waits for a minimum of time, so that it is woken less
//! often.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::definition::Definition;
use super::receiver::{Inspect, Receiver};
use super::socket_reader::broken;
use crate::path::uring::{no, own};
use zc_kernel::uring::ReceiveBundle;
use zc_run::{RecvCounts, Result, Unavailable};

/// Minimum of a wait of `uring-min-wait`: 80 KB at 800 MB/s.
const MIN_WAIT: Duration = Duration::from_micros(100);

/// `uring-bundle`.
pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(UringBundle::open(socket, setup.buffer_bytes, None)?)),
    buffers: ReceiveBundle::BUFFERS,
    shows_bytes: true,
};

/// `uring-min-wait`.
pub(super) const MIN_WAIT_PATH: Definition = Definition {
    open: |socket, setup| {
        Ok(Box::new(UringBundle::open(socket, setup.buffer_bytes, Some(MIN_WAIT))?))
    },
    buffers: ReceiveBundle::BUFFERS,
    shows_bytes: true,
};

struct UringBundle {
    ring: ReceiveBundle,
    bytes: u64,
}

impl UringBundle {
    fn open(
        socket: BorrowedFd<'_>,
        buffer_bytes: usize,
        min_wait: Option<Duration>,
    ) -> std::result::Result<Self, Unavailable> {
        let ring = ReceiveBundle::new(own(socket)?, buffer_bytes, min_wait).map_err(no)?;
        Ok(Self { ring, bytes: 0 })
    }
}

impl Receiver for UringBundle {
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
