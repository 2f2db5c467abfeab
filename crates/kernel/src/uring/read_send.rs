//! File to buffer to socket: `IORING_OP_READ` linked to `IORING_OP_SEND`, several such pairs in one
//! chain.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use io_uring::{opcode, squeue, types};

use super::in_flight::InFlight;
use super::ring::Ring;
use super::transfer::{TransferError, error_of, is_interruption, touched};
use crate::pages::Pages;

/// Pairs of READ and SEND in one chain, and so per io_uring_enter(2).
const PAIRS: usize = 16;

/// Largest length of one request: a 32-bit length, rounded like MAX_RW_COUNT.
const LARGEST_BUFFER: usize = 1 << 30;

/// A ring with one buffer, through which files are sent to one socket.
///
/// A chain is strictly ordered (`IOSQE_IO_LINK`): a READ begins after the SEND before it has ended.
/// So one buffer serves all of them and stays in the cache. A short or failed request cancels the
/// rest of its chain.
///
/// # References
/// - [io_uring_prep_read(3)]
/// - [io_uring_prep_send(3)]
///
/// [io_uring_prep_read(3)]: https://man7.org/linux/man-pages/man3/io_uring_prep_read.3.html
/// [io_uring_prep_send(3)]: https://man7.org/linux/man-pages/man3/io_uring_prep_send.3.html
#[doc(alias = "io_uring")]
#[doc(alias = "IORING_OP_SEND")]
#[doc(alias = "IORING_OP_READ")]
#[derive(Debug)]
pub struct ReadSend {
    in_flight: InFlight<Pages>,
    socket: OwnedFd,
    buffer_bytes: usize,
    /// Offset of the buffer in its memory.
    begins_at: usize,
    flags: i32,
    short: u64,
}

