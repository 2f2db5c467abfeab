//! Zero-copy sends of io_uring out of the resident copy of the file set.
//!
//! `uring-send-zc` and `uring-send-zc-fixed` make one `IORING_OP_SEND_ZC` a call; the second has
//! the copy registered with the ring, so that its pages are pinned once instead of for every send.
//! `uring-send-zc-batch` links several larger ones by a call on a tuned ring, and
//! `uring-sendmsg-zc` sends a message of many parts by `IORING_OP_SENDMSG_ZC`.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use super::datagrams::broken_datagrams;
use super::definition::Definition;
use super::sender::Sender;
use super::setup::{More, SendSetup};
use super::socket_writer::broken;
use crate::path::resident::ResidentCopy;
use crate::path::uring::{no, own};
use crate::workload::Piece;
use zc_kernel::uring::{ZeroCopy, ZeroCopySends};
use zc_run::{Error, Result, SendCounts, Unavailable};

/// After this time without a notification and without an acknowledged byte the peer is considered
/// to have stopped reading.
const PATIENCE: Duration = Duration::from_secs(2);

/// `uring-send-zc`.
pub(super) const PATH: Definition = Definition {
    open: |socket, setup| {
        let single = ZeroCopySends::Single;
        Ok(Box::new(UringSendZc::open(socket, setup, single, setup.buffer_bytes)?))
    },
    call_without_flags: None,
};

/// `uring-send-zc-fixed`.
pub(super) const FIXED_PATH: Definition = Definition {
    open: |socket, setup| {
        let single = ZeroCopySends::SingleRegistered;
        Ok(Box::new(UringSendZc::open(socket, setup, single, setup.buffer_bytes)?))
    },
    call_without_flags: None,
};

/// Bytes of a send of `uring-send-zc-batch`, unless a message is given: sendfile(2) too takes more
/// than 64 KiB by a call.
const BATCH_SEND_BYTES: usize = 256 << 10;

/// `uring-send-zc-batch`.
pub(super) const BATCH_PATH: Definition = Definition {
    open: |socket, setup| {
        let bytes = setup.call_bytes.unwrap_or(BATCH_SEND_BYTES);
        Ok(Box::new(UringSendZc::open(socket, setup, ZeroCopySends::Linked, bytes)?))
    },
    call_without_flags: None,
};

/// `uring-sendmsg-zc`.
pub(super) const MESSAGE_PATH: Definition = Definition {
    open: |socket, setup| {
        let vectored = ZeroCopySends::Vectored;
        Ok(Box::new(UringSendZc::open(socket, setup, vectored, setup.buffer_bytes)?))
    },
    call_without_flags: None,
};

pub(super) struct UringSendZc {
    ring: ZeroCopy,
    copy: Arc<ResidentCopy>,
    bytes: u64,
    /// Explains the error of a call on the socket.
    explain: fn(io::Error) -> Error,
}

impl UringSendZc {
    fn open(
        socket: BorrowedFd<'_>,
        setup: &SendSetup,
        sends_as: ZeroCopySends,
        bytes: usize,
    ) -> std::result::Result<Self, Unavailable> {
        let copy = Arc::clone(setup.resident.copy_of(&setup.files, setup.pages)?);
        let (socket, pages) = (own(socket)?, Arc::clone(copy.pages()));
        let more = setup.more == More::Always;
        let ring = ZeroCopy::new(socket, pages, bytes, sends_as, more, PATIENCE)
            .map(|ring| ring.in_packets_of(setup.packet_bytes))
            .map_err(|error| {
                if sends_as != ZeroCopySends::Single && over_the_limit(&error) {
                    too_large(copy.pages().len())
                } else {
                    no(error)
                }
            })?;
        Ok(Self { ring, copy, bytes: 0, explain: |error| broken("io_uring", error) })
    }

    /// The same for datagrams: sends of `bytes`, or messages with such a part for each.
    pub(super) fn of_datagrams(
        socket: BorrowedFd<'_>,
        setup: &SendSetup,
        sends_as: ZeroCopySends,
        bytes: usize,
    ) -> std::result::Result<Self, Unavailable> {
        let own = Self::open(socket, setup, sends_as, bytes)?;
        // Each has a packet of its own.
        let ring = own.ring.in_packets_of(0).in_messages_of(setup.datagrams.of_a_call);
        Ok(Self { ring, explain: broken_datagrams, ..own })
    }

    fn error(&self, error: io::Error) -> Error {
        if error.kind() == io::ErrorKind::TimedOut && error.raw_os_error().is_none() {
            return Error::failed(
                "receiver-stalled",
                "the kernel did not release zero-copy buffers: the receiver has stopped reading",
            );
        }
        if rustix::io::Errno::from_io_error(&error) == Some(rustix::io::Errno::NOMEM) {
            return Error::failed(
                "locked-memory-limit",
                "the limit of locked memory (RLIMIT_MEMLOCK) permits no zero-copy send",
            )
            .help("ulimit -l unlimited, or run as root");
        }
        (self.explain)(error)
    }
}

fn over_the_limit(error: &std::io::Error) -> bool {
    ZeroCopy::registering_is_over_the_limit(error)
}

fn too_large(bytes: usize) -> Unavailable {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    let limit = limit.map_or_else(|| "unlimited".to_owned(), |limit| format!("{limit} bytes"));
    Unavailable::refused(format!(
        "the file set of {bytes} bytes cannot be registered: the limit of locked memory \
         (RLIMIT_MEMLOCK) is {limit}"
    ))
    .remedy("ulimit -l unlimited, or run as root")
}

impl Sender for UringSendZc {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let sent = self.ring.send(self.copy.offset(piece), piece.len);
        sent.map_err(|error| self.error(error))?;
        self.bytes += piece.len as u64;
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        let drained = self.ring.drain();
        drained.map_err(|error| self.error(error))
    }

    fn counts(&self) -> SendCounts {
        let zero_copy = self.ring.counts();
        SendCounts {
            bytes: self.bytes,
            calls: self.ring.calls(),
            completions: zero_copy.completions,
            copied: zero_copy.copied,
            enobufs: zero_copy.refused,
            short: zero_copy.short,
            framing_bytes: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_that_stopped_reading_and_a_limit_have_errors_of_their_own() {
        use crate::path::testing::{files_of, pair, setup_of};
        use rustix::io::Errno;
        use std::os::fd::AsFd as _;
        let (one, _other) = pair();
        let setup = setup_of(files_of(&[1_000]), 1_000);
        let opened = UringSendZc::open(one.as_fd(), &setup, ZeroCopySends::Single, 1_000);
        let Ok(path) = opened.inspect_err(|no| eprintln!("skipped: {}", no.reason)) else {
            return;
        };
        let error = |error: io::Error| path.error(error);
        assert_eq!(error(io::ErrorKind::TimedOut.into()).id, "receiver-stalled");
        assert_eq!(error(Errno::NOMEM.into()).id, "locked-memory-limit");
        assert_eq!(error(Errno::CONNRESET.into()).id, "receiver-closed-early");
        assert_eq!(error(Errno::TIMEDOUT.into()).id, "system-call-failed");
    }
}
