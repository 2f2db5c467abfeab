//! `recv+send`: recv(2) into one buffer, which is reused, and send(2) of all that it got: each byte
//! is copied twice.

use super::errors::{not_received, not_sent};
use super::forwarder::Forwarder;
use super::setup::{ProxySetup, Sockets};
use zc_kernel::pages::Pages;
use zc_kernel::tcp;
use zc_run::{RecvCounts, Result, Unavailable};

pub(super) fn open(setup: &ProxySetup<'_>) -> std::result::Result<Box<dyn Forwarder>, Unavailable> {
    let bytes = setup.buffer_bytes.max(1);
    let mut buffer = Pages::new(bytes).map_err(|error| {
        Unavailable::failed(format!("cannot allocate a buffer of {bytes} bytes: {error}"))
    })?;
    buffer.as_mut_slice().fill(0); // populates it
    Ok(Box::new(RecvSend { sockets: setup.own()?, buffer, bytes, counts: RecvCounts::default() }))
}

struct RecvSend {
    sockets: Sockets,
    buffer: Pages,
    bytes: usize,
    counts: RecvCounts,
}

impl Forwarder for RecvSend {
    fn forward(&mut self) -> Result<usize> {
        let buffer = &mut self.buffer.as_mut_slice()[..self.bytes];
        self.counts.calls += 1;
        let received = tcp::recv(&self.sockets.source, buffer)
            .map_err(|error| not_received("recv(2)", error))?;
        let mut left = &buffer[..received];
        while !left.is_empty() {
            self.counts.calls += 1;
            let sent = tcp::send(&self.sockets.target, left)
                .map_err(|error| not_sent("send(2)", error))?;
            left = left.get(sent..).unwrap_or_default();
        }
        self.counts.bytes += received as u64;
        Ok(received)
    }

    fn counts(&self) -> RecvCounts {
        self.counts
    }
}
