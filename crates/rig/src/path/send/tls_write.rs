//! `tls-write`: preadv(2) into the payloads of TLS records, each encrypted where it lies, send(2)
//! of all of them: TLS in user space with one copy out of the page cache and one into the socket.
//! (A library with the usual interface, a write(2) of plain bytes, copies once more, or encrypts
//! into another buffer.)

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::definition::Definition;
use super::sender::Sender;
use super::setup::{More, SendSetup};
use super::socket_writer::{Buffer, SocketWriter, broken, read_parts};
use crate::tls::{Layout, Sealer};
use crate::workload::{FileSet, Piece, SourceFile};
use zc_kernel::tcp;
use zc_run::{Result, SendCounts, Unavailable};

/// The most parts of a readv(2): IOV_MAX (include/uapi/linux/uio.h, UIO_MAXIOV).
const MOST_RECORDS: usize = 1024;

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(TlsWrite::open(socket, setup)?)),
    call_without_flags: None,
};

struct TlsWrite {
    out: SocketWriter,
    files: Arc<FileSet>,
    sealer: Sealer,
    layout: Layout,
    /// Payload of a record.
    payload_bytes: usize,
    /// Payload of a call.
    most: usize,
    buffer: Buffer,
    more: More,
}

impl TlsWrite {
    fn open(socket: BorrowedFd<'_>, setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        let session = setup.session()?;
        let layout = Layout::new(session.records);
        let most = setup.buffer_bytes.max(1).min(MOST_RECORDS * session.records.payload_bytes);
        let payload_bytes = session.records.payload_bytes.min(most);
        let wire_bytes = most + most.div_ceil(payload_bytes) * layout.overhead();
        Ok(Self {
            out: SocketWriter::new(socket)?,
            files: Arc::clone(&setup.files),
            sealer: Sealer::new(session),
            layout,
            payload_bytes,
            most,
            buffer: Buffer::new(&SendSetup { buffer_bytes: wire_bytes, ..setup.clone() })?,
            more: setup.more,
        })
    }

    /// Reads up to `len` bytes of a file into records. Returns how many; at least one.
    fn fill(&mut self, source: &SourceFile, len: usize, offset: u64) -> Result<usize> {
        let Self { layout, payload_bytes, buffer, .. } = self;
        let records = buffer.first(usize::MAX).chunks_mut(*payload_bytes + layout.overhead());
        let payloads = records.map(|record| {
            let most = record.len() - layout.overhead();
            &mut record[layout.before()..][..most]
        });
        read_parts(source, payloads, len, offset)
    }

    /// Encrypts the records that hold `payload` bytes. Returns how many bytes they have.
    fn seal(&mut self, payload: usize) -> usize {
        let Self { sealer, layout, payload_bytes, buffer, .. } = self;
        let wire_bytes = payload + payload.div_ceil(*payload_bytes) * layout.overhead();
        let records = buffer.first(wire_bytes).chunks_mut(*payload_bytes + layout.overhead());
        records.for_each(|record| sealer.seal(record));
        wire_bytes
    }
}

impl Sender for TlsWrite {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let files = Arc::clone(&self.files);
        let source = &files.files[piece.file];
        let mut done = 0;
        while done < piece.len {
            let part = self.most.min(piece.len - done);
            self.out.counts.calls += 1;
            let payload = self.fill(source, part, piece.offset + done as u64)?;
            let wire_bytes = self.seal(payload);
            let more = self.more.says(done + payload == piece.len);
            let sent_before = self.out.counts.bytes;
            let wire = self.buffer.first(wire_bytes);
            let call = |socket: BorrowedFd<'_>, at: usize, _| match more {
                true => tcp::send_more(socket, &wire[at..]),
                false => tcp::send(socket, &wire[at..]),
            };
            self.out.push(wire_bytes, wire_bytes, call, |error| broken("send(2)", error))?;
            self.out.counts.bytes = sent_before + payload as u64;
            self.out.counts.framing_bytes += (wire_bytes - payload) as u64;
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
