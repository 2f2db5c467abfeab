//! Socket to buffers that fill bit by bit: multishot `IORING_OP_RECV` with
//! `IORING_RECVSEND_BUNDLE` (Linux 6.10) and incremental provided buffers (`IOU_PBUF_RING_INC`,
//! 6.12), on a tuned ring.
//!
//! A completion covers everything that was queued, over several buffers if need be, and the next
//! one goes on where it ended, also within a buffer. So the buffers are one circular memory, and
//! the place of a completion's bytes follows from the number of bytes before it. The flag
//! `IORING_CQE_F_BUF_MORE`, which says the same, is not looked at: kernels lost it when a bundle
//! went on after its first buffer ("io_uring/net: inherit IORING_CQE_F_BUF_MORE across bundle recv
//! retries", June 2026).
//!
//! The wait can have a minimum (`min_wait_usec`, 6.12): within it only as many completions as are
//! wanted wake the thread, after it any. As long as that the kernel collects bytes in the socket.
//!
//! # References
//! - io_uring_prep_recv_multishot(3), IORING_RECVSEND_BUNDLE and IORING_RECVSEND_POLL_FIRST
//! - io_uring_register_buf_ring(3), IOU_PBUF_RING_INC
//! - io_uring_submit_and_wait_min_timeout(3)
//! - examples/proxy.c of liburing

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use io_uring::{opcode, squeue, types};

use super::buf_ring::{BufRing, GROUP, INCREMENTAL};
use super::in_flight::InFlight;
use super::registered_ring::Wait;
use super::ring::{Completion, Handle, Ring, lacking};
use super::transfer::{error_of, is_interruption, touched};
use crate::pages::Pages;

/// Buffers in the pool, a power of two: as many as [`Multishot`](super::Multishot) has.
const BUFFERS: u16 = 16;

/// Longest wait that has a minimum. Then the next one begins.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// `IORING_RECVSEND_POLL_FIRST`, `IORING_RECV_MULTISHOT` and `IORING_RECVSEND_BUNDLE` of
/// include/uapi/linux/io_uring.h.
const POLL_FIRST: u16 = 1 << 0;
const MULTISHOT: u16 = 1 << 1;
const BUNDLE: u16 = 1 << 4;

/// A ring with a pool of incremental buffers that receives from one socket.
///
/// # References
/// - [io_uring_prep_recv_multishot(3)]
/// - [io_uring_register_buf_ring(3)]
///
/// [io_uring_prep_recv_multishot(3)]:
///   https://man7.org/linux/man-pages/man3/io_uring_prep_recv_multishot.3.html
/// [io_uring_register_buf_ring(3)]:
///   https://man7.org/linux/man-pages/man3/io_uring_register_buf_ring.3.html
#[doc(alias = "io_uring")]
#[doc(alias = "IORING_RECVSEND_BUNDLE")]
#[doc(alias = "IOU_PBUF_RING_INC")]
#[derive(Debug)]
pub struct ReceiveBundle {
    in_flight: InFlight<Pool>,
    socket: OwnedFd,
    /// Minimum of a wait.
    min_wait: Option<Duration>,
    /// Whether a request is in flight.
    armed: bool,
    /// Whether the socket may have bytes, so that polling it first would be in vain.
    nonempty: bool,
    /// Completions that have not been processed.
    pending: VecDeque<Completion>,
    /// End of the stream, or the error that ended it. Reported after everything before it.
    end: Option<Result<(), i32>>,
}

/// The buffers as one circular memory, and the ring that offers them to the kernel.
#[derive(Debug)]
struct Pool {
    offers: BufRing,
    buffers: Pages,
    buffer_bytes: usize,
    /// Where the next byte comes to lie.
    position: usize,
}

impl ReceiveBundle {
    /// Buffers in its pool.
    pub const BUFFERS: usize = BUFFERS as usize;

