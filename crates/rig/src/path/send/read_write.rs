//! `read+write`: pread(2) into a buffer, write(2) out of it.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::definition::Definition;
use super::sender::Sender;
use super::setup::SendSetup;
use super::socket_writer::{Buffer, SocketWriter, broken, read};
use crate::workload::{FileSet, Piece};
use zc_run::{Result, SendCounts, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(ReadWrite::open(socket, setup)?)),
    call_without_flags: Some("write(2)"),
};

#[derive(Debug)]
struct ReadWrite {
    out: SocketWriter,
    files: Arc<FileSet>,
    buffer: Buffer,
}

impl ReadWrite {
    fn open(socket: BorrowedFd<'_>, setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        let buffer = Buffer::new(setup)?;
        Ok(Self { out: SocketWriter::new(socket)?, files: Arc::clone(&setup.files), buffer })
    }
}

/// write(2), repeated on EINTR. A peer that is gone also raises SIGPIPE, which Rust programs
/// ignore.
fn write(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::io::retry_on_intr(|| rustix::io::write(socket, bytes))?)
}

impl Sender for ReadWrite {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let source = &self.files.files[piece.file];
        let mut done = 0;
        while done < piece.len {
            let part = self.buffer.first(piece.len - done);
            self.out.counts.calls += 1;
            let len = read(source, part, piece.offset + done as u64)?;
            let part = &part[..len];
            self.out.push(
                len,
                len,
                |socket, at, _| write(socket, &part[at..]),
                |error| broken("write(2)", error),
            )?;
            done += len;
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        Ok(()) // write(2) has copied
    }

    fn go_on_with(&mut self, socket: BorrowedFd<'_>) -> Result<bool> {
        self.out.go_on_with(socket).map(|()| true)
    }

    fn counts(&self) -> SendCounts {
        self.out.counts
    }
}
