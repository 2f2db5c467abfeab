//! Socket to buffers of the kernel's choice: multishot `IORING_OP_RECV` (Linux 6.0) out of a ring of provided buffers
//! (`IORING_REGISTER_PBUF_RING`, 5.19).
//!
//! One request goes on completing, each time with a buffer that the kernel took from the pool, until the pool is
//! empty (ENOBUFS), the stream ends, or the kernel prefers to be asked again (a completion without
//! `IORING_CQE_F_MORE`). Buffers go back to the pool by a store to shared memory, without a call.
//!
//! # References
//! io_uring_prep_recv_multishot(3), io_uring_register_buf_ring(3), io_uring_provided_buffers(7).

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use io_uring::opcode;
use io_uring::types::{self, BufRingEntry};

use super::in_flight::InFlight;
use super::ring::{Completion, Ring, lacking, within_memlock};
use super::{error_of, is_interruption, touched};
use crate::pages::Pages;

/// Buffers in the pool, a power of two. Enough to hold what arrives between two harvests, few enough to stay in a cache.
const BUFFERS: u16 = 16;

/// The pool's name within the ring.
const GROUP: u16 = 0;

/// A ring with a pool of buffers, into which one socket's bytes come.
#[derive(Debug)]
pub struct Multishot {
    lent: InFlight<Pool>,
    socket: OwnedFd,
    /// A request is under way.
    armed: bool,
    /// Completions that have not been looked at.
    waiting: VecDeque<Completion>,
    /// The stream's end, or the error that ended it, told once everything before it was.
    end: Option<Result<(), i32>>,
}

/// The buffers, and the ring in which they are offered to the kernel.
#[derive(Debug)]
struct Pool {
    /// `BUFFERS` entries of `struct io_uring_buf`; the tail lies in the first.
    offers: Pages,
    buffers: Pages,
    buffer_bytes: usize,
    /// Buffers offered so far, modulo 2^16.
    tail: u16,
}

impl Multishot {
    /// A ring that receives from `socket` into buffers of `buffer_bytes`.
    ///
    /// # Errors
    /// As io_uring_setup(2) and io_uring_register(2); `ErrorKind::Unsupported` where the kernel lacks the operation.
    pub fn new(socket: OwnedFd, buffer_bytes: usize) -> io::Result<Self> {
        let buffer_bytes = buffer_bytes.clamp(1, 1 << 26);
        let ring = Ring::new(2, 4 * u32::from(BUFFERS))?;
        ring.require(&[(opcode::Recv::CODE, "IORING_OP_RECV")])?;
        let offers = Pages::new(usize::from(BUFFERS) * size_of::<BufRingEntry>())?;
        let mut pool = Pool { offers, buffers: touched(usize::from(BUFFERS) * buffer_bytes)?, buffer_bytes, tail: 0 };
        let base = pool.offers.base() as u64;
        // SAFETY: `offers` is page-aligned, has room for BUFFERS entries, and stays mapped until the ring is owed nothing
        // (`InFlight`); what the kernel does with it after that is to unpin it.
        let register = || unsafe { ring.submitter().register_buf_ring_with_flags(base, BUFFERS, GROUP, 0) };
        within_memlock(pool.offers.len(), register).map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => lacking("IORING_REGISTER_PBUF_RING"),
            _ => error,
        })?;
        for buffer in 0..BUFFERS {
            pool.offer(buffer);
        }
        pool.publish();
        let lent = InFlight::new(ring, pool, Duration::from_secs(1));
        let mut new = Self { lent, socket, armed: false, waiting: VecDeque::new(), end: None };
        new.probe()?;
        Ok(new)
    }

    /// Asks for the end of a stream that has ended, so as not to take a byte from the socket before anybody wants it.
    fn probe(&mut self) -> io::Result<()> {
        let (ended, _) = UnixStream::pair()?;
        self.arm(ended.as_raw_fd())?;
        while self.waiting.is_empty() {
            self.harvest(1)?;
        }
        for completion in std::mem::take(&mut self.waiting) {
            if let Some(buffer) = completion.buffer {
                self.lent.parts().1.offer(buffer);
            }
            match completion.result {
                0 => {}
                result if result == -libc::EINVAL => return Err(lacking("multishot IORING_OP_RECV")),
                result => return Err(error_of(result)),
            }
        }
        self.lent.parts().1.publish();
        Ok(())
    }

    /// Puts the request into the queue.
    fn arm(&mut self, socket: RawFd) -> io::Result<()> {
        let recv = opcode::RecvMulti::new(types::Fd(socket), GROUP).build();
        // SAFETY: the request points to no memory itself; the pool's buffers, which the kernel will write to, are kept by
        // `InFlight` until the ring is owed nothing, and are not touched while the kernel has them.
        unsafe { self.lent.ring.push(&recv)? };
        self.armed = true;
        Ok(())
    }

    /// Waits until `want` completions are there and takes out all that are.
    fn harvest(&mut self, want: usize) -> io::Result<()> {
        self.lent.ring.enter(want, None)?;
        while let Some(completion) = self.lent.ring.pop() {
            self.armed &= completion.more;
            self.waiting.push_back(completion);
        }
        Ok(())
    }

    /// Takes what came, all that is there, waiting until there is something; shows it to `inspect` in order. Returns how
    /// many bytes; 0 at the end of the stream.
    ///
    /// # Errors
    /// What recv(2) says.
    pub fn receive(&mut self, inspect: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let mut total = 0;
        while total == 0 {
            if let Some(end) = self.end {
                return end.map(|()| 0).map_err(error_of);
            }
            if self.waiting.is_empty() {
                if !self.armed {
                    self.arm(self.socket.as_raw_fd())?;
                }
                self.harvest(1)?;
            }
            while let Some(completion) = self.waiting.pop_front() {
                match (usize::try_from(completion.result), completion.buffer) {
                    (Ok(bytes), Some(buffer)) if bytes > 0 => {
                        let pool = self.lent.parts().1;
                        let slice = pool.taken(buffer, bytes)?;
                        inspect(slice);
                        pool.offer(buffer);
                        total += bytes;
                    }
                    (Ok(_), buffer) => {
                        if let Some(buffer) = buffer {
                            self.lent.parts().1.offer(buffer);
                        }
                        self.end = Some(Ok(()));
                    }
                    // The pool was empty; it is not any more.
                    (Err(_), _) if completion.result == -libc::ENOBUFS => {}
                    (Err(_), _) if is_interruption(&error_of(completion.result)) => {}
                    (Err(_), _) => self.end = Some(Err(completion.result)),
                }
            }
            self.lent.parts().1.publish();
        }
        Ok(total)
    }

    /// Calls of io_uring_enter(2) so far.
    pub fn calls(&self) -> u64 {
        self.lent.ring.calls()
    }
}

