//! What the MSG_ZEROCOPY paths do alike: lend pages to the kernel send by send, take note of the completions by which
//! it gives them back, wait when it will not borrow more, and wait for the last ones at the end.
//!
//! Completions are looked for every few sends and without blocking: a send that waited for its own completion would
//! wait for the peer's acknowledgement. That costs two calls of recvmsg(2) each time, the second of which finds the
//! queue empty.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use rustix::io::Errno;
use zc_kernel::clock::{monotonic_ns, sleep_until};
use zc_kernel::errqueue::{Woken, next_completion, wait_for_completion};
use zc_kernel::{mapping, tcp};

use super::socket_writer::{SocketWriter, broken, takes_nothing};
use zc_run::{Error, Result, SendCounts, Unavailable};

/// Completions are looked for after so many sends. With the 20,480 bytes of net.core.optmem_max that older kernels
/// had, some twenty may be outstanding.
const LOOK_EVERY: u64 = 16;

/// How long the kernel may give nothing back before the peer is taken to have stopped reading.
const PATIENCE_NS: u64 = 2_000_000_000;

/// Between two attempts when nothing is outstanding here and the kernel still will not lend: somebody else has to
/// give back.
const PAUSE_NS: u64 = 1_000_000;

/// The socket, the counts, and how many sends are under way.
#[derive(Debug)]
pub(super) struct ZeroCopyTracker {
    out: SocketWriter,
    issued: u64,
    looked_at: u64,
    patience_ns: u64,
}

impl ZeroCopyTracker {
    /// Makes the socket ready for sends of at most `send_bytes`.
    pub(super) fn new(
        socket: &TcpStream,
        send_bytes: usize,
    ) -> std::result::Result<Self, Unavailable> {
        tcp::set_zerocopy(socket, true)
            .map_err(|error| Unavailable::unsupported(format!("SO_ZEROCOPY: {error}")))?;
        let page_bytes = rustix::param::page_size();
        // `mm_account_pinned_pages` charges two pages more than the bytes fill.
        let charged_bytes = send_bytes / page_bytes * page_bytes + 2 * page_bytes;
        if !mapping::may_lock(charged_bytes) {
            return Err(Unavailable::refused(format!(
                "a zero-copy send of {send_bytes} bytes locks {charged_bytes} bytes of memory, more than RLIMIT_MEMLOCK"
            ))
            .remedy("raise it as root: `ulimit -l 8192`, or send less at once: `--buffer 16k`"));
        }
        Ok(Self {
            out: SocketWriter::new(socket)?,
            issued: 0,
            looked_at: 0,
            patience_ns: PATIENCE_NS,
        })
    }

    /// As [`SocketWriter::push`], by zero-copy sends.
    pub(super) fn push(
        &mut self,
        len: usize,
        most: usize,
        mut call: impl FnMut(&TcpStream, usize, usize) -> io::Result<usize>,
        explain: impl Fn(io::Error) -> Error,
    ) -> Result<()> {
        let mut done = 0;
        let mut refused_since_ns = None;
        while done < len {
            let part = (len - done).min(most);
            self.out.counts.calls += 1;
            match call(&self.out.socket, done, part) {
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

    /// Takes what completions there are; says whether there was one.
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

    /// Waits, at most until `until_ns`, for something on the error queue, and takes it. Says whether there was a
    /// completion.
    fn wait(&mut self, until_ns: u64) -> Result<bool> {
        let left_ns = until_ns.saturating_sub(monotonic_ns());
        self.out.counts.calls += 1;
        let woken = wait_for_completion(&self.out.socket, Duration::from_nanos(left_ns))
            .map_err(|error| Error::os("wait for completions with poll(2)", error))?;
        if woken == Woken::TimedOut || self.look()? {
            return Ok(woken != Woken::TimedOut);
        }
        // Awake, and no completion: the connection itself is in trouble.
        match tcp::take_error(&self.out.socket) {
            Ok(None) if woken == Woken::Error => Ok(false),
            Ok(None) => {
                Err(Error::failed("the connection was closed while zero-copy sends were under way"))
            }
            Ok(Some(error)) | Err(error) => Err(broken("MSG_ZEROCOPY", error)),
        }
    }

    /// The kernel would not borrow more: waits until it has given something back. `since_ns` is when that began.
    fn make_room(&mut self, since_ns: u64) -> Result<()> {
        let until_ns = since_ns.saturating_add(self.patience_ns);
        if self.look()? {
            return Ok(());
        }
        if monotonic_ns() >= until_ns {
            return Err(Error::failed(
                "the kernel lends no more memory to zero-copy sends (ENOBUFS)",
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

    /// Waits for the completions of all sends.
    pub(super) fn drain(&mut self) -> Result<()> {
        self.look()?;
        let mut until_ns = monotonic_ns().saturating_add(self.patience_ns);
        while self.outstanding() > 0 {
            if self.wait(until_ns)? {
                until_ns = monotonic_ns().saturating_add(self.patience_ns);
            } else if monotonic_ns() >= until_ns {
                return Err(Error::failed(format!(
                    "{} zero-copy sends were not completed: the receiver took nothing for {} ms",
                    self.outstanding(),
                    self.patience_ns / 1_000_000
                )));
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

fn is_out_of_room(error: &io::Error) -> bool {
    matches!(error.raw_os_error().map(Errno::from_raw_os_error), Some(Errno::NOBUFS | Errno::NOMEM))
}
