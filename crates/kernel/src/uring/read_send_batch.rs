//! File to buffers to socket by one chain: an `IORING_OP_READ` of up to a megabyte, linked to as
//! many `IORING_OP_SEND` as it filled buffers, on a tuned ring.
//!
//! All requests but the last have `IOSQE_CQE_SKIP_SUCCESS` (Linux 5.17), so that a chain completes
//! once.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use io_uring::squeue;

use super::in_flight::InFlight;
use super::sends::{READ, SENDS, Sends, short_read};
use super::transfer::{TransferError, error_of, is_interruption};
use crate::pages::Pages;

/// A ring with buffers, through which files are sent to one socket.
///
/// # References
/// - [io_uring_enter(2)], IOSQE_IO_LINK and IOSQE_CQE_SKIP_SUCCESS
/// - [io_uring_prep_send(3)]
///
/// [io_uring_enter(2)]: https://man7.org/linux/man-pages/man2/io_uring_enter.2.html
/// [io_uring_prep_send(3)]: https://man7.org/linux/man-pages/man3/io_uring_prep_send.3.html
#[doc(alias = "io_uring")]
#[doc(alias = "IORING_OP_SEND")]
#[doc(alias = "IOSQE_CQE_SKIP_SUCCESS")]
#[derive(Debug)]
pub struct ReadSendBatch {
    in_flight: InFlight<Pages>,
    sends: Sends,
    requests: Vec<squeue::Entry>,
    short: u64,
}

impl ReadSendBatch {
    /// Creates a tuned ring with io_uring_setup(2) that sends to `socket` through buffers of
    /// `buffer_bytes`, the first of which starts `begins_at` bytes after a page boundary.
    ///
    /// `files` are those that will be sent; they are registered. The ring's worker threads, which
    /// only serve reads that miss the page cache, run on `worker_cpu`. `more` sets MSG_MORE on
    /// every SEND.
    ///
    /// # Errors
    /// - Those of io_uring_setup(2).
    /// - `ErrorKind::Unsupported`: the kernel lacks an operation.
    ///
    /// # References
    /// - [io_uring_setup(2)]
    /// - [io_uring_register(2)], IORING_REGISTER_FILES and IORING_REGISTER_RING_FDS
    ///
    /// [io_uring_setup(2)]: https://man7.org/linux/man-pages/man2/io_uring_setup.2.html
    /// [io_uring_register(2)]: https://man7.org/linux/man-pages/man2/io_uring_register.2.html
    #[doc(alias = "io_uring_setup")]
    #[doc(alias = "IORING_REGISTER_FILES")]
    #[doc(alias = "IORING_REGISTER_RING_FDS")]
    pub fn new(
        socket: OwnedFd,
        files: &[BorrowedFd<'_>],
        buffer_bytes: usize,
        begins_at: usize,
        more: bool,
        worker_cpu: Option<usize>,
    ) -> io::Result<Self> {
        let (sends, memory) = Sends::new(socket, buffer_bytes, begins_at, more)?;
        let ring = sends.ring(files, worker_cpu)?;
        let in_flight = InFlight::new(ring, memory, Duration::from_secs(1));
        Ok(Self { in_flight, sends, requests: Vec::with_capacity(1 + SENDS), short: 0 })
    }

    /// The same with a chain of at most so many sends.
    #[must_use]
    pub fn in_chains_of(mut self, sends: usize) -> Self {
        self.sends.buffers = self.sends.buffers.min(sends.max(1));
        self
    }

    /// Sends `len` bytes of `file` from `offset` on with io_uring_enter(2). Blocks while the socket
    /// is full. `file` is number `index` of those that [`new`](Self::new) was given.
    ///
    /// # Errors
    /// See [`TransferError`]. The connection is of no further use.
    ///
    /// # References
    /// - [io_uring_enter(2)]
    /// - [io_uring_prep_send(3)]
    ///
    /// [io_uring_enter(2)]: https://man7.org/linux/man-pages/man2/io_uring_enter.2.html
    /// [io_uring_prep_send(3)]: https://man7.org/linux/man-pages/man3/io_uring_prep_send.3.html
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
            let sent = self.chain(index, file, offset, len.min(self.sends.capacity()))?;
            offset += sent as u64;
            len -= sent;
        }
        Ok(())
    }

    /// Sends `len` bytes, which fit into the buffers, by one chain. Returns the number of bytes
    /// that the socket took.
    fn chain(
        &mut self,
        index: usize,
        file: BorrowedFd<'_>,
        offset: u64,
        len: usize,
    ) -> Result<usize, TransferError> {
        let (ring, memory) = self.in_flight.parts();
        let sends = &self.sends;
        let bytes = sends.buffer_bytes;
        let count = len.div_ceil(bytes);
        self.requests.clear();
        self.requests.push(sends.read(memory, sends.file(ring, index, file), offset, len));
        let socket = sends.socket(ring);
        for number in 1..=count {
            let send = sends
                .send(memory, socket, (number - 1) * bytes, len.min(number * bytes))
                .user_data(number as u64);
            self.requests.push(if number < count {
                send.flags(squeue::Flags::IO_LINK | squeue::Flags::SKIP_SUCCESS)
            } else {
                send
            });
        }
        // SAFETY: all point to the first `len` bytes of the buffers, which are as long at least.
        // `InFlight` keeps them until the ring has nothing outstanding, and no slice of them is
        // ever made. One chain is in flight at a time (`check_idle`).
        unsafe { ring.push_chain(&self.requests) }.map_err(TransferError::Ring)?;
        let mut completion = None;
        while ring.outstanding() > 0 {
            ring.enter(1, None).map_err(TransferError::Ring)?;
            while let Some(last) = ring.pop() {
                completion = completion.or(Some((last.user_data, last.result)));
            }
        }
        let Some((number, result)) = completion else {
            return Err(TransferError::Ring(io::Error::other("a chain has no completion")));
        };
        let (from, to) = if number == READ {
            // The read was short, and nothing was sent.
            self.short += 1;
            (0, short_read(result)?)
        } else {
            let before = (number as usize - 1) * bytes;
            match usize::try_from(result) {
                Ok(taken) if before + taken == len => return Ok(len),
                Ok(taken) => {
                    self.short += 1;
                    (before + taken, len)
                }
                Err(_) if is_interruption(&error_of(result)) => (before, len),
                Err(_) => return Err(TransferError::Socket(error_of(result))),
            }
        };
        self.sends.send_remaining(ring, memory, from, to)?;
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