    /// Creates a tuned ring with io_uring_setup(2) that receives from `socket` into buffers of
    /// `buffer_bytes`. A wait takes `min_wait` at least, if there is one.
    ///
    /// # Errors
    /// - Those of io_uring_setup(2) and io_uring_register(2).
    /// - `ErrorKind::Unsupported`: the kernel lacks something.
    ///
    /// # References
    /// - [io_uring_setup(2)]
    /// - [io_uring_register(2)]
    /// - [io_uring_enter(2)], IORING_ENTER_EXT_ARG
    ///
    /// [io_uring_setup(2)]: https://man7.org/linux/man-pages/man2/io_uring_setup.2.html
    /// [io_uring_register(2)]: https://man7.org/linux/man-pages/man2/io_uring_register.2.html
    /// [io_uring_enter(2)]: https://man7.org/linux/man-pages/man2/io_uring_enter.2.html
    #[doc(alias = "io_uring_setup")]
    #[doc(alias = "IORING_REGISTER_PBUF_RING")]
    #[doc(alias = "IORING_ENTER_EXT_ARG")]
    pub fn new(
        socket: OwnedFd,
        buffer_bytes: usize,
        min_wait: Option<Duration>,
    ) -> io::Result<Self> {
        let buffer_bytes = buffer_bytes.clamp(1, 1 << 26);
        let ring = Ring::tuned(2, 4 * u32::from(BUFFERS), [socket.as_fd()])?;
        ring.require(&[(opcode::Recv::CODE, "IORING_OP_RECV")])?;
        if !ring.features().is_feature_recvsend_bundle() {
            return Err(lacking("IORING_RECVSEND_BUNDLE"));
        }
        if min_wait.is_some() && !ring.features().is_feature_min_timeout() {
            return Err(lacking("minimum of a wait (IORING_FEAT_MIN_TIMEOUT)"));
        }
        let mut pool = Pool {
            offers: BufRing::new(BUFFERS)?,
            buffers: touched(usize::from(BUFFERS) * buffer_bytes)?,
            buffer_bytes,
            position: 0,
        };
        // SAFETY: `InFlight` keeps the pool until the ring has nothing outstanding. After that the
        // kernel only unpins it.
        unsafe { pool.offers.register(&ring, INCREMENTAL) }.map_err(|error| {
            match error.raw_os_error() {
                Some(libc::EINVAL) => lacking("incremental buffers (IOU_PBUF_RING_INC)"),
                _ => error,
            }
        })?;
        for buffer in 0..BUFFERS {
            pool.offer(buffer);
        }
        pool.offers.publish();
        let in_flight = InFlight::new(ring, pool, Duration::from_secs(1));
        let mut new = Self {
            in_flight,
            socket,
            min_wait,
            armed: false,
            nonempty: false,
            pending: VecDeque::new(),
            end: None,
        };
        new.probe()?;
        Ok(new)
    }

    /// Number of the queue of a network card whose packets `socket` receives (SO_INCOMING_NAPI_ID
    /// of socket(7)). 0 is none: what comes over loopback or veth comes from no card.
    ///
    /// # Errors
    /// Errors of getsockopt(2).
    ///
    /// # References
    /// [Documentation/networking/napi.rst]
    ///
    /// [Documentation/networking/napi.rst]: https://docs.kernel.org/networking/napi.html
    #[doc(alias = "SO_INCOMING_NAPI_ID")]
    pub fn napi_id(socket: impl AsFd) -> io::Result<u32> {
        let id = crate::sockopt::get_int(socket, libc::SOL_SOCKET, libc::SO_INCOMING_NAPI_ID)?;
        Ok(id.cast_unsigned())
    }

    /// Makes every wait begin with up to `busy` of polling the queue of the network card, with
    /// io_uring_register(2), IORING_REGISTER_NAPI (Linux 6.9), instead of waiting for its
    /// interrupt.
    ///
    /// # Errors
    /// `ErrorKind::Unsupported`: the kernel cannot do that.
    ///
    /// # References
    /// [io_uring_register_napi(3)]
    ///
    /// [io_uring_register_napi(3)]:
    ///   https://man7.org/linux/man-pages/man3/io_uring_register_napi.3.html
    #[doc(alias = "IORING_REGISTER_NAPI")]
    pub fn poll_card(&self, busy: Duration) -> io::Result<()> {
        let busy_us = u32::try_from(busy.as_micros()).unwrap_or(u32::MAX);
        let mut napi = types::Napi::new().set_busy_poll_timeout(busy_us).set_prefer_busy_poll(true);
        self.in_flight.ring.submitter().register_napi(&mut napi).map_err(|error| {
            match error.raw_os_error() {
                Some(libc::EINVAL | libc::EOPNOTSUPP) => lacking("IORING_REGISTER_NAPI"),
                _ => error,
            }
        })
    }

    /// Receives from a stream that has ended. So no byte is taken from the socket before it is
    /// wanted.
    fn probe(&mut self) -> io::Result<()> {
        let (ended, _) = UnixStream::pair()?;
        let fd = types::Fd(std::os::fd::AsRawFd::as_raw_fd(&ended));
        self.arm(Handle { fd, flags: squeue::Flags::empty() })?;
        while self.pending.is_empty() {
            self.reap()?;
        }
        for completion in std::mem::take(&mut self.pending) {
            match completion.result {
                0 => {}
                result if result == -libc::EINVAL => {
                    return Err(lacking("multishot IORING_OP_RECV with IORING_RECVSEND_BUNDLE"));
                }
                result => return Err(error_of(result)),
            }
        }
        self.nonempty = false;
        Ok(())
    }

    /// Puts the request into the queue.
    fn arm(&mut self, socket: Handle) -> io::Result<()> {
        // Of a socket that is probably empty the kernel need not try to receive in vain.
        let poll_first = if self.nonempty { 0 } else { POLL_FIRST };
        // The builder of bundles in the io-uring crate cannot poll first.
        let recv = opcode::Recv::new(socket.fd, std::ptr::null_mut(), 0)
            .ioprio(MULTISHOT | BUNDLE | poll_first)
            .buf_group(GROUP)
            .build()
            .flags(socket.flags | squeue::Flags::BUFFER_SELECT);
        // SAFETY: the request itself points to no memory. The kernel writes to the pool's buffers,
        // which `InFlight` keeps until the ring has nothing outstanding. What it has not said to
        // have filled is not accessed.
        unsafe { self.in_flight.ring.push(&recv)? };
        self.armed = true;
        Ok(())
    }

