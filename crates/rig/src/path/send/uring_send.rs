//! `uring-send`: `IORING_OP_READ` into a buffer linked to `IORING_OP_SEND` out of it, up to sixteen
//! such pairs in one io_uring_enter(2).

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::definition::Definition;
use super::sender::Sender;
use super::setup::{More, SendSetup};
use super::socket_writer::begins_at;
use super::uring_error::transfer_error;
use crate::path::uring::{no, own};
use crate::workload::{FileSet, Piece};
use zc_kernel::uring::ReadSend;
use zc_run::{Result, SendCounts, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(UringSend::open(socket, setup)?)),
    call_without_flags: None,
};

struct UringSend {
    ring: ReadSend,
    files: Arc<FileSet>,
    bytes: u64,
}

impl UringSend {
    fn open(socket: BorrowedFd<'_>, setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        let ring = ReadSend::new(
            own(socket)?,
            setup.buffer_bytes,
            begins_at(setup.align),
            setup.more == More::Always,
            setup.cpu,
        )
        .map_err(no)?;
        Ok(Self { ring, files: Arc::clone(&setup.files), bytes: 0 })
    }
}

impl Sender for UringSend {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let source = &self.files.files[piece.file];
        self.ring
            .send(source.file.as_fd(), piece.offset, piece.len)
            .map_err(|error| transfer_error(source, error))?;
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
