//! Memory to socket without copying: `IORING_OP_SEND_ZC` (Linux 6.0).
//!
//! A request completes twice. The first completion says how many bytes the socket took; the second (`IORING_CQE_F_NOTIF`)
//! that the kernel has let go of the pages, and, where `IORING_SEND_ZC_REPORT_USAGE` is known (6.2), whether it copied
//! them after all. Between the two the pages must not change, which is why the memory is an `Arc<Pages>`, that nobody
//! can write to.
//!
//! # References
//! io_uring_prep_send_zc(3); io_uring/notif.c, io_uring/net.c.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use io_uring::{opcode, types};

use super::copied::Copied;
use super::in_flight::InFlight;
use super::ring::{Ring, lacking, memlock_limit, within_memlock};
use super::{error_of, is_interruption};
use crate::pages::Pages;

/// `IORING_SEND_ZC_REPORT_USAGE` of include/uapi/linux/io_uring.h: say in the notification whether there was a copy.
const REPORT_USAGE: u16 = 1 << 3;

/// `IORING_NOTIF_USAGE_ZC_COPIED` of include/uapi/linux/io_uring.h, in the result of a notification.
const MARKED_COPIED: u32 = 1 << 31;

/// Sends whose notification is outstanding at a time. A socket's buffer is full long before, unless sends are tiny.
const IN_FLIGHT: usize = 1024;

/// The largest buffer that can be registered (io_uring_register(2): 1 GiB).
const REGISTERED_BYTES: usize = 1 << 30;

/// What ENOMEM makes a send smaller to, at most.
const SMALLEST_CHUNK: usize = 4096;

/// How long [`ZeroCopy`]'s drop waits for notifications that nobody waited for.
const DROP_LIMIT: Duration = Duration::from_millis(20);

/// What the notifications said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ZeroCopyCounts {
    /// Sends that took bytes and whose memory the kernel has let go of, as far as it says whether it copied.
    pub completions: u64,
    /// Those of them that it copied. Not those that it calls so only because they had no packet of their own
    /// (io_link_skb() in io_uring/notif.c, Linux 6.10).
    pub copied: u64,
    /// Sends refused with ENOMEM: RLIMIT_MEMLOCK was reached.
    pub refused: u64,
    /// Sends that took fewer bytes than they were given.
    pub short: u64,
}

/// A ring that sends out of shared memory to one socket.
///
/// TCP is a stream, and of several sends under way a short one would be overtaken by the next: one send is under way at
/// a time, but its notification is not waited for.
#[derive(Debug)]
pub struct ZeroCopy {
    lent: InFlight<Arc<Pages>>,
    socket: OwnedFd,
    /// The memory is registered, in buffers of `REGISTERED_BYTES`.
    registered: bool,
    /// Of send(2).
    flags: i32,
    /// 0 where the kernel does not know REPORT_USAGE.
    report: u16,
    /// The most that one send is given; smaller once RLIMIT_MEMLOCK was met with nothing in flight.
    chunk_bytes: usize,
    /// How long nothing may happen before an error is made of it.
    patience: Duration,
    /// What the send that is under way took, once that is known; one is under way at a time.
    taken: Option<i32>,
    /// Sends so far, modulo 2^32: with its length the user data of a send.
    sends: u32,
    /// Sends that took nothing and have a notification outstanding all the same.
    void: Vec<u64>,
    copied: Copied,
    counts: ZeroCopyCounts,
}

