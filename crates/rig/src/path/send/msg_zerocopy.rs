//! `msg-zerocopy`: send(2) with MSG_ZEROCOPY from the resident copy of the file set: the bytes are
//! in memory already, as in a server's own cache. The pages are never reused, so completions are
//! only counted, and waited for when the kernel refuses a send and at the end.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::definition::Definition;
use super::sender::Sender;
use super::setup::{More, SendSetup};
use super::socket_writer::broken;
use super::zerocopy_tracker::ZeroCopyTracker;
use crate::path::resident::ResidentCopy;
use crate::workload::Piece;
use zc_kernel::errqueue::send_zerocopy;
use zc_run::{Result, SendCounts, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(MsgZerocopy::open(socket, setup)?)),
    call_without_flags: None,
};

#[derive(Debug)]
pub(super) struct MsgZerocopy {
    tracker: ZeroCopyTracker,
    resident: Arc<ResidentCopy>,
    buffer_bytes: usize,
    more: More,
}

impl MsgZerocopy {
    pub(super) fn open(
        socket: BorrowedFd<'_>,
        setup: &SendSetup,
    ) -> std::result::Result<Self, Unavailable> {
        let buffer_bytes = setup.buffer_bytes.max(1);
        let tracker = ZeroCopyTracker::new(socket, buffer_bytes)?;
        Ok(Self {
            tracker,
            resident: Arc::clone(setup.resident.copy_of(&setup.files, setup.pages)?),
            buffer_bytes,
            more: setup.more,
        })
    }

    #[cfg(test)]
    pub(super) fn tracker(&mut self) -> &mut ZeroCopyTracker {
        &mut self.tracker
    }
}

impl Sender for MsgZerocopy {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let start = self.resident.offset(piece);
        let (pages, more) = (self.resident.pages(), self.more);
        self.tracker.push(
            piece.len,
            self.buffer_bytes,
            |socket, done, part| {
                let more = more.says(done + part == piece.len);
                send_zerocopy(socket, pages, start + done..start + done + part, more)
            },
            |error| broken("MSG_ZEROCOPY", error),
        )
    }

    fn drain(&mut self) -> Result<()> {
        self.tracker.drain()
    }

    fn counts(&self) -> SendCounts {
        self.tracker.counts()
    }
}