    /// Waits for completions and takes out all that are there.
    fn reap(&mut self) -> io::Result<()> {
        let ring = &mut self.in_flight.ring;
        if self.min_wait.is_some() {
            // Without a limit beside it a minimum is one itself (io_cqring_min_timer_wakeup() in
            // io_uring/io_uring.c).
            let wait = Wait { limit: Some(WAIT_LIMIT), all_within: self.min_wait };
            ring.enter_within(Self::BUFFERS, wait)?;
        } else {
            ring.enter(1, None)?;
        }
        while let Some(completion) = ring.pop() {
            self.armed &= completion.more;
            self.pending.push_back(completion);
        }
        Ok(())
    }

    /// Waits until bytes have arrived, with io_uring_enter(2), and passes all of them to `inspect`
    /// in order. Returns their number, 0 at the end of the stream.
    ///
    /// # Errors
    /// Errors of recv(2).
    ///
    /// # References
    /// - [io_uring_enter(2)]
    /// - [recv(2)]
    ///
    /// [io_uring_enter(2)]: https://man7.org/linux/man-pages/man2/io_uring_enter.2.html
    /// [recv(2)]: https://man7.org/linux/man-pages/man2/recv.2.html
    #[doc(alias = "io_uring_enter")]
    #[doc(alias = "IORING_OP_RECV")]
    pub fn receive(&mut self, inspect: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let mut total = 0;
        while total == 0 {
            if let Some(end) = self.end {
                return end.map(|()| 0).map_err(error_of);
            }
            if self.pending.is_empty() {
                if !self.armed {
                    self.arm(self.in_flight.ring.handle(0, &self.socket))?;
                }
                self.reap()?;
            }
            while let Some(completion) = self.pending.pop_front() {
                self.nonempty = completion.nonempty;
                match (usize::try_from(completion.result), completion.buffer) {
                    (Ok(bytes), Some(buffer)) if bytes > 0 => {
                        self.in_flight.parts().1.pass_on(buffer, bytes, inspect)?;
                        total += bytes;
                    }
                    (Ok(_), _) => self.end = Some(Ok(())),
                    // The pool was empty and is not any more, and there are bytes for it.
                    (Err(_), _) if completion.result == -libc::ENOBUFS => self.nonempty = true,
                    (Err(_), _) if is_interruption(&error_of(completion.result)) => {}
                    (Err(_), _) => self.end = Some(Err(completion.result)),
                }
            }
            self.in_flight.parts().1.offers.publish();
        }
        Ok(total)
    }

    /// Number of io_uring_enter(2) calls so far.
    pub fn calls(&self) -> u64 {
        self.in_flight.ring.calls()
    }
}

impl Pool {
    /// Passes the next `bytes` to `inspect`, of which the kernel says that they begin in `buffer`,
    /// and offers the buffers again that they fill.
    fn pass_on(
        &mut self,
        buffer: u16,
        mut bytes: usize,
        inspect: &mut dyn FnMut(&[u8]),
    ) -> io::Result<()> {
        let all = usize::from(BUFFERS) * self.buffer_bytes;
        if usize::from(buffer) != self.position / self.buffer_bytes || bytes > all {
            return Err(io::Error::other("the kernel filled a buffer out of turn"));
        }
        while bytes > 0 {
            let (buffer, within) =
                (self.position / self.buffer_bytes, self.position % self.buffer_bytes);
            let part = bytes.min(self.buffer_bytes - within);
            let start = self.buffers.base().wrapping_add(self.position);
            // SAFETY: `position..position + part` lies within one buffer. The kernel has filled
            // these bytes, says the completion that has been taken out of the queue, and writes
            // only behind them until the buffer is offered again. The slice covers no more.
            inspect(unsafe { std::slice::from_raw_parts(start, part) });
            if within + part == self.buffer_bytes {
                self.offer(buffer as u16);
            }
            self.position = (self.position + part) % all;
            bytes -= part;
        }
        Ok(())
    }

    /// Offers a whole buffer. The kernel sees it when the offers are published.
    fn offer(&mut self, buffer: u16) {
        let start = self.buffers.base().wrapping_add(usize::from(buffer) * self.buffer_bytes);
        self.offers.offer(buffer, start, self.buffer_bytes as u32);
    }
}

impl Drop for ReceiveBundle {
    fn drop(&mut self) {
        // So that nothing stays pinned until the kernel has torn down the ring. If this fails, the
        // teardown unpins it.
        if self.in_flight.ring.quiesce(Duration::from_secs(1)) {
            let _ = self.in_flight.ring.submitter().unregister_buf_ring(GROUP);
        }
    }
}
