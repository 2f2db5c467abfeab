//! `udp-zerocopy` and `udp-gso-zerocopy`: send(2) with MSG_ZEROCOPY from the resident copy of the
//! file set, for a datagram or for several that the kernel cuts. The pages are never reused, as by
//! `msg-zerocopy`.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::datagrams::{broken_datagrams, cut_by_kernel};
use super::definition::Definition;
use super::sender::Sender;
use super::setup::SendSetup;
use super::zerocopy_tracker::ZeroCopyTracker;
use crate::path::resident::ResidentCopy;
use crate::workload::Piece;
use zc_kernel::errqueue::send_zerocopy;
use zc_run::{Result, SendCounts, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(UdpZerocopy::open(socket, setup)?)),
    call_without_flags: None,
};

pub(super) const GSO_PATH: Definition = Definition {
    open: |socket, setup| {
        cut_by_kernel(socket, setup.datagrams)?;
        Ok(Box::new(UdpZerocopy::open(socket, setup)?))
    },
    call_without_flags: None,
};

struct UdpZerocopy {
    tracker: ZeroCopyTracker,
    resident: Arc<ResidentCopy>,
    call_bytes: usize,
}

impl UdpZerocopy {
    fn open(socket: BorrowedFd<'_>, setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        let call_bytes = setup.datagrams.call_bytes();
        Ok(Self {
            tracker: ZeroCopyTracker::new(socket, call_bytes)?,
            resident: Arc::clone(setup.resident.copy_of(&setup.files, setup.pages)?),
            call_bytes,
        })
    }
}

impl Sender for UdpZerocopy {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let start = self.resident.offset(piece);
        let pages = self.resident.pages();
        let call = |socket: BorrowedFd<'_>, done: usize, part: usize| {
            send_zerocopy(socket, pages, start + done..start + done + part, false)
        };
        self.tracker.push(piece.len, self.call_bytes, call, broken_datagrams)
    }

    fn drain(&mut self) -> Result<()> {
        self.tracker.drain()
    }

    fn counts(&self) -> SendCounts {
        self.tracker.counts()
    }
}
