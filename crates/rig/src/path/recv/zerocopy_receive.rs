//! `zerocopy-receive`: TCP_ZEROCOPY_RECEIVE maps the pages that payload arrived in, and recv(2)
//! copies what the kernel will not map. Only whole pages of payload, each in a page of the device's
//! own, can be mapped; `mapped_bytes` counts them. On loopback and veth it is 0 for most senders,
//! because there the sender's own buffers arrive.

use std::os::fd::BorrowedFd;

use super::definition::Definition;
use super::receiver::{Inspect, Receiver};
use super::socket_reader::{SocketReader, broken, buffer};
use zc_kernel::pages::Pages;
use zc_kernel::tcp;
use zc_kernel::zerocopy_receive::{ReceiveMapping, Received};
use zc_run::{RecvCounts, Result, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(ZerocopyReceive::open(socket, setup.buffer_bytes)?)),
    buffers: 1,
    shows_bytes: true,
};

#[derive(Debug)]
struct ZerocopyReceive {
    reader: SocketReader,
    mapping: ReceiveMapping,
    buffer: Pages,
    buffer_bytes: usize,
    /// Bytes that the last call left for recv(2).
    skip_bytes: usize,
}

impl ZerocopyReceive {
    fn open(socket: BorrowedFd<'_>, buffer_bytes: usize) -> std::result::Result<Self, Unavailable> {
        let mapping = ReceiveMapping::new(socket, buffer_bytes)
            .map_err(|error| Unavailable::unsupported(format!("TCP_ZEROCOPY_RECEIVE: {error}")))?;
        let buffer = buffer(buffer_bytes)?;
        Ok(Self {
            reader: SocketReader::new(socket)?,
            mapping,
            buffer,
            buffer_bytes,
            skip_bytes: 0,
        })
    }

    /// recv(2) of at most `bytes`. Blocks while there are none.
    fn copy(&mut self, bytes: usize, inspect: Option<Inspect<'_>>) -> Result<usize> {
        let buffer = &mut self.buffer.as_mut_slice()[..bytes.min(self.buffer_bytes)];
        let received = tcp::recv(&self.reader.socket, buffer);
        let received = self.reader.took("recv(2)", received)?;
        if let Some(inspect) = inspect {
            inspect(&buffer[..received]);
        }
        Ok(received)
    }
}

impl Receiver for ZerocopyReceive {
    fn receive(&mut self, inspect: Option<Inspect<'_>>) -> Result<usize> {
        if self.skip_bytes > 0 {
            let received = self.copy(self.skip_bytes, inspect)?;
            self.skip_bytes -= received;
            return Ok(received);
        }
        let mut woken = false;
        loop {
            self.reader.counts.calls += 1;
            let received =
                self.mapping.receive().map_err(|error| broken("TCP_ZEROCOPY_RECEIVE", error))?;
            match received {
                Received::Bytes { mapped_bytes: 0, skip_bytes } => {
                    let received = self.copy(skip_bytes, inspect)?;
                    self.skip_bytes = skip_bytes - received;
                    return Ok(received);
                }
                Received::Bytes { mapped_bytes, skip_bytes } => {
                    self.skip_bytes = skip_bytes;
                    self.reader.counts.bytes += mapped_bytes as u64;
                    self.reader.counts.mapped_bytes += mapped_bytes as u64;
                    if let Some(inspect) = inspect {
                        inspect(&self.mapping.copy_mapped());
                    }
                    return Ok(mapped_bytes);
                }
                // Readable and empty: this end has been shut down, which only recv(2) reports.
                Received::Nothing if woken => return self.copy(self.buffer_bytes, inspect),
                Received::Nothing => {
                    woken = true;
                    self.reader.counts.calls += 1;
                    tcp::wait_readable_forever(&self.reader.socket)
                        .map_err(|error| broken("poll(2)", error))?;
                }
                // recv(2) returns at once, with 0 or with the error.
                Received::End => return self.copy(1, inspect),
            }
        }
    }

    fn counts(&self) -> RecvCounts {
        self.reader.counts
    }
}
