//! Socket to pipe to socket: two linked `IORING_OP_SPLICE` (Linux 5.7).
//!
//! A socket gives what has arrived, which is mostly less than the pipe holds. A short request breaks
//! an ordinary link (`IOSQE_IO_LINK`), so the link is a hard one (`IOSQE_IO_HARDLINK`): the second
//! request empties the pipe of whatever the first put there. Where that was nothing,
//! `SPLICE_F_NONBLOCK` makes it end instead of waiting for bytes. The flag is about the pipe: the
//! request still waits for room in the socket (`splice_to_socket` in fs/splice.c).
//!
//! Both requests are done by a worker thread, as in `splice.rs`.
//!
//! # References
//! - io_uring_prep_splice(3)
//! - io_uring_enter(2), IOSQE_IO_HARDLINK
//! - io_splice() in io_uring/splice.c

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Duration;

use super::in_flight::InFlight;
use super::ring::Ring;
use super::transfer::{error_of, is_interruption};
use crate::splice::Pipe;
use io_uring::{opcode, squeue, types};

/// The socket on which a move failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpliceEnd {
    /// The one that bytes come from, or io_uring itself failed.
    Source,
    /// The one that they go to.
    Target,
}

type Result<T> = std::result::Result<T, (SpliceEnd, io::Error)>;

fn at_source(error: io::Error) -> (SpliceEnd, io::Error) {
    (SpliceEnd::Source, error)
}

/// A ring and a pipe, through which everything that arrives on one socket is sent from another.
///
/// # References
/// [io_uring_prep_splice(3)]
///
/// [io_uring_prep_splice(3)]: https://man7.org/linux/man-pages/man3/io_uring_prep_splice.3.html
#[doc(alias = "io_uring")]
#[doc(alias = "IORING_OP_SPLICE")]
#[derive(Debug)]
pub struct SpliceSockets {
    in_flight: InFlight<Pipe>,
    source: OwnedFd,
    target: OwnedFd,
    /// A failure has left bytes in the pipe.
    poisoned: bool,
}

impl SpliceSockets {
    /// Creates a ring with io_uring_setup(2) for `source` and `target`, and `pipe` between them,
    /// which must be empty. Its worker threads run on `worker_cpu`.
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
    pub fn new(
        source: OwnedFd,
        target: OwnedFd,
        pipe: Pipe,
        worker_cpu: Option<usize>,
    ) -> io::Result<Self> {
        let ring = Ring::new(4, 8)?;
        ring.require(&[(opcode::Splice::CODE, "IORING_OP_SPLICE")])?;
        if let Some(cpu) = worker_cpu {
            ring.pin_workers(cpu)?;
        }
        let in_flight = InFlight::new(ring, pipe, Duration::from_secs(1));
        Ok(Self { in_flight, source, target, poisoned: false })
    }

    /// Moves what has arrived, at most what the pipe holds, with io_uring_enter(2). Blocks until
    /// something has, and while the target is full. Returns the number of bytes; 0 at the end of
    /// the stream.
    ///
    /// # Errors
    /// - ECONNRESET of the source: its peer is gone.
    /// - EPIPE, ECONNRESET of the target: its peer is gone. The bytes in the pipe are lost.
    ///
    /// # References
    /// - [io_uring_enter(2)]
    /// - [io_uring_prep_splice(3)]
    ///
    /// [io_uring_enter(2)]: https://man7.org/linux/man-pages/man2/io_uring_enter.2.html
    /// [io_uring_prep_splice(3)]: https://man7.org/linux/man-pages/man3/io_uring_prep_splice.3.html
    #[doc(alias = "io_uring_enter")]
    #[doc(alias = "IORING_OP_SPLICE")]
    pub fn forward(&mut self) -> Result<usize> {
        self.in_flight.ring.check_idle().map_err(at_source)?;
        if self.poisoned {
            let error = io::Error::other("an earlier failure left bytes in the pipe");
            return Err(at_source(error));
        }
        loop {
            let moved = self.through_the_pipe().inspect_err(|_| self.poisoned = true)?;
            if let Some(bytes) = moved {
                return Ok(bytes);
            }
        }
    }

    /// Fills the pipe once and empties it; `None`: a signal came before anything was moved.
    fn through_the_pipe(&mut self) -> Result<Option<usize>> {
        let (ring, pipe) = self.in_flight.parts();
        let bytes = pipe.capacity_bytes() as u32; // at most 2^31 (round_pipe_size, fs/pipe.c)
        let (source, target) =
            (types::Fd(self.source.as_raw_fd()), types::Fd(self.target.as_raw_fd()));
        let (pipe_read, pipe_write) =
            (types::Fd(pipe.read_end.as_raw_fd()), types::Fd(pipe.write_end.as_raw_fd()));
        let fill = opcode::Splice::new(source, -1, pipe_write, -1, bytes)
            .flags(libc::SPLICE_F_MOVE)
            .build()
            .flags(squeue::Flags::IO_HARDLINK)
            .user_data(0);
        let emptying = |bytes: u32| {
            opcode::Splice::new(pipe_read, -1, target, -1, bytes)
                .flags(libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK)
                .build()
        };
        let mut results = [0, 0];
        // SAFETY: a splice points to no memory.
        unsafe { ring.push(&fill).and_then(|()| ring.push(&emptying(bytes).user_data(1))) }
            .and_then(|()| ring.run(&mut results))
            .map_err(at_source)?;

        let filled = match u32::try_from(results[0]) {
            Ok(0) => return Ok(Some(0)),
            Ok(filled) => filled,
            Err(_) if is_interruption(&error_of(results[0])) => return Ok(None),
            Err(_) => return Err(at_source(error_of(results[0]))),
        };
        let (mut emptied, mut result) = (0, results[1]);
        loop {
            match u32::try_from(result) {
                Ok(taken) => emptied += taken,
                Err(_) if is_interruption(&error_of(result)) => {}
                Err(_) => return Err((SpliceEnd::Target, error_of(result))),
            }
            if emptied >= filled {
                return Ok(Some(filled as usize));
            }
            let mut answer = [0];
            // SAFETY: a splice points to no memory.
            unsafe { ring.push(&emptying(filled - emptied).user_data(0)) }
                .and_then(|()| ring.run(&mut answer))
                .map_err(at_source)?;
            result = answer[0];
        }
    }

    /// Number of io_uring_enter(2) calls so far.
    pub fn calls(&self) -> u64 {
        self.in_flight.ring.calls()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;
    use crate::testing::connection;

    #[test]
    fn what_arrives_on_one_socket_leaves_by_the_other_until_the_end() {
        let (mut client, source) = connection();
        let (target, mut server) = connection();
        let pipe = Pipe::with_capacity(1 << 14).unwrap();
        let bytes: Vec<u8> = (0..100_001_u32).map(|at| (at * 7 + at / 256) as u8).collect();
        let mut got = Vec::new();
        let mut spliced = match SpliceSockets::new(source.into(), target.into(), pipe, None) {
            Ok(spliced) => spliced,
            Err(error) => return eprintln!("skipped: no IORING_OP_SPLICE: {error}"),
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                client.write_all(&bytes).unwrap();
                drop(client);
            });
            scope.spawn(|| server.read_to_end(&mut got).unwrap());
            let mut total = 0;
            loop {
                match spliced.forward().unwrap() {
                    0 => break,
                    moved => total += moved,
                }
            }
            assert_eq!(total, bytes.len());
            assert_eq!(spliced.forward().unwrap(), 0);
            drop(spliced);
        });
        assert!(got == bytes, "other bytes arrived than were sent");
    }
}
