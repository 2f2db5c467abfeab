//! `uring-bundle` and `uring-min-wait`: one multishot `IORING_OP_RECV` on a tuned ring whose
//! completions cover all that was queued (`IORING_RECVSEND_BUNDLE`), in buffers that fill bit by
//! bit (`IOU_PBUF_RING_INC`). The second waits for a minimum of time, so that it is woken less
//! often. The third, `uring-napi`, polls the network card before it waits.

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

/// Longest poll of `uring-napi`: what is recommended for `busy_poll` and several sockets in
/// Documentation/admin-guide/sysctl/net.rst.
const POLL: Duration = Duration::from_micros(50);

/// `uring-napi`.
pub(super) const NAPI_PATH: Definition = Definition {
    open: |socket, setup| {
        let id = ReceiveBundle::napi_id(socket).map_err(|error| {
            Unavailable::failed(format!("cannot ask for the network card's queue: {error}"))
        })?;
        if id == 0 {
            return Err(Unavailable::unsupported(
                "the connection has no NAPI id: its packets come from no network card's queue",
            )
            .remedy("zc run --remote HOST, with this path on the machine that receives"));
        }
        let path = UringBundle::open(socket, setup.buffer_bytes, None)?;
        path.ring.poll_card(POLL).map_err(no)?;
        Ok(Box::new(path))
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
