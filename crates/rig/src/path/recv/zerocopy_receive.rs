//! `zerocopy-receive`: TCP_ZEROCOPY_RECEIVE maps the pages that payload arrived in, and copies what
//! it cannot map into a buffer in the same call; recv(2) copies what is left. Only whole pages of
//! payload, each in a page of the device's own, can be mapped; `mapped_bytes` counts them. On
//! loopback and veth it is 0 for most senders, because there the sender's own buffers arrive.

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

/// Bytes that wake the receiver (SO_RCVLOWAT), at most. The kernel maps the more pages in a call
/// the more are queued. tools/testing/selftests/net/tcp_mmap.c waits for all that its mapping holds,
/// 512 KiB. Less is waited for here, so that a window of a trial at a low rate sees bytes arrive.
const AWAITED_BYTES: usize = 64 << 10;

#[derive(Debug)]
struct ZerocopyReceive {
    reader: SocketReader,
    mapping: ReceiveMapping,
    buffer: Pages,
    buffer_bytes: usize,
    /// SO_RCVLOWAT.
    awaited_bytes: usize,
    /// Bytes that the last call left for recv(2).
    skip_bytes: usize,
    /// Bytes that the last call left in the queue, those for recv(2) included.
    queued_bytes: usize,
    /// Whether the last call filled the mapping.
    filled: bool,
}

impl ZerocopyReceive {
    fn open(socket: BorrowedFd<'_>, buffer_bytes: usize) -> std::result::Result<Self, Unavailable> {
        let mapping = ReceiveMapping::new(socket, buffer_bytes)
            .map_err(|error| Unavailable::unsupported(format!("TCP_ZEROCOPY_RECEIVE: {error}")))?;
        let buffer = buffer(buffer_bytes)?;
        let awaited_bytes = tcp::set_rcvlowat(socket, buffer_bytes.min(AWAITED_BYTES))
            .and_then(|()| tcp::rcvlowat(socket))
            .map_err(|error| Unavailable::failed(format!("SO_RCVLOWAT: {error}")))?;
        Ok(Self {
            reader: SocketReader::new(socket)?,
            mapping,
            buffer,
            buffer_bytes,
            awaited_bytes: awaited_bytes.clamp(1, buffer_bytes),
            skip_bytes: 0,
            queued_bytes: 0,
            filled: false,
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

    /// The same for what the last call left for recv(2).
    fn copy_skipped(&mut self, inspect: Option<Inspect<'_>>) -> Result<usize> {
        let received = self.copy(self.skip_bytes, inspect)?;
        self.skip_bytes -= received;
        self.queued_bytes = self.queued_bytes.saturating_sub(received);
        Ok(received)
    }
}

impl Receiver for ZerocopyReceive {
    fn receive(&mut self, inspect: Option<Inspect<'_>>) -> Result<usize> {
        if self.skip_bytes > 0 {
            return self.copy_skipped(inspect);
        }
        if self.queued_bytes < self.awaited_bytes {
            self.reader.counts.calls += 1;
            tcp::wait_readable_forever(&self.reader.socket)
                .map_err(|error| broken("poll(2)", error))?;
        }
        self.reader.counts.calls += 1;
        // The kernel copies all that is queued if the buffer holds it: one that does not hold what
        // was waited for leaves it the pages to map. It also copies the rest of the packet in whose
        // middle the mapping ended (tcp_zc_handle_leftover), pages that the next call could map.
        let copied = if self.filled { 0 } else { self.awaited_bytes - 1 };
        let buffer = &mut self.buffer.as_mut_slice()[..copied];
        let received =
            self.mapping.receive(buffer).map_err(|error| broken("TCP_ZEROCOPY_RECEIVE", error))?;
        match received {
            Received::Bytes { mapped_bytes, copied_bytes, skip_bytes, queued_bytes } => {
                (self.skip_bytes, self.queued_bytes) = (skip_bytes, queued_bytes);
                self.filled = mapped_bytes == self.mapping.len();
                let received = mapped_bytes + copied_bytes;
                if received == 0 {
                    return self.copy_skipped(inspect);
                }
                self.reader.counts.bytes += received as u64;
                self.reader.counts.mapped_bytes += mapped_bytes as u64;
                if let Some(inspect) = inspect {
                    inspect(&self.mapping.copy_mapped());
                    inspect(&buffer[..copied_bytes]);
                }
                Ok(received)
            }
            // Readable and empty: this end has been shut down, which only recv(2) reports.
            Received::Nothing => self.copy(self.buffer_bytes, inspect),
            // recv(2) returns at once, with 0 or with the error.
            Received::End => self.copy(1, inspect),
        }
    }

    fn counts(&self) -> RecvCounts {
        self.reader.counts
    }
}
