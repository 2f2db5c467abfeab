//! `ktls-write`, `ktls-sendfile`, `ktls-splice`: other paths on a socket whose kernel encrypts.
//! `ktls-sendfile-zc`: the same out of the page cache, where a network card encrypts.
//!
//! Documentation/networking/tls.rst; tools/testing/selftests/net/tls.c.

use std::os::fd::BorrowedFd;

use super::definition::{Definition, Opened};
use super::sender::Sender;
use super::setup::{More, SendSetup};
use super::{read_send, sendfile, splice};
use crate::tls::{Layout, keyed_socket};
use crate::workload::Piece;
use zc_kernel::ktls::{self, Direction};
use zc_run::{LONGEST_RECORD, Result, SendCounts, Unavailable};

pub(super) const WRITE_PATH: Definition = Definition {
    open: |socket, setup| open(socket, setup, &read_send::PATH, Some(setup.buffer_bytes)),
    call_without_flags: read_send::PATH.call_without_flags,
};

pub(super) const SENDFILE_PATH: Definition = Definition {
    open: |socket, setup| open(socket, setup, &sendfile::PATH, setup.call_bytes),
    call_without_flags: sendfile::PATH.call_without_flags,
};

pub(super) const SPLICE_PATH: Definition = Definition {
    open: |socket, setup| open(socket, setup, &splice::PATH, setup.call_bytes),
    call_without_flags: splice::PATH.call_without_flags,
};

pub(super) const SENDFILE_ZC_PATH: Definition = Definition {
    open: |socket, setup| {
        let before = sessions_of_cards();
        let opened = (SENDFILE_PATH.open)(socket, setup)?;
        ktls::set_zerocopy_sendfile(socket).map_err(|error| {
            Unavailable::unsupported(format!("the kernel has no TLS_TX_ZEROCOPY_RO: {error}"))
                .remedy("Linux 5.19 or later has it")
        })?;
        if sessions_of_cards() > before {
            return Ok(opened);
        }
        Err(Unavailable::unsupported(
            "no network card encrypts here, so the kernel does, by a copy",
        )
        .remedy("on a card that can: ethtool -K DEVICE tls-hw-tx-offload on"))
    },
    call_without_flags: sendfile::PATH.call_without_flags,
};

/// Connections whose sending a network card has encrypted, of this network namespace:
/// Documentation/networking/tls.rst, "Statistics". 0 where the kernel does not count.
fn sessions_of_cards() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/tls_stat").unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix("TlsTxDevice "));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or_default()
}

/// Opens `inner` on a socket whose kernel encrypts. Each call sends at most `call_bytes`.
fn open(
    socket: BorrowedFd<'_>,
    setup: &SendSetup,
    inner: &Definition,
    call_bytes: Option<usize>,
) -> Opened {
    let session = setup.session()?;
    keyed_socket(socket, Direction::Send, session)?;
    let payload_bytes = session.records.payload_bytes;
    if payload_bytes != LONGEST_RECORD {
        ktls::set_record_bytes(socket, payload_bytes as u16).map_err(|error| {
            Unavailable::unsupported(format!(
                "the kernel's records have {LONGEST_RECORD} bytes: {error}"
            ))
            .remedy("Linux 6.19 or later has TLS_TX_MAX_PAYLOAD_LEN")
        })?;
    }
    let inner = (inner.open)(socket, setup)?;
    let overhead = Layout::new(session.records).overhead();
    Ok(Box::new(Ktls {
        inner,
        call_bytes,
        payload_bytes,
        overhead,
        more: setup.more == More::Always,
        records: 0,
    }))
}

struct Ktls {
    inner: Box<dyn Sender>,
    call_bytes: Option<usize>,
    payload_bytes: usize,
    /// Bytes of a record besides its payload.
    overhead: usize,
    /// A record goes on with the next call, until it is full.
    more: bool,
    /// Records of the calls so far, each of which ends one.
    records: usize,
}

impl Sender for Ktls {
    fn send(&mut self, piece: Piece) -> Result<()> {
        self.inner.send(piece)?;
        let most = self.call_bytes.unwrap_or(piece.len).clamp(1, piece.len.max(1));
        let (calls, rest) = (piece.len / most, piece.len % most);
        let records = |bytes: usize| bytes.div_ceil(self.payload_bytes);
        self.records += calls * records(most) + records(rest);
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        self.inner.drain()
    }

    fn counts(&self) -> SendCounts {
        let counts = self.inner.counts();
        let records = match self.more {
            true => counts.bytes.div_ceil(self.payload_bytes as u64),
            false => self.records as u64,
        };
        SendCounts { framing_bytes: records * self.overhead as u64, ..counts }
    }
}
