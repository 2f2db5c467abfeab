//! Shared by the MSG_ZEROCOPY paths: counts the sends in flight and their completions, waits when
//! the kernel refuses another send (ENOBUFS), and waits for the last completions at the end.
//!
//! Completions are read every few sends and without blocking: a send that waited for its own
//! completion would wait for the peer's acknowledgement. Each time costs two calls of recvmsg(2),
//! the second of which finds the queue empty.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::io::Errno;

use super::socket_writer::{SocketWriter, broken, takes_nothing};
use zc_kernel::clock::{monotonic_ns, sleep_until};
use zc_kernel::errqueue::{Woken, next_completion, wait_for_completion};
use zc_kernel::tcp::AckProgress;
use zc_kernel::{mapping, tcp};
use zc_run::{Error, Result, SendCounts, Unavailable};

/// Sends between two reads of completions. With the 20,480 bytes of net.core.optmem_max that older
/// kernels had, some twenty may be in flight.
const LOOK_EVERY: u64 = 16;

/// After this time without a completion and without an acknowledged byte the peer is considered to
/// have stopped reading.
const PATIENCE_NS: u64 = 2_000_000_000;

/// Pause between attempts when no send of this socket is in flight and the kernel still refuses:
/// others use up the limit.
const PAUSE_NS: u64 = 1_000_000;

/// The socket, the counts, and the sends in flight.
#[derive(Debug)]
pub(super) struct ZeroCopyTracker {
    out: SocketWriter,
    issued: u64,
    looked_at: u64,
    acknowledged: AckProgress,
    patience_ns: u64,
}

impl ZeroCopyTracker {
    /// Prepares the socket for zero-copy sends of at most `send_bytes`.
    pub(super) fn new(
        socket: BorrowedFd<'_>,
        send_bytes: usize,
    ) -> std::result::Result<Self, Unavailable> {
        tcp::set_zerocopy(socket, true)
            .map_err(|error| Unavailable::unsupported(format!("SO_ZEROCOPY: {error}")))?;
        let page_bytes = zc_kernel::pages::page_size();
        // `mm_account_pinned_pages` charges two pages more than the bytes fill.
        let charged_bytes = send_bytes / page_bytes * page_bytes + 2 * page_bytes;
        if !mapping::may_lock(charged_bytes) {
            return Err(Unavailable::refused(format!(
                "a zero-copy send of {send_bytes} bytes locks {charged_bytes} bytes of memory, \
                 more than RLIMIT_MEMLOCK"
            ))
            .remedy("raise it as root: `ulimit -l 8192`, or send less at once: `--buffer 16k`"));
        }
        Ok(Self {
            out: SocketWriter::new(socket)?,
            issued: 0,
            looked_at: 0,
            acknowledged: AckProgress::default(),
            patience_ns: PATIENCE_NS,
        })
    }

