//! `read+send`: each client has a buffer, which holds what was read for it and not sent yet, as
//! nginx's `output_buffers`.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::super::setup::SendSetup;
use super::super::socket_writer::{begins_at, broken, read};
use super::client_sender::{ClientSender, Offered, broken_client};
use crate::workload::{FileSet, Piece};
use zc_kernel::pages::{Pages, page_size};
use zc_kernel::tcp;
use zc_run::{Result, SendCounts, Unavailable};

pub(super) struct ReadSend {
    files: Arc<FileSet>,
    /// The buffers of all clients, one after the other, each from the beginning of a page on. The
    /// kernel gives the pages as they are first read into.
    buffers: Pages,
    apart_bytes: usize,
    begins_at: usize,
    buffer_bytes: usize,
    /// The part of each buffer that is still to be sent.
    held: Vec<Held>,
    counts: SendCounts,
}

/// What a buffer holds.
#[derive(Clone, Copy, Default)]
struct Held {
    from: usize,
    to: usize,
}

impl ReadSend {
    pub(super) fn open(
        setup: &SendSetup,
        clients: usize,
    ) -> std::result::Result<Self, Unavailable> {
        let buffer_bytes = setup.buffer_bytes.max(1);
        let begins_at = begins_at(setup.align);
        let apart_bytes = (buffer_bytes + begins_at).next_multiple_of(page_size());
        let bytes = apart_bytes.saturating_mul(clients);
        let buffers = Pages::new(bytes).map_err(|error| {
            Unavailable::failed(format!(
                "{clients} buffers of {buffer_bytes} bytes need {bytes} bytes of memory: {error}"
            ))
            .remedy("fewer --clients, or a smaller --buffer")
        })?;
        Ok(Self {
            files: Arc::clone(&setup.files),
            buffers,
            apart_bytes,
            begins_at,
            buffer_bytes,
            held: vec![Held::default(); clients],
            counts: SendCounts::default(),
        })
    }
}

impl ClientSender for ReadSend {
    fn offer(&mut self, client: usize, socket: BorrowedFd<'_>, piece: Piece) -> Result<Offered> {
        let place = client * self.apart_bytes + self.begins_at;
        let buffer = &mut self.buffers.as_mut_slice()[place..place + self.buffer_bytes];
        let held = &mut self.held[client];
        if held.from == held.to {
            let most = self.buffer_bytes.min(piece.len);
            self.counts.calls += 1;
            let len = read(&self.files.files[piece.file], &mut buffer[..most], piece.offset)?;
            *held = Held { from: 0, to: len };
        }
        let bytes = &buffer[held.from..held.to];
        self.counts.calls += 1;
        let sent = tcp::send(socket, bytes);
        let offered =
            Offered::by(sent, bytes.len(), &mut self.counts, |error| broken("send(2)", error))?;
        held.from += offered.taken;
        Ok(offered)
    }

    fn look(&mut self, _client: usize, socket: BorrowedFd<'_>) -> Result<()> {
        broken_client(socket, "send(2)")
    }

    fn counts(&self) -> SendCounts {
        self.counts
    }
}
