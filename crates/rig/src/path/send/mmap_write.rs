//! `mmap+write`: write(2) directly from the mapped file. One copy, from the page cache to the
//! socket, and no buffer.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::definition::Definition;
use super::sender::Sender;
use super::setup::SendSetup;
use super::socket_writer::{SocketWriter, broken_with_file, mapping};
use crate::workload::{FileSet, Piece};
use zc_run::{Result, SendCounts, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(MmapWrite::open(socket, setup)?)),
    call_without_flags: Some("write(2)"),
};

#[derive(Debug)]
struct MmapWrite {
    out: SocketWriter,
    files: Arc<FileSet>,
    buffer_bytes: usize,
}

impl MmapWrite {
    fn open(socket: BorrowedFd<'_>, setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        setup.files.mappings()?;
        let buffer_bytes = setup.buffer_bytes.max(1);
        Ok(Self { out: SocketWriter::new(socket)?, files: Arc::clone(&setup.files), buffer_bytes })
    }
}

impl Sender for MmapWrite {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let source = &self.files.files[piece.file];
        let mapping = mapping(&self.files, piece.file)?;
        self.out.push(
            piece.len,
            self.buffer_bytes,
            |socket, done, part| mapping.write(socket, piece.offset + done as u64, part),
            |error| broken_with_file("write(2)", source, error),
        )
    }

    fn drain(&mut self) -> Result<()> {
        // write(2) has copied. Where a file has lost the end of a page, it has copied zeros.
        self.files.check_lengths()
    }

    fn go_on_with(&mut self, socket: BorrowedFd<'_>) -> Result<bool> {
        self.out.go_on_with(socket).map(|()| true)
    }

    fn counts(&self) -> SendCounts {
        self.out.counts
    }
}
