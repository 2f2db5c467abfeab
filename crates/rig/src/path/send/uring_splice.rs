//! `uring-splice`: `IORING_OP_SPLICE` from the file into a pipe, linked to another from the pipe
//! into the socket.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::definition::Definition;
use super::sender::Sender;
use super::setup::{More, SendSetup};
use super::socket_writer::calls_of;
use super::splice::{PIPE_BYTES, pipe, probe};
use super::uring_error::transfer_error;
use crate::path::uring::{no, own};
use crate::workload::{FileSet, Piece};
use zc_kernel::uring::Splice;
use zc_run::{Result, SendCounts, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(UringSplice::open(socket, setup)?)),
    call_without_flags: None,
};

struct UringSplice {
    ring: Splice,
    files: Arc<FileSet>,
    bytes: u64,
    call_bytes: Option<usize>,
    more: More,
}

impl UringSplice {
    fn open(socket: BorrowedFd<'_>, setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        probe(setup)?;
        let ring = Splice::new(own(socket)?, pipe(PIPE_BYTES)?, setup.cpu).map_err(no)?;
        Ok(Self {
            ring,
            files: Arc::clone(&setup.files),
            bytes: 0,
            call_bytes: setup.call_bytes,
            more: setup.more,
        })
    }
}

impl Sender for UringSplice {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let source = &self.files.files[piece.file];
        for call in calls_of(piece, self.call_bytes) {
            let is_last = call.offset + call.len as u64 == piece.offset + piece.len as u64;
            let more = self.more.says(is_last);
            let sent = self.ring.send(source.file.as_fd(), call.offset, call.len, more);
            sent.map_err(|error| transfer_error(source, error))?;
        }
        self.bytes += piece.len as u64;
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        Ok(())
    }

    fn counts(&self) -> SendCounts {
        SendCounts {
            bytes: self.bytes,
            calls: self.ring.calls(),
            short: self.ring.short(),
            ..SendCounts::default()
        }
    }
}
