//! File to provided buffers to socket: an `IORING_OP_READ` into all of them, linked to one
//! `IORING_OP_SEND` with `IORING_RECVSEND_BUNDLE` (Linux 6.10), on a tuned ring.
//!
//! A bundle takes all buffers that are offered, and hands them to the socket in one call of the
//! network stack. The kernel takes them out of the offers before it begins
//! (io_buffers_select() in io_uring/kbuf.c), so that a bundle which ended early leaves none behind.
//!
//! `IORING_RECVSEND_POLL_FIRST` is not set: it is for a socket that is known to be full
//! (io_uring_prep_send(3)). If the socket does become full, the kernel waits for room itself.
//!
//! # References
//! - io_uring_prep_send_bundle(3)
//! - examples/proxy.c and test/recvsend_bundle.c of liburing

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use io_uring::{opcode, squeue};

use super::buf_ring::{BufRing, GROUP};
use super::in_flight::InFlight;
use super::ring::{Ring, lacking};
use super::sends::{READ, SENDS, Sends, short_read};
use super::transfer::{TransferError, error_of, is_interruption};
use crate::pages::Pages;

/// User data of the bundle.
const BUNDLE: u64 = READ + 1;

/// A ring with provided buffers, through which files are sent to one socket.
///
/// # References
/// [io_uring_prep_send_bundle(3)]
///
/// [io_uring_prep_send_bundle(3)]:
///   https://man7.org/linux/man-pages/man3/io_uring_prep_send_bundle.3.html
#[doc(alias = "io_uring")]
#[doc(alias = "IORING_RECVSEND_BUNDLE")]
#[derive(Debug)]
pub struct SendBundle {
    in_flight: InFlight<Pool>,
    sends: Sends,
    short: u64,
}

/// The buffers, and the ring that offers them to the kernel.
#[derive(Debug)]
struct Pool {
    offers: BufRing,
    buffers: Pages,
}

