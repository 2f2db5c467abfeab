//! `quic-like`: preadv(2) into the payloads of QUIC's packets, each encrypted where it lies and its
//! header protected, and a send(2) for several, which the kernel cuts into datagrams. That is what
//! an implementation of QUIC cannot leave out; frames, acknowledgements and pacing are not there.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::datagrams::{broken_datagrams, cut_by_kernel};
use super::definition::Definition;
use super::sender::Sender;
use super::setup::SendSetup;
use super::socket_writer::{Buffer, SocketWriter, read_parts};
use crate::quic::{HEADER_BYTES, OVERHEAD_BYTES, PacketSealer};
use crate::workload::{FileSet, Piece};
use zc_kernel::tcp;
use zc_run::{Result, SendCounts, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(QuicLike::open(socket, setup)?)),
    call_without_flags: None,
};

struct QuicLike {
    out: SocketWriter,
    files: Arc<FileSet>,
    sealer: PacketSealer,
    buffer: Buffer,
    datagram_bytes: usize,
    /// Payload of a call.
    most: usize,
}

impl QuicLike {
    fn open(socket: BorrowedFd<'_>, setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        let session = setup.session()?;
        cut_by_kernel(socket, setup.datagrams)?;
        let datagram_bytes = setup.datagrams.payload_bytes;
        let buffer_bytes = setup.datagrams.call_bytes();
        Ok(Self {
            out: SocketWriter::new(socket)?,
            files: Arc::clone(&setup.files),
            sealer: PacketSealer::new(session),
            buffer: Buffer::new(&SendSetup { buffer_bytes, ..setup.clone() })?,
            datagram_bytes,
            most: (datagram_bytes - OVERHEAD_BYTES) * setup.datagrams.of_a_call,
        })
    }
}

impl Sender for QuicLike {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let source = &self.files.files[piece.file];
        let Self { out, sealer, buffer, datagram_bytes, most, .. } = self;
        let payload_bytes = *datagram_bytes - OVERHEAD_BYTES;
        let mut done = 0;
        while done < piece.len {
            let part = (*most).min(piece.len - done);
            let payloads = buffer.first(usize::MAX).chunks_mut(*datagram_bytes);
            let payloads = payloads.map(|packet| &mut packet[HEADER_BYTES..][..payload_bytes]);
            out.counts.calls += 1;
            let payload = read_parts(source, payloads, part, piece.offset + done as u64)?;
            let wire_bytes = payload + payload.div_ceil(payload_bytes) * OVERHEAD_BYTES;
            let wire = buffer.first(wire_bytes);
            wire.chunks_mut(*datagram_bytes).for_each(|packet| sealer.seal(packet));
            let sent_before = out.counts.bytes;
            let call = |socket: BorrowedFd<'_>, at: usize, _| tcp::send(socket, &wire[at..]);
            out.push(wire_bytes, wire_bytes, call, broken_datagrams)?;
            out.counts.bytes = sent_before + payload as u64;
            out.counts.framing_bytes += (wire_bytes - payload) as u64;
            done += payload;
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        Ok(()) // send(2) has copied
    }

    fn counts(&self) -> SendCounts {
        self.out.counts
    }
}
