//! `msg-zerocopy-mmap`: send(2) with MSG_ZEROCOPY from the mapped file: the kernel refers to the
//! pages of the page cache, as with sendfile(2), but finds them through the user's page tables.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::definition::Definition;
use super::sender::Sender;
use super::setup::{More, SendSetup};
use super::socket_writer::{broken_with_file, mapping};
use super::zerocopy_tracker::ZeroCopyTracker;
use crate::workload::{FileSet, Piece};
use zc_run::{Result, SendCounts, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(MsgZerocopyMmap::open(socket, setup)?)),
    call_without_flags: None,
};

#[derive(Debug)]
struct MsgZerocopyMmap {
    tracker: ZeroCopyTracker,
    files: Arc<FileSet>,
    buffer_bytes: usize,
    more: More,
}

impl MsgZerocopyMmap {
    fn open(socket: BorrowedFd<'_>, setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        setup.files.mappings()?;
        let buffer_bytes = setup.buffer_bytes.max(1);
        Ok(Self {
            tracker: ZeroCopyTracker::new(socket, buffer_bytes)?,
            files: Arc::clone(&setup.files),
            buffer_bytes,
            more: setup.more,
        })
    }
}

impl Sender for MsgZerocopyMmap {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let source = &self.files.files[piece.file];
        let more = self.more;
        let mapping = mapping(&self.files, piece.file)?;
        self.tracker.push(
            piece.len,
            self.buffer_bytes,
            |socket, done, part| {
                let more = more.says(done + part == piece.len);
                mapping.send_zerocopy(socket, piece.offset + done as u64, part, more)
            },
            |error| broken_with_file("MSG_ZEROCOPY", source, error),
        )
    }

    fn drain(&mut self) -> Result<()> {
        self.tracker.drain()?;
        // Where a file has lost the end of a page, zeros were sent.
        self.files.check_lengths()
    }

    fn counts(&self) -> SendCounts {
        self.tracker.counts()
    }
}