impl SendBundle {
    /// Creates a tuned ring with io_uring_setup(2) that sends to `socket` through buffers of
    /// `buffer_bytes`, the first of which starts `begins_at` bytes after a page boundary.
    ///
    /// `files` are those that will be sent; they are registered. The ring's worker threads, which
    /// only serve reads that miss the page cache, run on `worker_cpu`. `more` sets MSG_MORE.
    ///
    /// # Errors
    /// - Those of io_uring_setup(2) and io_uring_register(2).
    /// - `ErrorKind::Unsupported`: the kernel lacks an operation.
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
    pub fn new(
        socket: OwnedFd,
        files: &[BorrowedFd<'_>],
        buffer_bytes: usize,
        begins_at: usize,
        more: bool,
        worker_cpu: Option<usize>,
    ) -> io::Result<Self> {
        let (sends, buffers) = Sends::new(socket, buffer_bytes, begins_at, more)?;
        let ring = sends.ring(files, worker_cpu)?;
        if !ring.features().is_feature_recvsend_bundle() {
            return Err(lacking("IORING_RECVSEND_BUNDLE"));
        }
        let pool = Pool { offers: BufRing::new(SENDS as u16)?, buffers };
        // SAFETY: `InFlight` keeps the pool until the ring has nothing outstanding. After that the
        // kernel only unpins it.
        unsafe { pool.offers.register(&ring, 0) }?;
        let in_flight = InFlight::new(ring, pool, Duration::from_secs(1));
        Ok(Self { in_flight, sends, short: 0 })
    }

    /// Sends `len` bytes of `file` from `offset` on with io_uring_enter(2). Blocks while the socket
    /// is full. `file` is number `index` of those that [`new`](Self::new) was given.
    ///
    /// # Errors
    /// See [`TransferError`]. The connection is of no further use.
    ///
    /// # References
    /// - [io_uring_enter(2)]
    /// - [io_uring_prep_send_bundle(3)]
    ///
    /// [io_uring_enter(2)]: https://man7.org/linux/man-pages/man2/io_uring_enter.2.html
    /// [io_uring_prep_send_bundle(3)]:
    ///   https://man7.org/linux/man-pages/man3/io_uring_prep_send_bundle.3.html
    #[doc(alias = "io_uring_enter")]
    #[doc(alias = "IORING_OP_SEND")]
    pub fn send(
        &mut self,
        index: usize,
        file: BorrowedFd<'_>,
        mut offset: u64,
        mut len: usize,
    ) -> Result<(), TransferError> {
        self.in_flight.ring.check_idle().map_err(TransferError::Ring)?;
        while len > 0 {
            let sent = self.bundle(index, file, offset, len.min(self.sends.capacity()))?;
            offset += sent as u64;
            len -= sent;
        }
        Ok(())
    }

    /// Sends `len` bytes, which fit into the buffers, by one bundle. Returns the number of bytes
    /// that the socket took.
    fn bundle(
        &mut self,
        index: usize,
        file: BorrowedFd<'_>,
        offset: u64,
        len: usize,
    ) -> Result<usize, TransferError> {
        let (ring, pool) = self.in_flight.parts();
        let sends = &self.sends;
        for (id, from) in (0..len).step_by(sends.buffer_bytes).enumerate() {
            let bytes = sends.buffer_bytes.min(len - from);
            pool.offers.offer(id as u16, sends.address(&pool.buffers, from), bytes as u32);
        }
        pool.offers.publish();
        let socket = sends.socket(ring);
        let read = sends.read(&pool.buffers, sends.file(ring, index, file), offset, len);
        // The builder of bundles in the io-uring crate sets the same, but cannot link.
        let bundle = opcode::Send::new(socket.fd, std::ptr::null(), 0)
            .ioprio(RECVSEND_BUNDLE)
            .flags(sends.flags)
            .build()
            .flags(socket.flags | squeue::Flags::BUFFER_SELECT)
            .user_data(BUNDLE);
        // SAFETY: the READ writes to the first `len` bytes of the buffers, and the SEND reads what
        // was offered of them. `InFlight` keeps them until the ring has nothing outstanding, and no
        // slice of them is ever made. One chain is in flight at a time (`check_idle`).
        unsafe { ring.push_chain(&[read, bundle]) }.map_err(TransferError::Ring)?;
        let (mut sent, mut failure) = (0, None);
        while ring.outstanding() > 0 {
            ring.enter(1, None).map_err(TransferError::Ring)?;
            while let Some(completion) = ring.pop() {
                match usize::try_from(completion.result) {
                    Ok(taken) if completion.user_data == BUNDLE => sent += taken,
                    _ => failure = Some((completion.user_data, completion.result)),
                }
            }
        }
        if sent == len {
            return Ok(len);
        }
        self.short += 1;
        take_back(ring, pool).map_err(TransferError::Ring)?;
        let to = match failure {
            Some((READ, result)) => short_read(result)?,
            Some((_, result)) if !is_interruption(&error_of(result)) => {
                return Err(TransferError::Socket(error_of(result)));
            }
            _ => len,
        };
        self.sends.send_remaining(ring, &pool.buffers, sent, to)?;
        Ok(to)
    }

    /// Number of io_uring_enter(2) calls so far.
    pub fn calls(&self) -> u64 {
        self.in_flight.ring.calls()
    }

    /// Chains that ended early: a short read, or a short send.
    pub fn short(&self) -> u64 {
        self.short
    }
}

/// `IORING_RECVSEND_BUNDLE` of include/uapi/linux/io_uring.h.
const RECVSEND_BUNDLE: u16 = 1 << 4;

/// Takes all offers back, by registering the ring of buffers again. Nothing is in flight.
fn take_back(ring: &Ring, pool: &mut Pool) -> io::Result<()> {
    ring.submitter().unregister_buf_ring(GROUP)?;
    pool.offers.clear();
    // SAFETY: as in `SendBundle::new`.
    unsafe { pool.offers.register(ring, 0) }
}

impl Drop for SendBundle {
    fn drop(&mut self) {
        // So that nothing stays pinned until the kernel has torn down the ring. If this fails, the
        // teardown unpins it.
        if self.in_flight.ring.quiesce(Duration::from_secs(1)) {
            let _ = self.in_flight.ring.submitter().unregister_buf_ring(GROUP);
        }
    }
}
