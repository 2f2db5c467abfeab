//! `msg-zerocopy-mmap`: send(2) with MSG_ZEROCOPY out of the mapped file: the kernel borrows the pages of the page
//! cache, as sendfile(2) does, but by way of a user's page tables.

use std::net::TcpStream;
use std::sync::Arc;

use super::super::{SendSetup, Sender};
use super::socket_writer::{broken_with_file, mapping};
use super::zerocopy_tracker::ZeroCopyTracker;
use crate::workload::{FileSet, Piece};
use zc_run::{Result, SendCounts, Unavailable};

#[derive(Debug)]
pub(super) struct MsgZerocopyMmap {
    tracker: ZeroCopyTracker,
    files: Arc<FileSet>,
    buffer_bytes: usize,
    more: bool,
}

impl MsgZerocopyMmap {
    pub(super) fn open(
        socket: &TcpStream,
        setup: &SendSetup,
    ) -> std::result::Result<Self, Unavailable> {
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
                mapping.send_zerocopy(socket, piece.offset + done as u64, part, more)
            },
            |error| broken_with_file("MSG_ZEROCOPY", source, error),
        )
    }

    fn drain(&mut self) -> Result<()> {
        self.tracker.drain()?;
        // Where a file lost the end of a page, zeros were sent.
        self.files.check_lengths()
    }

    fn counts(&self) -> SendCounts {
        self.tracker.counts()
    }
}
