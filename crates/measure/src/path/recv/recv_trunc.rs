//! `recv-trunc`: recv(2) with MSG_TRUNC, by which TCP drops the bytes without copying them. No program can do
//! anything with them: what it measures is a bound for all receivers, and no receiver.

use std::net::TcpStream;

use zc_kernel::tcp;

use super::super::{Inspect, Receiver};
use super::socket_reader::SocketReader;
use zc_run::{RecvCounts, Result, Unavailable};

#[derive(Debug)]
pub(super) struct RecvTrunc {
    reader: SocketReader,
    buffer_bytes: usize,
}

impl RecvTrunc {
    pub(super) fn open(
        socket: &TcpStream,
        buffer_bytes: usize,
    ) -> std::result::Result<Self, Unavailable> {
        Ok(Self { reader: SocketReader::new(socket)?, buffer_bytes })
    }
}

impl Receiver for RecvTrunc {
    fn receive(&mut self, _inspect: Option<Inspect<'_>>) -> Result<usize> {
        let received = tcp::recv_discard(&self.reader.socket, self.buffer_bytes);
        self.reader.took("recv(2)", received)
    }

    fn counts(&self) -> RecvCounts {
        self.reader.counts
    }
}
