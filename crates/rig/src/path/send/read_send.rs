//! `read+send`: pread(2) into a buffer, send(2) out of it. The reference that all other paths are
//! compared with.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::definition::Definition;
use super::sender::Sender;
use super::setup::{More, SendSetup};
use super::socket_writer::{Buffer, SocketWriter, broken, read};
use crate::workload::{FileSet, Piece};
use zc_kernel::tcp;
use zc_run::{Result, SendCounts, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(ReadSend::open(socket, setup)?)),
    call_without_flags: None,
};

#[derive(Debug)]
struct ReadSend {
    out: SocketWriter,
    files: Arc<FileSet>,
    buffer: Buffer,
    more: More,
}

impl ReadSend {
    fn open(socket: BorrowedFd<'_>, setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        let buffer = Buffer::new(setup)?;
        Ok(Self {
            out: SocketWriter::new(socket)?,
            files: Arc::clone(&setup.files),
            buffer,
            more: setup.more,
        })
    }
}

impl Sender for ReadSend {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let source = &self.files.files[piece.file];
        let mut done = 0;
        while done < piece.len {
            let part = self.buffer.first(piece.len - done);
            self.out.counts.calls += 1;
            let len = read(source, part, piece.offset + done as u64)?;
            let part = &part[..len];
            let more = self.more.says(done + len == piece.len);
            let call = |socket: BorrowedFd<'_>, at: usize, _| match more {
                true => tcp::send_more(socket, &part[at..]),
                false => tcp::send(socket, &part[at..]),
            };
            self.out.push(len, len, call, |error| broken("send(2)", error))?;
            done += len;
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        Ok(()) // send(2) has copied
    }

    fn go_on_with(&mut self, socket: BorrowedFd<'_>) -> Result<bool> {
        self.out.go_on_with(socket).map(|()| true)
    }

    fn counts(&self) -> SendCounts {
        self.out.counts
    }
}
