//! Socket to buffers of the kernel's choice: multishot `IORING_OP_RECV` (Linux 6.0) with a ring of
//! provided buffers (`IORING_REGISTER_PBUF_RING`, 5.19).
//!
//! One request completes repeatedly, each time with a buffer that the kernel took from the pool. It
//! ends when the pool is empty (ENOBUFS), when the stream ends, or when the kernel wants a new
//! request (a completion without `IORING_CQE_F_MORE`). Buffers return to the pool by a store to
//! shared memory, without a system call.
//!
//! # References
//! - io_uring_prep_recv_multishot(3)
//! - io_uring_register_buf_ring(3)
//! - io_uring_provided_buffers(7)

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use io_uring::opcode;
use io_uring::types;

use super::buf_ring::{BufRing, GROUP};
use super::in_flight::InFlight;
use super::ring::{Completion, Ring, lacking};
use super::transfer::{error_of, is_interruption, touched};
use crate::pages::Pages;

/// Buffers in the pool, a power of two. Enough for what arrives between two reaps, and few enough
/// to stay in a cache.
const BUFFERS: u16 = 16;

/// A ring with a pool of buffers that receives from one socket.
///
/// # References
/// [io_uring_prep_recv_multishot(3)]
///
/// [io_uring_prep_recv_multishot(3)]:
///   https://man7.org/linux/man-pages/man3/io_uring_prep_recv_multishot.3.html
#[doc(alias = "io_uring")]
#[doc(alias = "IORING_RECV_MULTISHOT")]
#[derive(Debug)]
pub struct Multishot {
    in_flight: InFlight<Pool>,
    socket: OwnedFd,
    /// Whether a request is in flight.
    armed: bool,
    /// Completions that have not been processed.
    pending: VecDeque<Completion>,
    /// End of the stream, or the error that ended it. Reported after everything before it.
    end: Option<Result<(), i32>>,
}

/// The buffers, and the ring that offers them to the kernel.
#[derive(Debug)]
struct Pool {
    offers: BufRing,
    buffers: Pages,
    buffer_bytes: usize,
}

impl Multishot {
    /// Buffers in its pool.
    pub const BUFFERS: usize = BUFFERS as usize;

