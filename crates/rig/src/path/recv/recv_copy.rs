//! `recv`: recv(2) into one buffer, which is reused and so stays in the CPU cache if it is small.

use std::os::fd::BorrowedFd;

use super::definition::Definition;
use super::receiver::{Inspect, Receiver};
use super::socket_reader::{SocketReader, buffer};
use zc_kernel::pages::Pages;
use zc_kernel::tcp;
use zc_run::{RecvCounts, Result, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(Recv::open(socket, setup.buffer_bytes)?)),
    buffers: 1,
    shows_bytes: true,
};

#[derive(Debug)]
struct Recv {
    reader: SocketReader,
    buffer: Pages,
    buffer_bytes: usize,
}

impl Recv {
    fn open(socket: BorrowedFd<'_>, buffer_bytes: usize) -> std::result::Result<Self, Unavailable> {
        Ok(Self { reader: SocketReader::new(socket)?, buffer: buffer(buffer_bytes)?, buffer_bytes })
    }
}

impl Receiver for Recv {
    fn receive(&mut self, inspect: Option<Inspect<'_>>) -> Result<usize> {
        let buffer = &mut self.buffer.as_mut_slice()[..self.buffer_bytes];
        let received = tcp::recv(&self.reader.socket, buffer);
        let received = self.reader.took("recv(2)", received)?;
        if let Some(inspect) = inspect {
            inspect(&buffer[..received]);
        }
        Ok(received)
    }

    fn counts(&self) -> RecvCounts {
        self.reader.counts
    }
}