    /// Same as [`SocketWriter::push`], by zero-copy sends.
    pub(super) fn push(
        &mut self,
        len: usize,
        most: usize,
        mut call: impl FnMut(BorrowedFd<'_>, usize, usize) -> io::Result<usize>,
        explain: impl Fn(io::Error) -> Error,
    ) -> Result<()> {
        let mut done = 0;
        let mut refused_since_ns = None;
        while done < len {
            let part = (len - done).min(most);
            self.out.counts.calls += 1;
            match call(self.out.socket.as_fd(), done, part) {
                Ok(0) => return Err(takes_nothing()),
                Ok(sent) => {
                    refused_since_ns = None;
                    self.issued += 1;
                    done += self.out.took(sent, part);
                    if self.issued - self.looked_at >= LOOK_EVERY {
                        self.look()?;
                    }
                }
                Err(error) if is_out_of_room(&error) => {
                    self.out.counts.enobufs += 1;
                    self.make_room(*refused_since_ns.get_or_insert_with(monotonic_ns))?;
                }
                Err(error) => return Err(explain(error)),
            }
        }
        Ok(())
    }

    fn outstanding(&self) -> u64 {
        self.issued.saturating_sub(self.out.counts.completions)
    }

    /// Reads all available completions. Returns whether there was one.
    fn look(&mut self) -> Result<bool> {
        self.looked_at = self.issued;
        let mut found = false;
        while self.outstanding() > 0 {
            self.out.counts.calls += 1;
            let next = next_completion(&self.out.socket)
                .map_err(|error| Error::os("read completions with recvmsg(2)", error))?;
            let Some(completion) = next else { break };
            found = true;
            self.out.counts.completions += completion.sends();
            if completion.copied {
                self.out.counts.copied += completion.sends();
            }
        }
        Ok(found)
    }

    /// Waits until `until_ns` at most for the error queue, and reads it. Returns whether there was
    /// a completion.
    fn wait(&mut self, until_ns: u64) -> Result<bool> {
        let left_ns = until_ns.saturating_sub(monotonic_ns());
        self.out.counts.calls += 1;
        let woken = wait_for_completion(&self.out.socket, Duration::from_nanos(left_ns))
            .map_err(|error| Error::os("wait for completions with poll(2)", error))?;
        if woken == Woken::TimedOut || self.look()? {
            return Ok(woken != Woken::TimedOut);
        }
        // Woken without a completion: the connection has an error.
        match tcp::take_error(&self.out.socket) {
            Ok(None) if woken == Woken::Error => Ok(false),
            Ok(None) => Err(Error::failed(
                "receiver-closed-early",
                "the connection was closed while zero-copy sends were under way",
            )),
            Ok(Some(error)) | Err(error) => Err(broken("MSG_ZEROCOPY", error)),
        }
    }

    /// Waits for a completion after the kernel has refused a send. `since_ns` is the time of the
    /// first refusal.
    fn make_room(&mut self, since_ns: u64) -> Result<()> {
        let until_ns = since_ns.saturating_add(self.patience_ns);
        if self.look()? {
            return Ok(());
        }
        if monotonic_ns() >= until_ns {
            return Err(Error::failed(
                "zero-copy-memory-limit",
                "the kernel allows no more memory for zero-copy sends (ENOBUFS)",
            )
            .help("raise RLIMIT_MEMLOCK (`ulimit -l`) or net.core.optmem_max"));
        }
        if self.outstanding() == 0 {
            sleep_until(monotonic_ns() + PAUSE_NS);
        } else {
            self.wait(until_ns)?;
        }
        Ok(())
    }

    /// Whether the peer has acknowledged bytes since the last call. Datagrams are not acknowledged.
    fn has_taken_more(&mut self) -> bool {
        self.acknowledged.advanced(&self.out.socket).unwrap_or(false)
    }

    /// Waits for the completions of all sends.
    pub(super) fn drain(&mut self) -> Result<()> {
        self.look()?;
        let mut until_ns = monotonic_ns().saturating_add(self.patience_ns);
        while self.outstanding() > 0 {
            if self.wait(until_ns)? || (monotonic_ns() >= until_ns && self.has_taken_more()) {
                until_ns = monotonic_ns().saturating_add(self.patience_ns);
            } else if monotonic_ns() >= until_ns {
                return Err(Error::failed(
                    "receiver-stalled",
                    format!(
                        "{} zero-copy sends were not completed: the receiver took nothing for {} ms",
                        self.outstanding(),
                        self.patience_ns / 1_000_000
                    ),
                ));
            }
        }
        Ok(())
    }

    pub(super) fn counts(&self) -> SendCounts {
        self.out.counts
    }

    #[cfg(test)]
    pub(super) fn set_patience_ns(&mut self, ns: u64) {
        self.patience_ns = ns;
    }
}

pub(super) fn is_out_of_room(error: &io::Error) -> bool {
    matches!(error.raw_os_error().map(Errno::from_raw_os_error), Some(Errno::NOBUFS | Errno::NOMEM))
}
