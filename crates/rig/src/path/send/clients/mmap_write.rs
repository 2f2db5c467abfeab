//! `mmap+write`: write(2) out of the mapped file, and no buffer.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::super::setup::SendSetup;
use super::super::socket_writer::{broken_with_file, mapping};
use super::client_sender::{ClientSender, Offered, broken_client};
use crate::workload::{FileSet, Piece};
use zc_run::{Result, SendCounts, Unavailable};

pub(super) struct MmapWrite {
    files: Arc<FileSet>,
    buffer_bytes: usize,
    counts: SendCounts,
}

impl MmapWrite {
    pub(super) fn open(setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        setup.files.mappings()?;
        Ok(Self {
            files: Arc::clone(&setup.files),
            buffer_bytes: setup.buffer_bytes.max(1),
            counts: SendCounts::default(),
        })
    }
}

impl ClientSender for MmapWrite {
    fn offer(&mut self, _client: usize, socket: BorrowedFd<'_>, piece: Piece) -> Result<Offered> {
        let len = piece.len.min(self.buffer_bytes);
        self.counts.calls += 1;
        let written = mapping(&self.files, piece.file)?.write(socket, piece.offset, len);
        let source = &self.files.files[piece.file];
        Offered::by(written, len, &mut self.counts, |error| {
            broken_with_file("write(2)", source, error)
        })
    }

    fn look(&mut self, _client: usize, socket: BorrowedFd<'_>) -> Result<()> {
        broken_client(socket, "write(2)")
    }

    fn finish(&mut self) -> Result<()> {
        // Where a file has lost the end of a page, write(2) has copied zeros.
        self.files.check_lengths()
    }

    fn counts(&self) -> SendCounts {
        self.counts
    }
}
