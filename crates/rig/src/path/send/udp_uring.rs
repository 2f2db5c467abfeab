//! Datagrams by io_uring, on a tuned ring: `udp-uring` links an `IORING_OP_SEND` for each datagram
//! to the `IORING_OP_READ` that fills the buffer; `udp-uring-zc` sends several that the kernel cuts
//! by `IORING_OP_SEND_ZC`, and `udp-uring-vectored` by `IORING_OP_SENDMSG_ZC` with a part for each,
//! both from the registered copy of the files.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;

use super::datagrams::{broken_datagrams, cut_by_kernel};
use super::definition::Definition;
use super::sender::Sender;
use super::setup::SendSetup;
use super::socket_writer::begins_at;
use super::uring_error::transfer_error;
use super::uring_send_zc::UringSendZc;
use crate::path::uring::{no, own};
use crate::workload::{FileSet, Piece};
use zc_kernel::uring::{ReadSendBatch, TransferError, ZeroCopySends};
use zc_run::{Result, SendCounts, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(Copied::open(socket, setup)?)),
    call_without_flags: None,
};

pub(super) const ZC_PATH: Definition = Definition {
    open: |socket, setup| {
        cut_by_kernel(socket, setup.datagrams)?;
        let bytes = setup.datagrams.call_bytes();
        Ok(Box::new(UringSendZc::of_datagrams(socket, setup, ZeroCopySends::Linked, bytes)?))
    },
    call_without_flags: None,
};

pub(super) const VECTORED_PATH: Definition = Definition {
    open: |socket, setup| {
        cut_by_kernel(socket, setup.datagrams)?;
        let bytes = setup.datagrams.payload_bytes;
        Ok(Box::new(UringSendZc::of_datagrams(socket, setup, ZeroCopySends::Vectored, bytes)?))
    },
    call_without_flags: None,
};

struct Copied {
    ring: ReadSendBatch,
    files: Arc<FileSet>,
    bytes: u64,
}

impl Copied {
    fn open(socket: BorrowedFd<'_>, setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        let files = Arc::clone(&setup.files);
        let descriptors: Vec<_> = files.files.iter().map(|source| source.file.as_fd()).collect();
        let payload_bytes = setup.datagrams.payload_bytes;
        let align = begins_at(setup.align);
        let ring =
            ReadSendBatch::new(own(socket)?, &descriptors, payload_bytes, align, false, setup.cpu)
                .map(|ring| ring.in_chains_of(setup.datagrams.of_a_call))
                .map_err(no)?;
        Ok(Self { ring, files, bytes: 0 })
    }
}

impl Sender for Copied {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let source = &self.files.files[piece.file];
        let sent = self.ring.send(piece.file, source.file.as_fd(), piece.offset, piece.len);
        sent.map_err(|error| match error {
            TransferError::Socket(error) => broken_datagrams(error),
            error => transfer_error(source, error),
        })?;
        self.bytes += piece.len as u64;
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        Ok(()) // the kernel has copied
    }

    fn counts(&self) -> SendCounts {
        let (calls, short) = (self.ring.calls(), self.ring.short());
        SendCounts { bytes: self.bytes, calls, short, ..SendCounts::default() }
    }
}
