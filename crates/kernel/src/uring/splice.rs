//! File to pipe to socket: two linked `IORING_OP_SPLICE` (Linux 5.7).
//!
//! io_uring never splices on the submitting thread, because splice(2) may block anywhere. Both
//! requests go to a worker thread (`iou-wrk-*`), which is a thread of this process. So the cost is
//! not in the submitter's CPU time (`RUSAGE_THREAD`).
//!
//! # References
//! - io_uring_prep_splice(3)
//! - io_splice() in io_uring/splice.c

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::in_flight::InFlight;
use super::ring::Ring;
use super::transfer::{TransferError, error_of, is_interruption};
use crate::splice::Pipe;
use io_uring::{opcode, squeue, types};

/// A ring and a pipe, through which files are sent to one socket.
///
/// # References
/// [io_uring_prep_splice(3)]
///
/// [io_uring_prep_splice(3)]: https://man7.org/linux/man-pages/man3/io_uring_prep_splice.3.html
#[doc(alias = "io_uring")]
#[doc(alias = "IORING_OP_SPLICE")]
#[derive(Debug)]
pub struct Splice {
    in_flight: InFlight<Pipe>,
    socket: OwnedFd,
    short: u64,
    /// A failure has left bytes in the pipe.
    poisoned: bool,
}

impl Splice {
    /// Creates a ring with io_uring_setup(2) that sends to `socket` through `pipe`, which must be
    /// empty. Its worker threads run on `worker_cpu`.
    ///
    /// # Errors
    /// - Those of io_uring_setup(2) and IORING_REGISTER_IOWQ_AFF.
    /// - `ErrorKind::Unsupported`: the kernel lacks the operation.
    ///
    /// # References
    /// - [io_uring_setup(2)]
    /// - [io_uring_register(2)], IORING_REGISTER_IOWQ_AFF
    ///
    /// [io_uring_setup(2)]: https://man7.org/linux/man-pages/man2/io_uring_setup.2.html
    /// [io_uring_register(2)]: https://man7.org/linux/man-pages/man2/io_uring_register.2.html
    #[doc(alias = "io_uring_setup")]
    #[doc(alias = "IORING_REGISTER_IOWQ_AFF")]
    pub fn new(socket: OwnedFd, pipe: Pipe, worker_cpu: Option<usize>) -> io::Result<Self> {
        let ring = Ring::new(4, 8)?;
        ring.require(&[(opcode::Splice::CODE, "IORING_OP_SPLICE")])?;
        if let Some(cpu) = worker_cpu {
            ring.pin_workers(cpu)?;
        }
        Ok(Self {
            in_flight: InFlight::new(ring, pipe, Duration::from_secs(1)),
            socket,
            short: 0,
            poisoned: false,
        })
    }

    /// Sends `len` bytes of `file` from `offset` on with io_uring_enter(2). Blocks while the socket
    /// is full. `more` sets SPLICE_F_MORE: more data follows at once.
    ///
    /// # Errors
    /// See [`TransferError`]. The connection is of no further use.
    ///
    /// # References
    /// - [io_uring_enter(2)]
    /// - [io_uring_prep_splice(3)]
    ///
    /// [io_uring_enter(2)]: https://man7.org/linux/man-pages/man2/io_uring_enter.2.html
    /// [io_uring_prep_splice(3)]: https://man7.org/linux/man-pages/man3/io_uring_prep_splice.3.html
    #[doc(alias = "io_uring_enter")]
    #[doc(alias = "IORING_OP_SPLICE")]
    pub fn send(
        &mut self,
        file: BorrowedFd<'_>,
        mut offset: u64,
        mut len: usize,
        more: bool,
    ) -> Result<(), TransferError> {
        self.in_flight.ring.check_idle().map_err(TransferError::Ring)?;
        if self.poisoned {
            return Err(TransferError::Ring(io::Error::other(
                "an earlier failure left bytes in the pipe",
            )));
        }
        while len > 0 {
            let sent = self
                .through_the_pipe(file, offset, len, more)
                .inspect_err(|_| self.poisoned = true)?;
            offset += sent as u64;
            len -= sent;
        }
        Ok(())
    }

    /// Fills the pipe once and empties it. Returns the number of bytes that went through.
    fn through_the_pipe(
        &mut self,
        file: BorrowedFd<'_>,
        offset: u64,
        len: usize,
        more: bool,
    ) -> Result<usize, TransferError> {
        let (ring, pipe) = self.in_flight.parts();
        // A pipe counts pages, not bytes: data that begins inside a page fits up to one page
        // boundary less.
        let page = crate::pages::page_size();
        let bytes = len.min(pipe.capacity_bytes() - offset as usize % page);
        let (file, pipe_read, pipe_write) = (
            types::Fd(file.as_raw_fd()),
            types::Fd(pipe.read_end.as_raw_fd()),
            types::Fd(pipe.write_end.as_raw_fd()),
        );
        let socket = types::Fd(self.socket.as_raw_fd());
        let fill = opcode::Splice::new(file, offset as i64, pipe_write, -1, bytes as u32)
            .build()
            .flags(squeue::Flags::IO_LINK)
            .user_data(0);
        let more = if more || bytes < len { libc::SPLICE_F_MORE } else { 0 };
        let emptying = |bytes: usize| {
            opcode::Splice::new(pipe_read, -1, socket, -1, bytes as u32).flags(more).build()
        };
        let empty = emptying(bytes).user_data(1);
        let mut results = [0, 0];
        // SAFETY: a splice points to no memory.
        unsafe { ring.push(&fill).and_then(|()| ring.push(&empty)) }
            .and_then(|()| ring.run(&mut results))
            .map_err(TransferError::Ring)?;

        let filled = match usize::try_from(results[0]) {
            Ok(0) => return Err(TransferError::FileEnded),
            Ok(filled) => filled,
            Err(_) if is_interruption(&error_of(results[0])) => return Ok(0),
            Err(_) => return Err(TransferError::File(error_of(results[0]))),
        };
        // A short fill cancels the linked request.
        let mut emptied = 0;
        let mut result = if filled < bytes { 0 } else { results[1] };
        loop {
            match usize::try_from(result) {
                Ok(taken) => emptied += taken,
                Err(_) if is_interruption(&error_of(result)) => {}
                Err(_) => return Err(TransferError::Socket(error_of(result))),
            }
            if emptied >= filled {
                return Ok(filled);
            }
            self.short += 1;
            let rest = emptying(filled - emptied).user_data(0);
            let mut answer = [0];
            // SAFETY: a splice points to no memory.
            unsafe { ring.push(&rest) }
                .and_then(|()| ring.run(&mut answer))
                .map_err(TransferError::Ring)?;
            result = answer[0];
        }
    }

    /// Number of io_uring_enter(2) calls so far.
    pub fn calls(&self) -> u64 {
        self.in_flight.ring.calls()
    }

    /// Short fills of the pipe, and short splices to the socket.
    pub fn short(&self) -> u64 {
        self.short
    }
}
