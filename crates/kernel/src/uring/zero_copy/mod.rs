//! Memory to socket without copying: `IORING_OP_SEND_ZC` (Linux 6.0).
//!
//! A request completes twice. The first completion gives the number of bytes that the socket took.
//! The second (`IORING_CQE_F_NOTIF`) reports that the kernel has released the pages and, where
//! `IORING_SEND_ZC_REPORT_USAGE` is known (6.2), whether it copied them after all. Between the two
//! the pages must not change. So the memory is an `Arc<Pages>`, which nothing can write to.
//!
//! TCP is a stream, and what follows a short send would be in the wrong place. So the sends of one
//! io_uring_enter(2) are linked, and the next ones wait for their first completions. A link that is
//! cancelled has taken nothing. Its completion does not announce a notification, yet one comes
//! (io_send_zc_cleanup() in io_uring/net.c).
//!
//! # References
//! - io_uring_prep_send_zc(3)
//! - io_uring_prep_sendmsg_zc(3)
//! - io_uring/notif.c, io_uring/net.c

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use io_uring::{opcode, squeue};

use super::copied::Copied;
use super::in_flight::InFlight;
use super::message::Message;
use super::ring::{Handle, Ring, lacking, memlock_limit, within_memlock};
use super::transfer::{error_of, is_interruption};
use crate::pages::Pages;
use crate::tcp::AckProgress;

/// `IORING_SEND_ZC_REPORT_USAGE` of include/uapi/linux/io_uring.h: the notification reports whether
/// there was a copy.
const REPORT_USAGE: u16 = 1 << 3;

/// `IORING_NOTIF_USAGE_ZC_COPIED` of include/uapi/linux/io_uring.h, in the result of a
/// notification.
const MARKED_COPIED: u32 = 1 << 31;

/// Limit of sends with an outstanding notification. A socket's buffer is full long before, unless
/// sends are tiny.
const IN_FLIGHT: usize = 1024;

/// Largest buffer that can be registered (io_uring_register(2): 1 GiB).
const REGISTERED_BYTES: usize = 1 << 30;

/// Smallest send size to which ENOMEM leads.
const SMALLEST_CHUNK: usize = 4096;

/// Time limit for which the drop of a [`ZeroCopy`] waits for outstanding notifications.
const DROP_LIMIT: Duration = Duration::from_millis(20);

/// Most linked sends of one io_uring_enter(2).
const LINKED: usize = 16;

/// Most parts of a message (UIO_MAXIOV, include/uapi/linux/uio.h).
const MOST_PARTS: usize = 1024;

/// How a [`ZeroCopy`] sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZeroCopySends {
    /// One `IORING_OP_SEND_ZC` by each io_uring_enter(2).
    Single,
    /// The same from registered memory.
    SingleRegistered,
    /// Up to sixteen linked `IORING_OP_SEND_ZC` from registered memory by each io_uring_enter(2),
    /// on a tuned ring.
    Linked,
    /// One `IORING_OP_SENDMSG_ZC` of up to sixteen parts by each io_uring_enter(2), on a tuned
    /// ring, from registered memory where the kernel can do that (Linux 6.15).
    Vectored,
}

impl ZeroCopySends {
    fn is_tuned(self) -> bool {
        matches!(self, Self::Linked | Self::Vectored)
    }
}

/// Counts from the notifications.
///
/// # References
/// [io_uring_prep_send_zc(3)]
///
/// [io_uring_prep_send_zc(3)]: https://man7.org/linux/man-pages/man3/io_uring_prep_send_zc.3.html
#[doc(alias = "IORING_CQE_F_NOTIF")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ZeroCopyCounts {
    /// Sends that took bytes and whose memory the kernel has released, where it reports copies.
    pub completions: u64,
    /// Number of completed sends that were copied. Excludes sends that are marked only because they
    /// had no packet of their own (io_link_skb() in io_uring/notif.c, Linux 6.10).
    pub copied: u64,
    /// Sends refused with ENOMEM because RLIMIT_MEMLOCK was reached.
    pub refused: u64,
    /// Sends that took fewer bytes than requested.
    pub short: u64,
}