    /// Creates a ring with io_uring_setup(2) that receives from `socket` into buffers of
    /// `buffer_bytes`.
    ///
    /// # Errors
    /// - Those of io_uring_setup(2) and io_uring_register(2).
    /// - `ErrorKind::Unsupported`: the kernel lacks the operation.
    ///
    /// # References
    /// - [io_uring_setup(2)]
    /// - [io_uring_register(2)]
    /// - [io_uring_register_buf_ring(3)]
    ///
    /// [io_uring_setup(2)]: https://man7.org/linux/man-pages/man2/io_uring_setup.2.html
    /// [io_uring_register(2)]: https://man7.org/linux/man-pages/man2/io_uring_register.2.html
    /// [io_uring_register_buf_ring(3)]:
    ///   https://man7.org/linux/man-pages/man3/io_uring_register_buf_ring.3.html
    #[doc(alias = "io_uring_setup")]
    #[doc(alias = "IORING_REGISTER_PBUF_RING")]
    pub fn new(socket: OwnedFd, buffer_bytes: usize) -> io::Result<Self> {
        let buffer_bytes = buffer_bytes.clamp(1, 1 << 26);
        let ring = Ring::new(2, 4 * u32::from(BUFFERS))?;
        ring.require(&[(opcode::Recv::CODE, "IORING_OP_RECV")])?;
        let mut pool = Pool {
            offers: BufRing::new(BUFFERS)?,
            buffers: touched(usize::from(BUFFERS) * buffer_bytes)?,
            buffer_bytes,
        };
        // SAFETY: `InFlight` keeps the pool until the ring has nothing outstanding. After that the
        // kernel only unpins it.
        unsafe { pool.offers.register(&ring, 0) }.map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => lacking("IORING_REGISTER_PBUF_RING"),
            _ => error,
        })?;
        for buffer in 0..BUFFERS {
            pool.offer(buffer);
        }
        pool.offers.publish();
        let in_flight = InFlight::new(ring, pool, Duration::from_secs(1));
        let mut new = Self { in_flight, socket, armed: false, pending: VecDeque::new(), end: None };
        new.probe()?;
        Ok(new)
    }

    /// Receives from a stream that has ended. So no byte is taken from the socket before it is
    /// wanted.
    fn probe(&mut self) -> io::Result<()> {
        let (ended, _) = UnixStream::pair()?;
        self.arm(ended.as_raw_fd())?;
        while self.pending.is_empty() {
            self.reap(1)?;
        }
        for completion in std::mem::take(&mut self.pending) {
            if let Some(buffer) = completion.buffer {
                self.in_flight.parts().1.offer(buffer);
            }
            match completion.result {
                0 => {}
                result if result == -libc::EINVAL => {
                    return Err(lacking("multishot IORING_OP_RECV"));
                }
                result => return Err(error_of(result)),
            }
        }
        self.in_flight.parts().1.offers.publish();
        Ok(())
    }

    /// Puts the request into the queue.
    fn arm(&mut self, socket: RawFd) -> io::Result<()> {
        let recv = opcode::RecvMulti::new(types::Fd(socket), GROUP).build();
        // SAFETY: the request itself points to no memory. The kernel writes to the pool's buffers,
        // which `InFlight` keeps until the ring has nothing outstanding. They are not accessed
        // while the kernel has them.
        unsafe { self.in_flight.ring.push(&recv)? };
        self.armed = true;
        Ok(())
    }

    /// Waits for `want` completions and takes out all that are there.
    fn reap(&mut self, want: usize) -> io::Result<()> {
        self.in_flight.ring.enter(want, None)?;
        while let Some(completion) = self.in_flight.ring.pop() {
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
                    self.arm(self.socket.as_raw_fd())?;
                }
                self.reap(1)?;
            }
            while let Some(completion) = self.pending.pop_front() {
                match (usize::try_from(completion.result), completion.buffer) {
                    (Ok(bytes), Some(buffer)) if bytes > 0 => {
                        let pool = self.in_flight.parts().1;
                        let slice = pool.filled(buffer, bytes)?;
                        inspect(slice);
                        pool.offer(buffer);
                        total += bytes;
                    }
                    (Ok(_), buffer) => {
                        if let Some(buffer) = buffer {
                            self.in_flight.parts().1.offer(buffer);
                        }
                        self.end = Some(Ok(()));
                    }
                    // The pool was empty and is not any more.
                    (Err(_), _) if completion.result == -libc::ENOBUFS => {}
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
    /// The first `bytes` of a buffer that the kernel has filled and returned.
    fn filled(&mut self, buffer: u16, bytes: usize) -> io::Result<&[u8]> {
        if buffer >= BUFFERS || bytes > self.buffer_bytes {
            return Err(io::Error::other("the kernel named a buffer that it was not given"));
        }
        let start = self.buffers.base().wrapping_add(usize::from(buffer) * self.buffer_bytes);
        // SAFETY: within `buffers`, by the check above. Its completion has been taken out of the
        // queue and it has not been offered again, so the kernel does not write to it. Other
        // buffers may be written to meanwhile, so the slice covers this one alone.
        Ok(unsafe { std::slice::from_raw_parts(start, bytes) })
    }

    /// Offers a buffer, once at a time. The kernel sees it when the offers are published.
    fn offer(&mut self, buffer: u16) {
        if buffer < BUFFERS {
            let start = self.buffers.base().wrapping_add(usize::from(buffer) * self.buffer_bytes);
            self.offers.offer(buffer, start, self.buffer_bytes as u32);
        }
    }
}

impl Drop for Multishot {
    fn drop(&mut self) {
        // So that nothing stays pinned until the kernel has torn down the ring. If this fails, the
        // teardown unpins it.
        if self.in_flight.ring.quiesce(Duration::from_secs(1)) {
            let _ = self.in_flight.ring.submitter().unregister_buf_ring(GROUP);
        }
    }
}
