//! `recv`: recv(2) into one buffer, which is used again and again and so stays in the cache when it is small.

use std::net::TcpStream;

use zc_kernel::pages::Pages;
use zc_kernel::tcp;

use super::super::{Inspect, Receiver};
use super::socket_reader::{SocketReader, buffer};
use zc_run::{RecvCounts, Result, Unavailable};

#[derive(Debug)]
pub(super) struct Recv {
    reader: SocketReader,
    buffer: Pages,
    buffer_bytes: usize,
}

impl Recv {
    pub(super) fn open(
        socket: &TcpStream,
        buffer_bytes: usize,
    ) -> std::result::Result<Self, Unavailable> {
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
