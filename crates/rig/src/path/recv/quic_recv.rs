//! `quic-recv`: recvmsg(2) of the datagrams that the kernel has joined (UDP_GRO), each decrypted
//! where it lies.

use std::os::fd::BorrowedFd;

use super::definition::Definition;
use super::receiver::{Inspect, Receiver};
use super::setup::RecvSetup;
use super::udp_joined::Joined;
use crate::quic::PacketOpener;
use zc_run::{RecvCounts, Result, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(QuicRecv::open(socket, setup)?)),
    buffers: 1,
    shows_bytes: true,
};

struct QuicRecv {
    joined: Joined,
    opener: PacketOpener,
}

impl QuicRecv {
    fn open(socket: BorrowedFd<'_>, setup: &RecvSetup) -> std::result::Result<Self, Unavailable> {
        let opener = PacketOpener::new(setup.session()?);
        Ok(Self { joined: Joined::joining(socket)?, opener })
    }
}

impl Receiver for QuicRecv {
    fn receive(&mut self, mut inspect: Option<Inspect<'_>>) -> Result<usize> {
        let before = self.joined.reader.counts.bytes;
        let taken = self.joined.take()?;
        let mut payload_bytes = 0;
        let datagrams = &mut self.joined.buffer.as_mut_slice()[..taken.bytes];
        for datagram in datagrams.chunks_mut(taken.datagram_bytes) {
            let payload = self.opener.open(datagram)?;
            payload_bytes += payload.len();
            if let Some(inspect) = &mut inspect {
                inspect(payload);
            }
        }
        self.joined.reader.counts.bytes = before + payload_bytes as u64;
        Ok(payload_bytes)
    }

    fn counts(&self) -> RecvCounts {
        self.joined.reader.counts
    }
}