impl ReadSend {
    /// Creates a ring with io_uring_setup(2) that sends to `socket` through a buffer of
    /// `buffer_bytes`, which starts `begins_at` bytes after a page boundary.
    ///
    /// The ring's worker threads, which only serve reads that miss the page cache, run on
    /// `worker_cpu`. `more` sets MSG_MORE on every SEND.
    ///
    /// # Errors
    /// - Those of io_uring_setup(2).
    /// - `ErrorKind::Unsupported`: the kernel lacks an operation.
    ///
    /// # References
    /// - [io_uring_setup(2)]
    /// - [io_uring_register(2)], IORING_REGISTER_IOWQ_AFF
    ///
    /// [io_uring_setup(2)]: https://man7.org/linux/man-pages/man2/io_uring_setup.2.html
    /// [io_uring_register(2)]: https://man7.org/linux/man-pages/man2/io_uring_register.2.html
    #[doc(alias = "io_uring_setup")]
    #[doc(alias = "IORING_REGISTER_IOWQ_AFF")]
    pub fn new(
        socket: OwnedFd,
        buffer_bytes: usize,
        begins_at: usize,
        more: bool,
        worker_cpu: Option<usize>,
    ) -> io::Result<Self> {
        let ring = Ring::new(2 * PAIRS as u32, 4 * PAIRS as u32)?;
        ring.require(&[
            (opcode::Read::CODE, "IORING_OP_READ"),
            (opcode::Send::CODE, "IORING_OP_SEND"),
        ])?;
        if let Some(cpu) = worker_cpu {
            ring.pin_workers(cpu)?;
        }
        let buffer_bytes = buffer_bytes.clamp(1, LARGEST_BUFFER);
        let begins_at = begins_at.min(LARGEST_BUFFER);
        let in_flight =
            InFlight::new(ring, touched(begins_at + buffer_bytes)?, Duration::from_secs(1));
        let flags = libc::MSG_WAITALL | libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 };
        Ok(Self { in_flight, socket, buffer_bytes, begins_at, flags, short: 0 })
    }

    /// Sends `len` bytes of `file` from `offset` on with io_uring_enter(2). Blocks while the socket
    /// is full.
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
        file: BorrowedFd<'_>,
        mut offset: u64,
        mut len: usize,
    ) -> Result<(), TransferError> {
        self.in_flight.ring.check_idle().map_err(TransferError::Ring)?;
        while len > 0 {
            let sent = self.chain(file, offset, len)?;
            offset += sent as u64;
            len -= sent;
        }
        Ok(())
    }

    /// Sends up to [`PAIRS`] buffers of the file in one chain. Returns the number of bytes that the
    /// socket took.
    fn chain(
        &mut self,
        file: BorrowedFd<'_>,
        offset: u64,
        len: usize,
    ) -> Result<usize, TransferError> {
        let pairs = len.div_ceil(self.buffer_bytes).min(PAIRS);
        let wanted = |pair: usize| self.buffer_bytes.min(len - pair * self.buffer_bytes);
        let (ring, memory) = self.in_flight.parts();
        let start = memory.base().wrapping_add(self.begins_at);
        let (file, socket) = (types::Fd(file.as_raw_fd()), types::Fd(self.socket.as_raw_fd()));
        for pair in 0..pairs {
            let bytes = wanted(pair) as u32;
            let read = opcode::Read::new(file, start, bytes)
                .offset(offset + (pair * self.buffer_bytes) as u64)
                .build()
                .flags(squeue::Flags::IO_LINK)
                .user_data(2 * pair as u64);
            let link =
                if pair + 1 < pairs { squeue::Flags::IO_LINK } else { squeue::Flags::empty() };
            let send = send_of(socket, start, bytes, self.flags)
                .flags(link)
                .user_data(2 * pair as u64 + 1);
            // SAFETY: both point to `begins_at` in `memory`, for at most `buffer_bytes`, and it is
            // at least as large as their sum. `InFlight` keeps it until the ring has nothing
            // outstanding, and no slice of it is ever made. Only one chain is in flight at a time
            // (`must_be_idle`).
            unsafe { ring.push(&read).and_then(|()| ring.push(&send)) }
                .map_err(TransferError::Ring)?;
        }
        let mut results = [-libc::ECANCELED; 2 * PAIRS];
        ring.run(&mut results).map_err(TransferError::Ring)?;

        let mut sent = 0;
        for pair in 0..pairs {
            let (read, taken) = (results[2 * pair], results[2 * pair + 1]);
            let read = match usize::try_from(read) {
                Ok(0) => return Err(TransferError::FileEnded),
                Ok(read) => read,
                Err(_) if is_interruption(&error_of(read)) => return Ok(sent),
                Err(_) => return Err(TransferError::File(error_of(read))),
            };
            if taken >= 0 && taken as usize == wanted(pair) {
                sent += read;
                continue;
            }
            // The chain ended here. Either the read was short and its send was cancelled, or the
            // send was short or failed. In both cases the buffer still holds what was read last.
            let taken = match usize::try_from(taken) {
                Ok(taken) => taken,
                Err(_) if read < wanted(pair) || is_interruption(&error_of(taken)) => 0,
                Err(_) => return Err(TransferError::Socket(error_of(taken))),
            };
            self.short += 1;
            self.send_remaining(taken, read)?;
            return Ok(sent + read);
        }
        Ok(sent)
    }

    /// Sends the bytes `from..to` of the buffer.
    fn send_remaining(&mut self, mut from: usize, to: usize) -> Result<(), TransferError> {
        let (ring, memory) = self.in_flight.parts();
        let socket = types::Fd(self.socket.as_raw_fd());
        while from < to {
            let start = memory.base().wrapping_add(self.begins_at + from);
            let send = send_of(socket, start, (to - from) as u32, self.flags).user_data(0);
            let mut result = [0];
            // SAFETY: as in `chain`. `from..to` lies within the buffer.
            unsafe { ring.push(&send) }
                .and_then(|()| ring.run(&mut result))
                .map_err(TransferError::Ring)?;
            match usize::try_from(result[0]) {
                Ok(taken) => from += taken,
                Err(_) if is_interruption(&error_of(result[0])) => {}
                Err(_) => return Err(TransferError::Socket(error_of(result[0]))),
            }
        }
        Ok(())
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

/// A SEND. With MSG_WAITALL the kernel itself continues it until all is sent.
fn send_of(socket: types::Fd, start: *const u8, bytes: u32, flags: i32) -> squeue::Entry {
    opcode::Send::new(socket, start, bytes).flags(flags).build()
}
