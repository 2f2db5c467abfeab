//! `recv-trunc`: recv(2) with MSG_TRUNC, by which TCP drops the bytes without copying them. No program can do
//! anything with them: what it measures is a bound for all receivers, and no receiver.

use std::net::TcpStream;

use zc_kernel::tcp;

use super::super::{Inspect, Receiver};
use super::inlet::Inlet;
use zc_run::{RecvCounts, Result, Unavailable};

#[derive(Debug)]
pub(super) struct RecvTrunc {
    inlet: Inlet,
    buffer_bytes: usize,
}

impl RecvTrunc {
    pub(super) fn open(socket: &TcpStream, buffer_bytes: usize) -> std::result::Result<Self, Unavailable> {
        Ok(Self { inlet: Inlet::new(socket)?, buffer_bytes })
    }
}

impl Receiver for RecvTrunc {
    fn receive(&mut self, _inspect: Option<Inspect<'_>>) -> Result<usize> {
        let received = tcp::recv_discard(&self.inlet.socket, self.buffer_bytes);
        self.inlet.took("recv(2)", received)
    }

    fn counts(&self) -> RecvCounts {
        self.inlet.counts
    }
}