impl ZeroCopy {
    /// A ring that sends to `socket` out of `memory`, at most `chunk_bytes` a send. With `register`, the memory is
    /// registered with the ring first (pinned as a whole; [`registering_is_over_the_limit`] tells that failure).
    /// With `more` every send says MSG_MORE. `patience` bounds each wait for a notification.
    ///
    /// Tries a send of no bytes, to find out whether the kernel has the operation for this socket.
    ///
    /// # Errors
    /// As io_uring_setup(2) and io_uring_register(2); `ErrorKind::Unsupported` where the kernel lacks the operation.
    ///
    /// [`registering_is_over_the_limit`]: Self::registering_is_over_the_limit
    pub fn new(
        socket: OwnedFd,
        memory: Arc<Pages>,
        chunk_bytes: usize,
        register: bool,
        more: bool,
        patience: Duration,
    ) -> io::Result<Self> {
        let ring = Ring::new(1, IN_FLIGHT as u32)?;
        ring.require(&[(opcode::SendZc::CODE, "IORING_OP_SEND_ZC")])?;
        if register {
            let buffers: Vec<libc::iovec> = (0..memory.len())
                .step_by(REGISTERED_BYTES)
                .map(|start| libc::iovec {
                    iov_base: memory.base().wrapping_add(start).cast(),
                    iov_len: REGISTERED_BYTES.min(memory.len() - start),
                })
                .collect();
            // SAFETY: each buffer lies within `memory`. The kernel pins its pages, so that they stay what they are even
            // after an munmap, and only reads them: no operation of this ring writes.
            within_memlock(memory.len(), || unsafe { ring.submitter().register_buffers(&buffers) })?;
        }
        let lent = InFlight::new(ring, memory, DROP_LIMIT);
        let mut new = Self {
            lent,
            socket,
            registered: register,
            flags: libc::MSG_WAITALL | libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 },
            report: REPORT_USAGE,
            chunk_bytes: chunk_bytes.clamp(1, REGISTERED_BYTES),
            patience,
            taken: None,
            sends: 0,
            copied: Copied::default(),
            void: Vec::new(),
            counts: ZeroCopyCounts::default(),
        };
        new.probe()?;
        Ok(new)
    }

    /// Whether `error`, from [`new`](Self::new) with `register`, says that the memory is more than RLIMIT_MEMLOCK lets
    /// this user pin.
    pub fn registering_is_over_the_limit(error: &io::Error) -> bool {
        error.raw_os_error() == Some(libc::ENOMEM)
    }

    /// Sends nothing, to see whether it could send something.
    fn probe(&mut self) -> io::Result<()> {
        let mut result = self.attempt(0, 0)?;
        if result == -libc::EINVAL {
            self.report = 0;
            result = self.attempt(0, 0)?;
        }
        match -result {
            libc::EINVAL | libc::EOPNOTSUPP => Err(lacking("IORING_OP_SEND_ZC for this socket")),
            _ if result < 0 => Err(error_of(result)),
            _ => Ok(()),
        }
    }

    /// Whether the kernel says which sends it copied. Where it does not, completions are not counted, for they would
    /// read as "none was copied".
    pub fn reports_copies(&self) -> bool {
        self.report != 0
    }

    /// Sends `len` bytes from `offset` of the memory on, blocking while the socket is full. The pages stay in use after
    /// it has returned.
    ///
    /// # Errors
    /// What send(2) says; ENOMEM when RLIMIT_MEMLOCK does not even let the smallest send through; `ErrorKind::TimedOut`
    /// when room under that limit did not come back in time. `InvalidInput` when the range is not within the memory.
    pub fn send(&mut self, mut offset: usize, len: usize) -> io::Result<()> {
        let end = offset.checked_add(len).filter(|&end| end <= self.lent.memory().len());
        let end = end.ok_or(io::ErrorKind::InvalidInput)?;
        let mut since = None;
        while offset < end {
            let mut bytes = self.chunk_bytes.min(end - offset);
            if self.registered {
                bytes = bytes.min(REGISTERED_BYTES - offset % REGISTERED_BYTES);
            }
            let result = self.attempt(offset, bytes)?;
            match usize::try_from(result) {
                Ok(taken) => {
                    self.counts.short += u64::from(taken < bytes);
                    offset += taken;
                    since = None;
                }
                Err(_) if result == -libc::ENOMEM || result == -libc::ENOBUFS => {
                    self.counts.refused += 1;
                    self.make_room(bytes, *since.get_or_insert_with(Instant::now))?;
                }
                Err(_) if is_interruption(&error_of(result)) => {}
                Err(_) => return Err(error_of(result)),
            }
            while self.lent.ring.owed() >= IN_FLIGHT {
                self.await_notification()?;
            }
        }
        Ok(())
    }

    /// One request, up to its first completion. Returns its result.
    fn attempt(&mut self, offset: usize, bytes: usize) -> io::Result<i32> {
        self.sends = self.sends.wrapping_add(1);
        let this = u64::from(self.sends) << 32 | bytes as u64;
        let (ring, memory) = self.lent.parts();
        let start = memory.base().wrapping_add(offset);
        let mut send = opcode::SendZc::new(types::Fd(self.socket.as_raw_fd()), start, bytes as u32)
            .flags(self.flags)
            .zc_flags(self.report);
        if self.registered {
            // An index fits: memory would have to be 64 TiB otherwise.
            send = send.buf_index(Some((offset / REGISTERED_BYTES) as u16));
        }
        // SAFETY: the callers have seen that `offset..offset + bytes` lies within the memory, which `InFlight` keeps until
        // the ring is owed nothing (notifications are owed too); it is only read, and nobody can write to `Arc<Pages>`.
        unsafe { ring.push(&send.build().user_data(this))? };
        self.taken = None;
        loop {
            self.lent.ring.enter(1, None)?;
            self.harvest();
            if let Some(taken) = self.taken {
                return Ok(taken);
            }
        }
    }

    /// Takes out what has come: the first completion of the send that is under way, and notifications, which are
    /// counted. Returns how many notifications there were.
    fn harvest(&mut self) -> usize {
        let mut notifications = 0;
        while let Some(completion) = self.lent.ring.pop() {
            if !completion.notification {
                self.taken = Some(completion.result);
                if completion.more && completion.result <= 0 {
                    self.void.push(completion.user_data);
                }
                continue;
            }
            notifications += 1;
            if let Some(at) = self.void.iter().position(|&void| void == completion.user_data) {
                self.void.swap_remove(at);
            } else if self.report != 0 {
                self.counts.completions += 1;
                let marked = completion.result as u32 & MARKED_COPIED != 0;
                let (send, bytes) = ((completion.user_data >> 32) as u32, completion.user_data as u32);
                self.counts.copied += u64::from(self.copied.was(marked, send, bytes));
            }
        }
        notifications
    }

    /// After ENOMEM for a send of `bytes`, first met at `since`: makes the next attempt likelier to succeed. Waits for a
    /// notification. If none is outstanding, the send is larger than the limit, and shall be smaller; or somebody else
    /// of this user is using the limit up (every process of the user counts), and may stop.
    fn make_room(&mut self, bytes: usize, since: Instant) -> io::Result<()> {
        if self.lent.ring.owed() > 0 {
            return self.await_notification();
        }
        // io_notif_account_mem() charges a send with its whole pages and two.
        let page = rustix::param::page_size();
        let charge = (bytes / page + 2) * page;
        let too_large = memlock_limit().is_some_and(|limit| charge as u64 > limit);
        if self.chunk_bytes > SMALLEST_CHUNK && (too_large || since.elapsed() > Duration::from_millis(100)) {
            self.chunk_bytes = (self.chunk_bytes / 2).max(SMALLEST_CHUNK);
        } else if too_large || since.elapsed() > self.patience {
            return Err(error_of(-libc::ENOMEM));
        } else {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Waits until at least one notification has come.
    fn await_notification(&mut self) -> io::Result<()> {
        let until = Instant::now() + self.patience;
        while self.harvest() == 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.lent.ring.enter(1, Some(left))? {
                if self.harvest() > 0 {
                    break;
                }
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }

    /// Waits until the kernel has let go of all memory.
    ///
    /// # Errors
    /// `ErrorKind::TimedOut` when no notification came for as long as the ring is patient.
    pub fn drain(&mut self) -> io::Result<()> {
        while self.lent.ring.owed() > 0 {
            self.await_notification()?;
        }
        Ok(())
    }

    /// What the notifications said so far.
    pub fn counts(&self) -> ZeroCopyCounts {
        self.counts
    }

    /// Calls of io_uring_enter(2) so far.
    pub fn calls(&self) -> u64 {
        self.lent.ring.calls()
    }
}

impl Drop for ZeroCopy {
    fn drop(&mut self) {
        if self.registered && self.lent.ring.quiesce(DROP_LIMIT) {
            // Closing a ring unpins its buffers at some later time, on some other CPU, and until then they count
            // against RLIMIT_MEMLOCK. Should this fail, closing does it.
            let _ = self.lent.ring.submitter().unregister_buffers();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// A socket with room to send, whose peer has next to no room to receive.
    fn stuffy_connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 4_096).unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        rustix::net::sockopt::set_socket_send_buffer_size(&near, 400_000).unwrap();
        (near, listener.accept().unwrap().0)
    }

    fn ring_to(socket: TcpStream, memory: &Arc<Pages>, register: bool) -> Option<ZeroCopy> {
        ZeroCopy::new(socket.into(), Arc::clone(memory), 65_536, register, false, Duration::from_millis(50))
            .map_err(|error| eprintln!("skipped: {error}"))
            .ok()
    }

    #[test]
    fn a_drain_whose_peer_does_not_read_is_over_in_time_and_nothing_the_kernel_reads_is_freed() {
        let memory = Arc::new(Pages::new(200_000).unwrap());
        for register in [false, true] {
            let (near, far) = stuffy_connection();
            let Some(mut ring) = ring_to(near, &memory, register) else { return };
            ring.send(0, 200_000).unwrap();
            let held = Arc::strong_count(&memory);
            assert_eq!(ring.drain().unwrap_err().kind(), io::ErrorKind::TimedOut);
            drop(ring);
            assert_eq!(Arc::strong_count(&memory), held, "leaked, for the kernel still had it");
            drop(far);
        }
    }

    #[test]
    fn a_drained_ring_gives_its_memory_back() {
        let memory = Arc::new(Pages::new(200_000).unwrap());
        for register in [false, true] {
            let (near, mut far) = stuffy_connection();
            let Some(mut ring) = ring_to(near, &memory, register) else { return };
            let reader = std::thread::spawn(move || std::io::copy(&mut far, &mut std::io::sink()));
            ring.send(1, 199_999).unwrap();
            ring.drain().unwrap();
            drop(ring);
            assert_eq!(reader.join().unwrap().unwrap(), 199_999);
            assert_eq!(Arc::strong_count(&memory), 1);
        }
    }

    #[test]
    fn a_range_that_is_not_within_the_memory_is_refused() {
        let memory = Arc::new(Pages::new(4_096).unwrap());
        let (near, _far) = stuffy_connection();
        let Some(mut ring) = ring_to(near, &memory, false) else { return };
        for (offset, len) in [(0, memory.len() + 1), (memory.len(), 1), (usize::MAX, 2)] {
            assert_eq!(ring.send(offset, len).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn a_socket_that_cannot_send_without_copying_is_told_at_once() {
        let memory = Arc::new(Pages::new(4_096).unwrap());
        let (near, _far) = std::os::unix::net::UnixStream::pair().unwrap();
        let error = ZeroCopy::new(near.into(), memory, 65_536, false, false, Duration::from_millis(50)).unwrap_err();
        if error.raw_os_error().is_some() {
            eprintln!("skipped: {error}");
            return;
        }
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    }
}
