//! `recv-trunc`: recv(2) with MSG_TRUNC, with which TCP drops the bytes without copying them. No
//! program can use them: this is a lower bound of the cost of all receivers, and not a receiver.

use std::os::fd::BorrowedFd;

use super::definition::Definition;
use super::receiver::{Inspect, Receiver};
use super::socket_reader::SocketReader;
use zc_kernel::tcp;
use zc_run::{RecvCounts, Result, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(RecvTrunc::open(socket, setup.buffer_bytes)?)),
    buffers: 1,
    shows_bytes: false,
};

#[derive(Debug)]
struct RecvTrunc {
    reader: SocketReader,
    buffer_bytes: usize,
}

impl RecvTrunc {
    fn open(socket: BorrowedFd<'_>, buffer_bytes: usize) -> std::result::Result<Self, Unavailable> {
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
