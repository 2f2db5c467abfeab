//! `sendfile`: no buffer for a client; the kernel remembers nothing but its socket.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::super::sendfile::probe;
use super::super::setup::SendSetup;
use super::super::socket_writer::broken_with_file;
use super::client_sender::{ClientSender, Offered, broken_client};
use crate::workload::{FileSet, Piece};
use zc_run::{Result, SendCounts, Unavailable};

pub(super) struct Sendfile {
    files: Arc<FileSet>,
    call_bytes: usize,
    counts: SendCounts,
}

impl Sendfile {
    pub(super) fn open(setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        probe(&setup.files)?;
        Ok(Self {
            files: Arc::clone(&setup.files),
            call_bytes: setup.call_bytes.unwrap_or(usize::MAX).max(1),
            counts: SendCounts::default(),
        })
    }
}

impl ClientSender for Sendfile {
    fn offer(&mut self, _client: usize, socket: BorrowedFd<'_>, piece: Piece) -> Result<Offered> {
        let source = &self.files.files[piece.file];
        let len = piece.len.min(self.call_bytes);
        self.counts.calls += 1;
        let sent = zc_kernel::splice::sendfile(socket, &source.file, &mut { piece.offset }, len);
        if matches!(sent, Ok(0)) {
            return Err(source.became_shorter());
        }
        Offered::by(sent, len, &mut self.counts, |error| {
            broken_with_file("sendfile(2)", source, error)
        })
    }

    fn look(&mut self, _client: usize, socket: BorrowedFd<'_>) -> Result<()> {
        broken_client(socket, "sendfile(2)")
    }

    fn counts(&self) -> SendCounts {
        self.counts
    }
}
