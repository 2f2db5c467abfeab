//! `udp-recvmmsg`: recvmmsg(2) of the datagrams that have arrived, each into a part of the buffer.

use std::os::fd::BorrowedFd;

use super::definition::Definition;
use super::receiver::{Inspect, Receiver};
use super::setup::RecvSetup;
use super::socket_reader::{SocketReader, buffer};
use zc_kernel::pages::Pages;
use zc_kernel::udp::Batch;
use zc_run::{RecvCounts, Result, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(Recvmmsg::open(socket, setup)?)),
    buffers: 1,
    shows_bytes: true,
};

struct Recvmmsg {
    reader: SocketReader,
    batch: Batch,
    buffer: Pages,
    datagram_bytes: usize,
    /// Lengths of the datagrams of the last call.
    lengths: Vec<usize>,
}

impl Recvmmsg {
    fn open(socket: BorrowedFd<'_>, setup: &RecvSetup) -> std::result::Result<Self, Unavailable> {
        let datagram_bytes = setup.datagram_bytes;
        let most = (setup.buffer_bytes / datagram_bytes).max(1);
        Ok(Self {
            reader: SocketReader::new(socket)?,
            batch: Batch::new(most),
            buffer: buffer(most * datagram_bytes)?,
            datagram_bytes,
            lengths: Vec::with_capacity(most),
        })
    }

    /// Whether the last call has taken the empty datagram that ends the transfer.
    fn has_ended(&self) -> bool {
        self.lengths.last() == Some(&0)
    }
}

impl Receiver for Recvmmsg {
    fn receive(&mut self, inspect: Option<Inspect<'_>>) -> Result<usize> {
        if self.has_ended() {
            self.lengths.clear();
            return Ok(0);
        }
        let Self { reader, batch, buffer, datagram_bytes, lengths } = self;
        lengths.clear();
        let whole = buffer.len() / *datagram_bytes * *datagram_bytes;
        let into = &mut buffer.as_mut_slice()[..whole];
        let received = batch.receive(&reader.socket, into, *datagram_bytes).map(|taken| {
            lengths.extend(taken);
            lengths.iter().sum()
        });
        let received = reader.took("recvmmsg(2)", received)?;
        if let Some(inspect) = inspect {
            let parts = buffer.as_slice().chunks(*datagram_bytes);
            parts.zip(lengths.iter()).for_each(|(part, length)| inspect(&part[..*length]));
        }
        Ok(received)
    }

    fn counts(&self) -> RecvCounts {
        self.reader.counts
    }
}