impl Pool {
    /// The first `bytes` of a buffer that the kernel has filled and handed over.
    fn taken(&mut self, buffer: u16, bytes: usize) -> io::Result<&[u8]> {
        if buffer >= BUFFERS || bytes > self.buffer_bytes {
            return Err(io::Error::other("the kernel named a buffer that it was not given"));
        }
        let start = self.buffers.base().wrapping_add(usize::from(buffer) * self.buffer_bytes);
        // SAFETY: within `buffers`, by the check above. Its completion was taken out of the queue and it has not been
        // offered again, so the kernel does not write to it; other buffers may be written to meanwhile, so the slice is
        // made of this one alone.
        Ok(unsafe { std::slice::from_raw_parts(start, bytes) })
    }

    /// Puts a buffer at the tail of the offers, where the kernel does not see it before [`publish`](Self::publish).
    fn offer(&mut self, buffer: u16) {
        if buffer >= BUFFERS {
            return;
        }
        let at = usize::from(self.tail & (BUFFERS - 1));
        let entry = self.offers.base().cast::<BufRingEntry>().wrapping_add(at);
        let start = self.buffers.base().wrapping_add(usize::from(buffer) * self.buffer_bytes);
        // SAFETY: entry `at` lies within `offers` (BUFFERS entries) and is aligned, for pages are. At most BUFFERS buffers
        // exist, each offered once at a time, so this entry's last offer has been taken, and the kernel reads it again
        // only after the tail was published. Only these three fields are set: the tail shares the first entry.
        unsafe {
            (*entry).set_addr(start as u64);
            (*entry).set_len(self.buffer_bytes as u32);
            (*entry).set_bid(buffer);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    /// Lets the kernel see what was offered.
    fn publish(&mut self) {
        // SAFETY: `tail` only computes an address within the first entry of `offers`.
        let tail = unsafe { BufRingEntry::tail(self.offers.base().cast::<BufRingEntry>()) };
        // SAFETY: the address is valid and aligned (entry 0, offset 14), this side only ever stores to it and the kernel
        // only loads it; the Release store orders the entries before it.
        unsafe { AtomicU16::from_ptr(tail.cast_mut()) }.store(self.tail, Ordering::Release);
    }
}

impl Drop for Multishot {
    fn drop(&mut self) {
        // So that nothing stays pinned until the kernel has torn the ring down; should it fail, that does it.
        if self.lent.ring.quiesce(Duration::from_secs(1)) {
            let _ = self.lent.ring.submitter().unregister_buf_ring(GROUP);
        }
    }
}
