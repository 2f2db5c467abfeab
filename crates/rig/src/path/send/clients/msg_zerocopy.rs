//! `msg-zerocopy`: send(2) with MSG_ZEROCOPY from the resident copy of the file set. Completions
//! wake the program (EPOLLERR), and are read then.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::super::setup::SendSetup;
use super::super::socket_writer::broken;
use super::super::zerocopy_tracker::is_out_of_room;
use super::client_sender::{ClientSender, Offered, broken_client};
use crate::path::resident::ResidentCopy;
use crate::workload::Piece;
use zc_kernel::errqueue::{next_completion, send_zerocopy};
use zc_kernel::tcp;
use zc_run::{Error, Result, SendCounts, Unavailable};

pub(super) struct MsgZerocopy {
    resident: Arc<ResidentCopy>,
    buffer_bytes: usize,
    sends: Vec<Sends>,
    outstanding: u64,
    /// Clients to whom the kernel refused to send, for lack of room (ENOBUFS).
    refused: Vec<usize>,
    /// Completions have made room since.
    has_room: bool,
    counts: SendCounts,
}

/// The sends to a client.
#[derive(Clone, Copy, Default)]
struct Sends {
    /// SO_ZEROCOPY is set.
    prepared: bool,
    outstanding: u64,
    /// It is among those that were refused.
    is_refused: bool,
}

impl MsgZerocopy {
    pub(super) fn open(
        setup: &SendSetup,
        clients: usize,
    ) -> std::result::Result<Self, Unavailable> {
        Ok(Self {
            resident: Arc::clone(setup.resident.copy_of(&setup.files, setup.pages)?),
            buffer_bytes: setup.buffer_bytes.max(1),
            sends: vec![Sends::default(); clients],
            outstanding: 0,
            refused: Vec::new(),
            has_room: false,
            counts: SendCounts::default(),
        })
    }
}

impl ClientSender for MsgZerocopy {
    fn offer(&mut self, client: usize, socket: BorrowedFd<'_>, piece: Piece) -> Result<Offered> {
        let sends = &mut self.sends[client];
        if !sends.prepared {
            tcp::set_zerocopy(socket, true).map_err(|error| Error::os("set SO_ZEROCOPY", error))?;
            sends.prepared = true;
        }
        let start = self.resident.offset(piece);
        let len = piece.len.min(self.buffer_bytes);
        self.counts.calls += 1;
        match send_zerocopy(socket, self.resident.pages(), start..start + len, false) {
            Err(error) if is_out_of_room(&error) => {
                self.counts.enobufs += 1;
                if self.outstanding == 0 {
                    return Err(Error::failed(
                        "zero-copy-memory-limit",
                        "the kernel allows no more memory for zero-copy sends (ENOBUFS)",
                    )
                    .help("raise RLIMIT_MEMLOCK (`ulimit -l`) or net.core.optmem_max"));
                }
                // A completion makes room: this client's (net.core.optmem_max), or that of another
                // one (RLIMIT_MEMLOCK).
                if !std::mem::replace(&mut sends.is_refused, true) {
                    self.refused.push(client);
                }
                self.has_room = false;
                Ok(Offered::FULL)
            }
            sent => {
                sends.outstanding += u64::from(sent.is_ok());
                self.outstanding += u64::from(sent.is_ok());
                Offered::by(sent, len, &mut self.counts, |error| broken("MSG_ZEROCOPY", error))
            }
        }
    }

    fn look(&mut self, client: usize, socket: BorrowedFd<'_>) -> Result<()> {
        let sends = &mut self.sends[client];
        let mut found = false;
        loop {
            self.counts.calls += 1;
            let next = next_completion(socket)
                .map_err(|error| Error::os("read completions with recvmsg(2)", error))?;
            let Some(completion) = next else { break };
            found = true;
            let done = completion.sends().min(sends.outstanding);
            sends.outstanding -= done;
            self.outstanding -= done;
            self.counts.completions += done;
            if completion.copied {
                self.counts.copied += done;
            }
        }
        self.has_room |= found;
        if found { Ok(()) } else { broken_client(socket, "MSG_ZEROCOPY") }
    }

    fn refused(&mut self) -> Vec<usize> {
        if !self.has_room {
            return Vec::new();
        }
        let refused = std::mem::take(&mut self.refused);
        refused.iter().for_each(|client| self.sends[*client].is_refused = false);
        refused
    }

    fn outstanding(&self) -> u64 {
        self.outstanding
    }

    fn counts(&self) -> SendCounts {
        self.counts
    }
}
