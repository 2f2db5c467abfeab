//! `uring-send-batch` and `uring-send-bundle`: one `IORING_OP_READ` fills up to 64 buffers of a
//! megabyte together, on a tuned ring. The first links an `IORING_OP_SEND` of each buffer to it,
//! the second offers the buffers to the kernel and links one send of all of them
//! (`IORING_RECVSEND_BUNDLE`).

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::datagrams::broken_datagrams;
use super::definition::Definition;
use super::sender::Sender;
use super::setup::{More, SendSetup};
use super::socket_writer::begins_at;
use super::uring_error::transfer_error;
use crate::path::uring::{no, own};
use crate::workload::{FileSet, Piece, SourceFile};
use zc_kernel::uring::{ReadSendBatch, SendBundle, TransferError};
use zc_run::{Datagrams, Error, Result, SendCounts, Unavailable};

/// `uring-send-batch`.
pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(UringSendBatch::<ReadSendBatch>::open(socket, setup)?)),
    call_without_flags: None,
};

/// `uring-send-bundle`.
pub(super) const BUNDLE_PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(UringSendBatch::<SendBundle>::open(socket, setup)?)),
    call_without_flags: None,
};

pub(super) struct UringSendBatch<R> {
    ring: R,
    files: Arc<FileSet>,
    bytes: u64,
    /// Explains the error of a transfer of a file.
    explain: fn(&SourceFile, TransferError) -> Error,
}

/// What the two rings have in common.
pub(super) trait Ring: Sized {
    fn new(
        socket: BorrowedFd<'_>,
        files: &[BorrowedFd<'_>],
        setup: &SendSetup,
    ) -> std::result::Result<Self, Unavailable>;

    fn send(
        &mut self,
        index: usize,
        file: BorrowedFd<'_>,
        offset: u64,
        len: usize,
    ) -> std::result::Result<(), TransferError>;

    fn calls(&self) -> u64;

    fn short(&self) -> u64;
}

macro_rules! ring {
    ($ring:ident) => {
        impl Ring for $ring {
            fn new(
                socket: BorrowedFd<'_>,
                files: &[BorrowedFd<'_>],
                setup: &SendSetup,
            ) -> std::result::Result<Self, Unavailable> {
                $ring::new(
                    own(socket)?,
                    files,
                    setup.buffer_bytes,
                    begins_at(setup.align),
                    setup.more == More::Always,
                    setup.cpu,
                )
                .map_err(no)
            }

            fn send(
                &mut self,
                index: usize,
                file: BorrowedFd<'_>,
                offset: u64,
                len: usize,
            ) -> std::result::Result<(), TransferError> {
                $ring::send(self, index, file, offset, len)
            }

            fn calls(&self) -> u64 {
                $ring::calls(self)
            }

            fn short(&self) -> u64 {
                $ring::short(self)
            }
        }
    };
}

ring!(ReadSendBatch);
ring!(SendBundle);

impl<R: Ring> UringSendBatch<R> {
    fn open(socket: BorrowedFd<'_>, setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        let files = Arc::clone(&setup.files);
        let descriptors: Vec<_> = files.files.iter().map(|source| source.file.as_fd()).collect();
        let ring = R::new(socket, &descriptors, setup)?;
        Ok(Self { ring, files, bytes: 0, explain: transfer_error })
    }
}

impl UringSendBatch<ReadSendBatch> {
    /// A send for each datagram, and a chain of so many as a call takes.
    pub(super) fn of_datagrams(
        socket: BorrowedFd<'_>,
        setup: &SendSetup,
    ) -> std::result::Result<Self, Unavailable> {
        let Datagrams { payload_bytes, of_a_call } = setup.datagrams;
        let own = Self::open(socket, &SendSetup { buffer_bytes: payload_bytes, ..setup.clone() })?;
        let explain = |source: &SourceFile, error| match error {
            TransferError::Socket(error) => broken_datagrams(error),
            error => transfer_error(source, error),
        };
        Ok(Self { ring: own.ring.in_chains_of(of_a_call), explain, ..own })
    }
}

impl<R: Ring> Sender for UringSendBatch<R> {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let source = &self.files.files[piece.file];
        self.ring
            .send(piece.file, source.file.as_fd(), piece.offset, piece.len)
            .map_err(|error| (self.explain)(source, error))?;
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
