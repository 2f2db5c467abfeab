//! `udp-recvmsg` and `udp-gro`: recvmsg(2) of a datagram, or of several that the kernel has joined
//! (UDP_GRO).

use std::os::fd::BorrowedFd;

use super::definition::Definition;
use super::receiver::{Inspect, Receiver};
use super::socket_reader::{SocketReader, buffer};
use zc_kernel::pages::Pages;
use zc_kernel::udp;
use zc_run::{RecvCounts, Result, Unavailable};

/// What the kernel joins is shorter (GRO_LEGACY_MAX_SIZE, include/linux/netdevice.h).
const JOINED_BYTES: usize = 1 << 16;

pub(super) const ONE_PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(Joined::open(socket, setup.datagram_bytes)?)),
    buffers: 1,
    shows_bytes: true,
};

pub(super) const JOINED_PATH: Definition = Definition {
    open: |socket, _| Ok(Box::new(Joined::joining(socket)?)),
    buffers: 1,
    shows_bytes: true,
};

/// The receiving half of both, and of `quic-recv`.
pub(super) struct Joined {
    pub(super) reader: SocketReader,
    pub(super) buffer: Pages,
    buffer_bytes: usize,
}

impl Joined {
    /// Takes datagrams one by one, each of at most `datagram_bytes`.
    fn open(
        socket: BorrowedFd<'_>,
        datagram_bytes: usize,
    ) -> std::result::Result<Self, Unavailable> {
        Ok(Self {
            reader: SocketReader::new(socket)?,
            buffer: buffer(datagram_bytes)?,
            buffer_bytes: datagram_bytes,
        })
    }

    /// Takes as many as the kernel has joined.
    pub(super) fn joining(socket: BorrowedFd<'_>) -> std::result::Result<Self, Unavailable> {
        udp::set_joins(socket)
            .map_err(|error| Unavailable::unsupported(format!("UDP_GRO: {error}")))?;
        Self::open(socket, JOINED_BYTES)
    }

    /// Takes the next ones into the buffer.
    pub(super) fn take(&mut self) -> Result<udp::Joined> {
        let into = &mut self.buffer.as_mut_slice()[..self.buffer_bytes];
        let received = udp::recv_joined(&self.reader.socket, into);
        let datagram_bytes = received.as_ref().map_or(1, |joined| joined.datagram_bytes);
        let bytes = self.reader.took("recvmsg(2)", received.map(|joined| joined.bytes))?;
        Ok(udp::Joined { bytes, datagram_bytes })
    }
}

impl Receiver for Joined {
    fn receive(&mut self, inspect: Option<Inspect<'_>>) -> Result<usize> {
        let received = self.take()?.bytes;
        if let Some(inspect) = inspect {
            inspect(&self.buffer.as_slice()[..received]);
        }
        Ok(received)
    }

    fn counts(&self) -> RecvCounts {
        self.reader.counts
    }
}
