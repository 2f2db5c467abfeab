//! `msg-zerocopy`: send(2) with MSG_ZEROCOPY from the resident copy of the file set: the bytes are in memory already,
//! as in a server's own cache. The pages are never reused, so completions are counted and waited for only where the
//! kernel wants to have its queue emptied, and at the end.

use std::net::TcpStream;
use std::sync::Arc;

use zc_kernel::errqueue::send_zerocopy;

use super::super::{ResidentCopy, SendSetup, Sender};
use super::lending::Lending;
use super::outlet::broken;
use crate::workload::Piece;
use zc_run::{Result, SendCounts, Unavailable};

#[derive(Debug)]
pub(super) struct MsgZerocopy {
    lending: Lending,
    resident: Arc<ResidentCopy>,
    buffer_bytes: usize,
    more: bool,
}

impl MsgZerocopy {
    pub(super) fn open(socket: &TcpStream, setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        let buffer_bytes = setup.buffer_bytes.max(1);
        let lending = Lending::new(socket, buffer_bytes)?;
        Ok(Self {
            lending,
            resident: Arc::clone(setup.resident.copy_of(&setup.files, setup.pages)?),
            buffer_bytes,
            more: setup.more,
        })
    }

    #[cfg(test)]
    pub(super) fn lending(&mut self) -> &mut Lending {
        &mut self.lending
    }
}

impl Sender for MsgZerocopy {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let start = self.resident.offset(piece);
        let (pages, more) = (self.resident.pages(), self.more);
        self.lending.push(
            piece.len,
            self.buffer_bytes,
            |socket, done, part| send_zerocopy(socket, pages, start + done..start + done + part, more),
            |error| broken("MSG_ZEROCOPY", error),
        )
    }

    fn drain(&mut self) -> Result<()> {
        self.lending.drain()
    }

    fn counts(&self) -> SendCounts {
        self.lending.counts()
    }
}
