//! `tls-recv`: recv(2) into one buffer, in which TLS records are decrypted in user space.

use std::os::fd::BorrowedFd;

use super::definition::Definition;
use super::receiver::{Inspect, Receiver};
use super::setup::RecvSetup;
use super::socket_reader::{SocketReader, buffer};
use crate::tls::{Opener, not_decrypted};
use zc_kernel::pages::Pages;
use zc_kernel::tcp;
use zc_run::{RecvCounts, Result, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(TlsRecv::open(socket, setup)?)),
    buffers: 1,
    shows_bytes: true,
};

struct TlsRecv {
    reader: SocketReader,
    opener: Opener,
    /// Holds what a call brings, after the beginning of a record that has not arrived as a whole.
    buffer: Pages,
    buffer_bytes: usize,
    /// Bytes of that beginning.
    begun: usize,
}

impl TlsRecv {
    fn open(socket: BorrowedFd<'_>, setup: &RecvSetup) -> std::result::Result<Self, Unavailable> {
        let opener = Opener::new(setup.session()?);
        let buffer_bytes = setup.buffer_bytes;
        Ok(Self {
            reader: SocketReader::new(socket)?,
            buffer: buffer(opener.longest().saturating_add(buffer_bytes))?,
            opener,
            buffer_bytes,
            begun: 0,
        })
    }

    /// Decrypts all whole records among the first `filled` bytes, and moves what remains to the
    /// front. Returns the bytes of their payload.
    fn decrypt(&mut self, filled: usize, inspect: &mut Option<Inspect<'_>>) -> Result<usize> {
        let buffer = self.buffer.as_mut_slice();
        let (mut at, mut sum) = (0, 0);
        while let Some((length, payload)) = self.opener.open(&mut buffer[at..filled])? {
            sum += payload.len();
            if let Some(inspect) = inspect {
                inspect(&buffer[at..][payload]);
            }
            at += length;
        }
        buffer.copy_within(at..filled, 0);
        self.begun = filled - at;
        Ok(sum)
    }
}

impl Receiver for TlsRecv {
    fn receive(&mut self, mut inspect: Option<Inspect<'_>>) -> Result<usize> {
        loop {
            let room = &mut self.buffer.as_mut_slice()[self.begun..][..self.buffer_bytes];
            let received = tcp::recv(&self.reader.socket, room);
            let counted = self.reader.counts.bytes;
            let received = self.reader.took("recv(2)", received)?;
            if received == 0 {
                return if self.begun == 0 { Ok(0) } else { Err(not_decrypted()) };
            }
            let payload = self.decrypt(self.begun + received, &mut inspect)?;
            self.reader.counts.bytes = counted + payload as u64;
            if payload > 0 {
                return Ok(payload);
            }
        }
    }

    fn counts(&self) -> RecvCounts {
        self.reader.counts
    }
}
