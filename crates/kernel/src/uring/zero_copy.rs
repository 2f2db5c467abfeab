//! Memory to socket without copying: `IORING_OP_SEND_ZC` (Linux 6.0).
//!
//! A request completes twice. The first completion gives the number of bytes that the socket took.
//! The second (`IORING_CQE_F_NOTIF`) reports that the kernel has released the pages and, where
//! `IORING_SEND_ZC_REPORT_USAGE` is known (6.2), whether it copied them after all. Between the two
//! the pages must not change. So the memory is an `Arc<Pages>`, which nothing can write to.
//!
//! # References
//! - io_uring_prep_send_zc(3)
//! - io_uring/notif.c, io_uring/net.c

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use io_uring::{opcode, types};

use super::copied::Copied;
use super::in_flight::InFlight;
use super::ring::{Ring, lacking, memlock_limit, within_memlock};
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
/// TCP is a stream, and a short send would be overtaken by the next one. So one send is in flight
/// at a time, but its notification is not waited for.
///
/// # References
/// [io_uring_prep_send_zc(3)]
///
/// [io_uring_prep_send_zc(3)]: https://man7.org/linux/man-pages/man3/io_uring_prep_send_zc.3.html
#[doc(alias = "io_uring")]
#[doc(alias = "IORING_OP_SEND_ZC")]
#[derive(Debug)]
pub struct ZeroCopy {
    in_flight: InFlight<Arc<Pages>>,
    socket: OwnedFd,
    /// The memory is registered, in buffers of `REGISTERED_BYTES`.
    registered: bool,
    /// Flags of send(2).
    flags: i32,
    /// 0 where the kernel does not know REPORT_USAGE.
    report: u16,
    /// Largest size of one send. It shrinks when RLIMIT_MEMLOCK is reached with nothing in flight.
    chunk_bytes: usize,
    /// Longest wait without progress before it is an error.
    patience: Duration,
    acknowledged: AckProgress,
    /// Result of the current send, once known. One send is current at a time.
    taken: Option<i32>,
    /// Number of sends, modulo 2^32. With its length it is the user data of a send.
    sends: u32,
    /// Sends that took nothing but still have a notification outstanding.
    void: Vec<u64>,
    copied: Copied,
    counts: ZeroCopyCounts,
}

