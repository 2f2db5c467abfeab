//! Socket to buffer: `IORING_OP_RECV` (Linux 5.6), one request at a time.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use io_uring::{opcode, types};

use super::in_flight::InFlight;
use super::ring::Ring;
use super::transfer::{error_of, is_interruption, touched};
use crate::pages::Pages;

/// A ring with one buffer that receives from one socket.
///
/// # References
/// [io_uring_prep_recv(3)]
///
/// [io_uring_prep_recv(3)]: https://man7.org/linux/man-pages/man3/io_uring_prep_recv.3.html
#[doc(alias = "io_uring")]
#[doc(alias = "IORING_OP_RECV")]
#[derive(Debug)]
pub struct Receive {
    in_flight: InFlight<Pages>,
    socket: OwnedFd,
    buffer_bytes: usize,
}

impl Receive {
    /// Creates a ring with io_uring_setup(2) that receives from `socket` into a buffer of
    /// `buffer_bytes`.
    ///
    /// # Errors
    /// - Those of io_uring_setup(2).
    /// - `ErrorKind::Unsupported`: the kernel lacks the operation.
    ///
    /// # References
    /// [io_uring_setup(2)]
    ///
    /// [io_uring_setup(2)]: https://man7.org/linux/man-pages/man2/io_uring_setup.2.html
    #[doc(alias = "io_uring_setup")]
    pub fn new(socket: OwnedFd, buffer_bytes: usize) -> io::Result<Self> {
        let ring = Ring::new(2, 4)?;
        ring.require(&[(opcode::Recv::CODE, "IORING_OP_RECV")])?;
        let buffer_bytes = buffer_bytes.clamp(1, 1 << 30);
        Ok(Self {
            in_flight: InFlight::new(ring, touched(buffer_bytes)?, Duration::from_secs(1)),
            socket,
            buffer_bytes,
        })
    }

    /// Waits for bytes with io_uring_enter(2) and returns them. Empty at the end of the stream.
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
    pub fn receive(&mut self) -> io::Result<&[u8]> {
        self.in_flight.ring.check_idle()?;
        loop {
            let (ring, buffer) = self.in_flight.parts();
            let recv = opcode::Recv::new(
                types::Fd(self.socket.as_raw_fd()),
                buffer.base(),
                self.buffer_bytes as u32,
            );
            let mut result = [0];
            // SAFETY: the buffer has `buffer_bytes`, and `InFlight` keeps it until the ring has
            // nothing outstanding. `&mut self` shows that no slice of it from an earlier call is
            // alive. This call waits for the completion.
            unsafe { ring.push(&recv.build().user_data(0)) }?;
            ring.run(&mut result)?;
            match usize::try_from(result[0]) {
                Ok(bytes) => return Ok(&self.in_flight.memory().as_slice()[..bytes]),
                Err(_) if is_interruption(&error_of(result[0])) => {}
                Err(_) => return Err(error_of(result[0])),
            }
        }
    }

    /// Number of io_uring_enter(2) calls so far.
    pub fn calls(&self) -> u64 {
        self.in_flight.ring.calls()
    }
}