/// A ring that sends from shared memory to one socket.
///
/// The bytes of a call are with the socket when it returns; notifications are not waited for.
///
/// # References
/// [io_uring_prep_send_zc(3)]
///
/// [io_uring_prep_send_zc(3)]: https://man7.org/linux/man-pages/man3/io_uring_prep_send_zc.3.html
#[doc(alias = "io_uring")]
#[doc(alias = "IORING_OP_SEND_ZC")]
#[derive(Debug)]
pub struct ZeroCopy {
    in_flight: InFlight<Source>,
    socket: OwnedFd,
    sends_as: ZeroCopySends,
    /// The memory is registered, in buffers of `REGISTERED_BYTES`.
    registered: bool,
    /// Flags of send(2).
    flags: i32,
    /// 0 where the kernel does not know REPORT_USAGE.
    report: u16,
    /// Largest size of one send. It shrinks when RLIMIT_MEMLOCK is reached with nothing in flight.
    chunk_bytes: usize,
    /// Parts of a message.
    parts: usize,
    /// Longest wait without progress before it is an error.
    patience: Duration,
    acknowledged: AckProgress,
    /// The sends of the current call, and the result of each, once known.
    current: Vec<Send>,
    /// Number of sends, modulo 2^32. With its length it is the user data of a send.
    sends: u32,
    /// Sends that took nothing but still have a notification outstanding.
    void: Vec<Void>,
    copied: Copied,
    counts: ZeroCopyCounts,
}

/// What the requests point to.
#[derive(Debug)]
struct Source {
    memory: Arc<Pages>,
    message: Message,
}

/// A send of `bytes` from `offset` of the memory on.
#[derive(Debug, Clone, Copy)]
struct Send {
    offset: usize,
    bytes: usize,
    taken: Option<i32>,
}

/// The user data of a send that took nothing, and whether its notification was announced.
#[derive(Debug, Clone, Copy)]
struct Void {
    send: u64,
    announced: bool,
}