impl ZeroCopy {
    /// Creates a ring with io_uring_setup(2) that sends to `socket` from `memory`, at most
    /// `chunk_bytes` per send.
    ///
    /// `register` first registers the memory with the ring, which pins all of it;
    /// [`registering_is_over_the_limit`] identifies that failure. `more` sets MSG_MORE on every
    /// send. `patience` bounds each wait in which there is no notification and the peer
    /// acknowledges nothing. A send of no bytes determines whether the kernel has the operation for
    /// this socket.
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
            // SAFETY: each buffer lies within `memory`. The kernel pins its pages, which therefore
            // outlive an munmap, and only reads them: no operation of this ring writes.
            within_memlock(memory.len(), || unsafe {
                ring.submitter().register_buffers(&buffers)
            })?;
        }
        let in_flight = InFlight::new(ring, memory, DROP_LIMIT);
        let mut new = Self {
            in_flight,
            socket,
            registered: register,
            flags: libc::MSG_WAITALL | libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 },
            report: REPORT_USAGE,
            chunk_bytes: chunk_bytes.clamp(1, REGISTERED_BYTES),
            patience,
            acknowledged: AckProgress::default(),
            taken: None,
            sends: 0,
            copied: Copied::default(),
            void: Vec::new(),
            counts: ZeroCopyCounts::default(),
        };
        new.probe()?;
        Ok(new)
    }

    /// The same for a socket whose device takes packets of up to `packet_bytes` from TCP; without
    /// this, of up to 64 KiB. Which sends were copied is recognised by it.
    #[must_use]
    pub fn in_packets_of(mut self, packet_bytes: usize) -> Self {
        self.copied = Copied::in_packets_of(u32::try_from(packet_bytes).unwrap_or(u32::MAX));
        self
    }

    /// Whether `error`, from [`new`](Self::new) with `register`, means that the memory exceeds the
    /// RLIMIT_MEMLOCK of this user.
    ///
    /// # References
    /// [getrlimit(2)], RLIMIT_MEMLOCK
    ///
    /// [getrlimit(2)]: https://man7.org/linux/man-pages/man2/getrlimit.2.html
    #[doc(alias = "RLIMIT_MEMLOCK")]
    pub fn registering_is_over_the_limit(error: &io::Error) -> bool {
        error.raw_os_error() == Some(libc::ENOMEM)
    }

    /// Sends no bytes, to find out whether sending is supported.
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
        let end = offset.checked_add(len).filter(|&end| end <= self.in_flight.memory().len());
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
            while self.in_flight.ring.outstanding() >= IN_FLIGHT {
                self.await_notification()?;
            }
        }
        Ok(())
    }

    /// One request, up to its first completion. Returns its result.
    fn attempt(&mut self, offset: usize, bytes: usize) -> io::Result<i32> {
        self.sends = self.sends.wrapping_add(1);
        let this = u64::from(self.sends) << 32 | bytes as u64;
        let (ring, memory) = self.in_flight.parts();
        let start = memory.base().wrapping_add(offset);
        let mut send = opcode::SendZc::new(types::Fd(self.socket.as_raw_fd()), start, bytes as u32)
            .flags(self.flags)
            .zc_flags(self.report);
        if self.registered {
            // The index fits: only memory of 64 TiB would exceed it.
            send = send.buf_index(Some((offset / REGISTERED_BYTES) as u16));
        }
        // SAFETY: the callers have checked that `offset..offset + bytes` lies within the memory.
        // `InFlight` keeps it until the ring has nothing outstanding, notifications included. It is
        // only read, and nothing can write to `Arc<Pages>`.
        unsafe { ring.push(&send.build().user_data(this))? };
        self.taken = None;
        loop {
            self.in_flight.ring.enter(1, None)?;
            self.reap();
            if let Some(taken) = self.taken {
                return Ok(taken);
            }
        }
    }

    /// Takes out all completions: the first one of the current send, and notifications, which are
    /// counted. Returns the number of notifications.
    fn reap(&mut self) -> usize {
        let mut notifications = 0;
        while let Some(completion) = self.in_flight.ring.pop() {
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
                let (send, bytes) =
                    ((completion.user_data >> 32) as u32, completion.user_data as u32);
                self.counts.copied += u64::from(self.copied.was_copied(marked, send, bytes));
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
        while self.reap() == 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.in_flight.ring.enter(1, Some(left))? {
                if self.reap() > 0 {
                    break;
                }
                if !self.acknowledged.advanced(&self.socket)? {
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
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Bytes that fit into the send buffer of a socket if it is as large as net.core.wmem_max is by
    /// default: 416 KiB, in which a byte in small packets takes almost three.
    const FITS: usize = 100_000;

    /// A socket with room for [`FITS`], whose peer has almost no room to receive.
    fn connection_to_a_slow_peer() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 4_096).unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        rustix::net::sockopt::set_socket_send_buffer_size(&sender, 400_000).unwrap();
        (sender, listener.accept().unwrap().0)
    }

    fn ring_to(socket: TcpStream, memory: &Arc<Pages>, register: bool) -> Option<ZeroCopy> {
        ZeroCopy::new(
            socket.into(),
            Arc::clone(memory),
            65_536,
            register,
            false,
            Duration::from_millis(50),
        )
        .map_err(|error| eprintln!("skipped: {error}"))
        .ok()
    }

    #[test]
    fn a_drain_whose_peer_does_not_read_is_over_in_time_and_nothing_the_kernel_reads_is_freed() {
        let memory = Arc::new(Pages::new(FITS).unwrap());
        for register in [false, true] {
            let (sender, receiver) = connection_to_a_slow_peer();
            let Some(mut ring) = ring_to(sender, &memory, register) else { return };
            ring.send(0, FITS).unwrap();
            let held = Arc::strong_count(&memory);
            // Its kernel took bytes before the drain, and none in it: once more patience, and over.
            let began = Instant::now();
            assert_eq!(ring.drain().unwrap_err().kind(), io::ErrorKind::TimedOut);
            assert!(began.elapsed() >= 2 * Duration::from_millis(50));
            drop(ring);
            assert_eq!(
                Arc::strong_count(&memory),
                held,
                "leaked, because the kernel still used it"
            );
            drop(receiver);
        }
    }

    #[test]
    fn a_drained_ring_gives_its_memory_back() {
        let memory = Arc::new(Pages::new(200_000).unwrap());
        for register in [false, true] {
            let (sender, mut receiver) = connection_to_a_slow_peer();
            let Some(mut ring) = ring_to(sender, &memory, register) else { return };
            let reader =
                std::thread::spawn(move || std::io::copy(&mut receiver, &mut std::io::sink()));
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
        let (sender, _receiver) = connection_to_a_slow_peer();
        let Some(mut ring) = ring_to(sender, &memory, false) else { return };
        for (offset, len) in [(0, memory.len() + 1), (memory.len(), 1), (usize::MAX, 2)] {
            assert_eq!(ring.send(offset, len).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn a_socket_without_zero_copy_is_unsupported_at_once() {
        let memory = Arc::new(Pages::new(4_096).unwrap());
        let (sender, _receiver) = std::os::unix::net::UnixStream::pair().unwrap();
        let error =
            ZeroCopy::new(sender.into(), memory, 65_536, false, false, Duration::from_millis(50))
                .unwrap_err();
        if error.raw_os_error().is_some() {
            eprintln!("skipped: {error}");
            return;
        }
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    }
}
