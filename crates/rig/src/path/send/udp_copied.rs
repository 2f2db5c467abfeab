//! `udp-send`, `udp-sendmmsg` and `udp-gso`: pread(2) of whole datagrams into a buffer, and a call
//! for one or for several of them. Only the call differs.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::datagrams::{broken_datagrams, cut_by_kernel};
use super::definition::Definition;
use super::sender::Sender;
use super::setup::SendSetup;
use super::socket_writer::{Buffer, SocketWriter, read};
use crate::workload::{FileSet, Piece};
use zc_kernel::tcp;
use zc_kernel::udp::Batch;
use zc_run::{Datagrams, Result, SendCounts, Unavailable};

pub(super) const SEND_PATH: Definition = Definition {
    open: |socket, setup| {
        let call = |socket: BorrowedFd<'_>, bytes: &[u8]| tcp::send(socket, bytes);
        Ok(Box::new(Copied::open(socket, setup, call)?))
    },
    call_without_flags: None,
};

pub(super) const SENDMMSG_PATH: Definition = Definition {
    open: |socket, setup| {
        let Datagrams { payload_bytes, of_a_call } = setup.datagrams;
        let mut batch = Batch::new(of_a_call);
        let call =
            move |socket: BorrowedFd<'_>, bytes: &[u8]| batch.send(socket, bytes, payload_bytes);
        Ok(Box::new(Copied::open(socket, setup, call)?))
    },
    call_without_flags: None,
};

pub(super) const GSO_PATH: Definition = Definition {
    open: |socket, setup| {
        cut_by_kernel(socket, setup.datagrams)?;
        let call = |socket: BorrowedFd<'_>, bytes: &[u8]| tcp::send(socket, bytes);
        Ok(Box::new(Copied::open(socket, setup, call)?))
    },
    call_without_flags: None,
};

/// Sends bytes that are whole datagrams, at most those of a call; returns how many bytes were
/// taken.
struct Copied<C> {
    out: SocketWriter,
    files: Arc<FileSet>,
    buffer: Buffer,
    call_bytes: usize,
    call: C,
}

impl<C: FnMut(BorrowedFd<'_>, &[u8]) -> io::Result<usize>> Copied<C> {
    fn open(
        socket: BorrowedFd<'_>,
        setup: &SendSetup,
        call: C,
    ) -> std::result::Result<Self, Unavailable> {
        // Whole datagrams, so that only a piece's last one is short.
        let payload_bytes = setup.datagrams.payload_bytes;
        let whole_bytes = setup.buffer_bytes / payload_bytes * payload_bytes;
        let call_bytes = setup.datagrams.call_bytes();
        let buffer_bytes = whole_bytes.max(call_bytes);
        Ok(Self {
            out: SocketWriter::new(socket)?,
            files: Arc::clone(&setup.files),
            buffer: Buffer::new(&SendSetup { buffer_bytes, ..setup.clone() })?,
            call_bytes,
            call,
        })
    }
}

impl<C: FnMut(BorrowedFd<'_>, &[u8]) -> io::Result<usize>> Sender for Copied<C> {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let source = &self.files.files[piece.file];
        let mut done = 0;
        while done < piece.len {
            let part = self.buffer.first(piece.len - done);
            self.out.counts.calls += 1;
            let len = read(source, part, piece.offset + done as u64)?;
            let (bytes, own) = (&part[..len], &mut self.call);
            let call =
                |socket: BorrowedFd<'_>, at: usize, part: usize| own(socket, &bytes[at..at + part]);
            self.out.push(len, self.call_bytes, call, broken_datagrams)?;
            done += len;
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        Ok(()) // the kernel has copied
    }

    fn counts(&self) -> SendCounts {
        self.out.counts
    }
}