impl ZeroCopy {
    /// Creates a ring with io_uring_setup(2) that sends to `socket` from `memory`, at most
    /// `chunk_bytes` per send, or per part of a message.
    ///
    /// Memory that `sends_as` wants registered is registered with the ring, which pins all of it;
    /// [`registering_is_over_the_limit`] identifies that failure. `more` sets MSG_MORE on every
    /// send. `patience` bounds each wait in which there is no notification and the peer
    /// acknowledges nothing. A send of no bytes determines whether the kernel has the operation for
    /// this socket.
    ///
    /// [`registering_is_over_the_limit`]: Self::registering_is_over_the_limit
    ///
    /// # Errors
    /// - Those of io_uring_setup(2) and io_uring_register(2).
    /// - `ErrorKind::Unsupported`: the kernel lacks the operation.
    ///
    /// # References
    /// - [io_uring_setup(2)]
    /// - [io_uring_register(2)], IORING_REGISTER_BUFFERS
    ///
    /// [`registering_is_over_the_limit`]: Self::registering_is_over_the_limit
    ///
    /// [io_uring_setup(2)]: https://man7.org/linux/man-pages/man2/io_uring_setup.2.html
    /// [io_uring_register(2)]: https://man7.org/linux/man-pages/man2/io_uring_register.2.html
    #[doc(alias = "io_uring_setup")]
    #[doc(alias = "IORING_REGISTER_BUFFERS")]
    pub fn new(
        socket: OwnedFd,
        memory: Arc<Pages>,
        chunk_bytes: usize,
        sends_as: ZeroCopySends,
        more: bool,
        patience: Duration,
    ) -> io::Result<Self> {
        let ring = if sends_as.is_tuned() {
            // The first completions of a call come beside the notifications.
            Ring::tuned(LINKED as u32, 2 * IN_FLIGHT as u32, [socket.as_fd()])?
        } else {
            Ring::new(1, IN_FLIGHT as u32)?
        };
        ring.require(&[match sends_as {
            ZeroCopySends::Vectored => (opcode::SendMsgZc::CODE, "IORING_OP_SENDMSG_ZC"),
            _ => (opcode::SendZc::CODE, "IORING_OP_SEND_ZC"),
        }])?;
        let register = sends_as != ZeroCopySends::Single;
        if register {
            let buffers: Vec<libc::iovec> = (0..memory.len())
                .step_by(REGISTERED_BYTES)
                .map(|start| libc::iovec {
                    iov_base: memory.base().wrapping_add(start).cast(),
                    iov_len: REGISTERED_BYTES.min(memory.len() - start),
                })
                .collect();
            // SAFETY: each buffer lies within `memory`. The kernel pins its pages, which therefore
            // outlive an munmap, and only reads them: no operation of this ring writes.
            within_memlock(memory.len(), || unsafe {
                ring.submitter().register_buffers(&buffers)
            })?;
        }
        let source = Source { memory, message: Message::default() };
        let mut new = Self {
            in_flight: InFlight::new(ring, source, DROP_LIMIT),
            socket,
            sends_as,
            registered: register,
            flags: libc::MSG_WAITALL | libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 },
            report: REPORT_USAGE,
            chunk_bytes: chunk_bytes.clamp(1, REGISTERED_BYTES),
            parts: LINKED,
            patience,
            acknowledged: AckProgress::default(),
            current: Vec::with_capacity(LINKED),
            sends: 0,
            copied: Copied::default(),
            void: Vec::new(),
            counts: ZeroCopyCounts::default(),
        };
        new.probe()?;
        Ok(new)
    }

    /// The same for a socket whose device takes packets of up to `packet_bytes` from TCP; without
    /// this, of up to 64 KiB. Which sends were copied is recognised by it. Of none: each send has a
    /// packet of its own, as datagrams have.
    #[must_use]
    pub fn in_packets_of(mut self, packet_bytes: usize) -> Self {
        self.copied = Copied::in_packets_of(u32::try_from(packet_bytes).unwrap_or(u32::MAX));
        self
    }

    /// The same with messages of so many parts.
    #[must_use]
    pub fn in_messages_of(mut self, parts: usize) -> Self {
        self.parts = parts.clamp(1, MOST_PARTS);
        self
    }

    /// Whether `error`, from [`new`](Self::new) with registered memory, means that the memory
    /// exceeds the RLIMIT_MEMLOCK of this user.
    ///
    /// # References
    /// [getrlimit(2)], RLIMIT_MEMLOCK
    ///
    /// [getrlimit(2)]: https://man7.org/linux/man-pages/man2/getrlimit.2.html
    #[doc(alias = "RLIMIT_MEMLOCK")]
    pub fn registering_is_over_the_limit(error: &io::Error) -> bool {
        error.raw_os_error() == Some(libc::ENOMEM)
    }

    /// Sends no bytes, to find out whether sending is supported, and what else of it.
    fn probe(&mut self) -> io::Result<()> {
        let mut result = self.try_no_bytes()?;
        if result == -libc::EINVAL && self.sends_as == ZeroCopySends::Vectored {
            self.registered = false;
            result = self.try_no_bytes()?;
            if result != -libc::EINVAL {
                // Pinned for nothing, and charged to RLIMIT_MEMLOCK.
                self.in_flight.ring.submitter().unregister_buffers()?;
            }
        }
        if result == -libc::EINVAL {
            self.report = 0;
            result = self.try_no_bytes()?;
        }
        match -result {
            libc::EINVAL | libc::EOPNOTSUPP => {
                Err(lacking("zero-copy send of this kind for this socket"))
            }
            _ if result < 0 => Err(error_of(result)),
            _ => Ok(()),
        }
    }

    fn try_no_bytes(&mut self) -> io::Result<i32> {
        self.current.clear();
        self.current.push(Send { offset: 0, bytes: 0, taken: None });
        self.attempt()?;
        Ok(self.current[0].taken.unwrap_or(-libc::EIO))
    }

    /// Whether the kernel reports which sends it copied. If it does not, completions are not
    /// counted, because they would read as "none was copied".
    ///
    /// # References
    /// [io_uring_prep_send_zc(3)], IORING_SEND_ZC_REPORT_USAGE
    ///
    /// [io_uring_prep_send_zc(3)]:
    ///   https://man7.org/linux/man-pages/man3/io_uring_prep_send_zc.3.html
    #[doc(alias = "IORING_SEND_ZC_REPORT_USAGE")]
    pub fn reports_copies(&self) -> bool {
        self.report != 0
    }

    /// Sends `len` bytes from `offset` of the memory on with io_uring_enter(2). Blocks while the
    /// socket is full. The pages stay in use after it has returned.
    ///
    /// # Errors
    /// - Those of send(2).
    /// - ENOMEM: RLIMIT_MEMLOCK is too small even for the smallest send.
    /// - `ErrorKind::TimedOut`: room under that limit did not return in time.
    /// - `ErrorKind::InvalidInput`: the range is not within the memory.
    ///
    /// # References
    /// - [io_uring_enter(2)]
    /// - [io_uring_prep_send_zc(3)]
    ///
    /// [io_uring_enter(2)]: https://man7.org/linux/man-pages/man2/io_uring_enter.2.html
    /// [io_uring_prep_send_zc(3)]:
    ///   https://man7.org/linux/man-pages/man3/io_uring_prep_send_zc.3.html
    #[doc(alias = "io_uring_enter")]
    #[doc(alias = "IORING_OP_SEND_ZC")]
    pub fn send(&mut self, mut offset: usize, len: usize) -> io::Result<()> {
        let end =
            offset.checked_add(len).filter(|&end| end <= self.in_flight.memory().memory.len());
        let end = end.ok_or(io::ErrorKind::InvalidInput)?;
        let mut since = None;
        while offset < end {
            self.plan(offset, end);
            self.attempt()?;
            let mut ended = false;
            for at in 0..self.current.len() {
                let Send { bytes, taken, .. } = self.current[at];
                let result = taken.unwrap_or(-libc::ECANCELED);
                match usize::try_from(result) {
                    Ok(0) if ended => {}
                    Ok(_) if ended => return Err(io::Error::other("a send overtook another")),
                    Ok(taken) => {
                        ended = taken < bytes;
                        self.counts.short += u64::from(ended);
                        offset += taken;
                        since = None;
                    }
                    Err(_) if ended => {}
                    Err(_) if result == -libc::ENOMEM || result == -libc::ENOBUFS => {
                        self.counts.refused += 1;
                        self.make_room(bytes, *since.get_or_insert_with(Instant::now))?;
                        ended = true;
                    }
                    Err(_) if is_interruption(&error_of(result)) => ended = true,
                    Err(_) => return Err(error_of(result)),
                }
            }
            while self.in_flight.ring.outstanding() >= IN_FLIGHT {
                self.await_notification()?;
            }
        }
        Ok(())
    }

    /// The sends of one call, of what is left from `offset` to `end`.
    fn plan(&mut self, mut offset: usize, end: usize) {
        self.current.clear();
        let (sends, chunks) = match self.sends_as {
            ZeroCopySends::Linked => (LINKED, 1),
            ZeroCopySends::Vectored => (1, self.parts),
            ZeroCopySends::Single | ZeroCopySends::SingleRegistered => (1, 1),
        };
        while self.current.len() < sends && offset < end {
            let mut bytes = (chunks * self.chunk_bytes).min(REGISTERED_BYTES).min(end - offset);
            if self.registered {
                bytes = bytes.min(REGISTERED_BYTES - offset % REGISTERED_BYTES);
            }
            self.current.push(Send { offset, bytes, taken: None });
            offset += bytes;
        }
    }

    /// Submits the current sends, and waits for the first completion of each.
    fn attempt(&mut self) -> io::Result<()> {
        let last = self.current.len().saturating_sub(1);
        for (at, send) in self.current.iter().enumerate() {
            let number = self.sends.wrapping_add(at as u32);
            let (ring, source) = self.in_flight.parts();
            let socket = ring.handle(0, &self.socket);
            let start = source.memory.base().wrapping_add(send.offset);
            // The index fits: only memory of 64 TiB would exceed it.
            let buffer = self.registered.then_some((send.offset / REGISTERED_BYTES) as u16);
            let request = if self.sends_as == ZeroCopySends::Vectored {
                source.message.set(start, send.bytes, self.chunk_bytes);
                source.message.request(socket, self.flags, self.report, buffer)
            } else {
                send_of(socket, start, send.bytes, self.flags, self.report, buffer)
            };
            let link = if at < last { squeue::Flags::IO_LINK } else { squeue::Flags::empty() };
            let request = request.flags(link).user_data(user_data(number, send.bytes));
            // SAFETY: the callers have checked that the bytes lie within the memory. `InFlight`
            // keeps it, and the message that lists its parts, until the ring has nothing
            // outstanding, notifications included. The memory is only read, and nothing can write
            // to `Arc<Pages>`; the message is set anew when its request has completed once.
            unsafe { ring.push(&request)? };
        }
        let first = self.sends;
        self.sends = self.sends.wrapping_add(self.current.len() as u32);
        loop {
            let open = self.current.iter().filter(|send| send.taken.is_none()).count();
            if open == 0 {
                return Ok(());
            }
            self.in_flight.ring.enter(open, None)?;
            self.reap(first);
        }
    }

    /// Takes out all completions: the first ones of the current sends, of which `first` is the
    /// number of the first, and notifications, which are counted. Returns the number of
    /// notifications.
    fn reap(&mut self, first: u32) -> usize {
        let mut notifications = 0;
        while let Some(completion) = self.in_flight.ring.pop() {
            let number = (completion.user_data >> 32) as u32;
            if !completion.notification {
                if let Some(send) = self.current.get_mut(number.wrapping_sub(first) as usize) {
                    send.taken = Some(completion.result);
                }
                let is_cancelled = completion.result == -libc::ECANCELED;
                if completion.result <= 0 && (completion.more || is_cancelled) {
                    self.void.push(Void { send: completion.user_data, announced: completion.more });
                }
                continue;
            }
            notifications += 1;
            if let Some(at) = self.void.iter().position(|void| void.send == completion.user_data) {
                if !self.void.swap_remove(at).announced && completion.counted {
                    self.in_flight.ring.was_uncounted();
                }
            } else if self.report != 0 {
                self.counts.completions += 1;
                let marked = completion.result as u32 & MARKED_COPIED != 0;
                let bytes = completion.user_data as u32;
                self.counts.copied += u64::from(self.copied.was_copied(marked, number, bytes));
            }
        }
        notifications
    }

    /// After ENOMEM for a send of `bytes`, first met at `since`: makes room for the next attempt.
    ///
    /// It waits for a notification. If none is outstanding, the send exceeds the limit and becomes
    /// smaller, or another process of this user has used up the limit and may release it.
    fn make_room(&mut self, bytes: usize, since: Instant) -> io::Result<()> {
        if self.in_flight.ring.outstanding() > 0 {
            return self.await_notification();
        }
        // io_notif_account_mem() charges a send for its whole pages and two more.
        let page = crate::pages::page_size();
        let charge = (bytes / page + 2) * page;
        let too_large = memlock_limit().is_some_and(|limit| charge as u64 > limit);
        if self.chunk_bytes > SMALLEST_CHUNK
            && (too_large || since.elapsed() > Duration::from_millis(100))
        {
            self.chunk_bytes = (self.chunk_bytes / 2).max(SMALLEST_CHUNK);
        } else if too_large || since.elapsed() > self.patience {
            return Err(error_of(-libc::ENOMEM));
        } else {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Waits until at least one notification has arrived, as long as the peer takes bytes.
    fn await_notification(&mut self) -> io::Result<()> {
        let mut until = Instant::now() + self.patience;
        while self.reap(self.sends) == 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.in_flight.ring.enter(1, Some(left))? {
                if self.reap(self.sends) > 0 {
                    break;
                }
                // Datagrams are not acknowledged.
                if !self.acknowledged.advanced(&self.socket).unwrap_or(false) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                until = Instant::now() + self.patience;
            }
        }
        Ok(())
    }

    /// Waits with io_uring_enter(2) until the kernel has released all memory.
    ///
    /// # Errors
    /// - `ErrorKind::TimedOut`: no notification and no acknowledged byte within the ring's
    ///   `patience`.
    ///
    /// # References
    /// [io_uring_enter(2)]
    ///
    /// [io_uring_enter(2)]: https://man7.org/linux/man-pages/man2/io_uring_enter.2.html
    #[doc(alias = "io_uring_enter")]
    pub fn drain(&mut self) -> io::Result<()> {
        while self.in_flight.ring.outstanding() > 0 {
            self.await_notification()?;
        }
        Ok(())
    }

    /// Counts from the notifications so far.
    pub fn counts(&self) -> ZeroCopyCounts {
        self.counts
    }

    /// Number of io_uring_enter(2) calls so far.
    pub fn calls(&self) -> u64 {
        self.in_flight.ring.calls()
    }
}

/// User data of send `number`.
fn user_data(number: u32, bytes: usize) -> u64 {
    u64::from(number) << 32 | bytes as u64
}

fn send_of(
    socket: Handle,
    start: *const u8,
    bytes: usize,
    flags: i32,
    report: u16,
    buffer: Option<u16>,
) -> squeue::Entry {
    opcode::SendZc::new(socket.fd, start, bytes as u32)
        .flags(flags)
        .zc_flags(report)
        .buf_index(buffer)
        .build()
        .flags(socket.flags)
}

impl Drop for ZeroCopy {
    fn drop(&mut self) {
        if self.registered && self.in_flight.ring.quiesce(DROP_LIMIT) {
            // Closing a ring unpins its buffers later, on another CPU, and until then they count
            // against RLIMIT_MEMLOCK. If this fails, closing does it.
            let _ = self.in_flight.ring.submitter().unregister_buffers();
        }
    }
}

#[cfg(test)]
mod tests;
