//! Socket to buffer: `IORING_OP_RECV` (Linux 5.6), one at a time.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use io_uring::{opcode, types};

use super::in_flight::InFlight;
use super::ring::Ring;
use super::{error_of, is_interruption, touched};
use crate::pages::Pages;

/// A ring with one buffer, into which one socket's bytes come.
#[derive(Debug)]
pub struct Receive {
    lent: InFlight<Pages>,
    socket: OwnedFd,
    buffer_bytes: usize,
}

impl Receive {
    /// A ring that receives from `socket` into a buffer of `buffer_bytes`.
    ///
    /// # Errors
    /// As io_uring_setup(2); `ErrorKind::Unsupported` where the kernel lacks the operation.
    pub fn new(socket: OwnedFd, buffer_bytes: usize) -> io::Result<Self> {
        let ring = Ring::new(2, 4)?;
        ring.require(&[(opcode::Recv::CODE, "IORING_OP_RECV")])?;
        let buffer_bytes = buffer_bytes.clamp(1, 1 << 30);
        Ok(Self { lent: InFlight::new(ring, touched(buffer_bytes)?, Duration::from_secs(1)), socket, buffer_bytes })
    }

    /// What came, waiting until there is something; nothing at the end of the stream.
    ///
    /// # Errors
    /// What recv(2) says.
    pub fn receive(&mut self) -> io::Result<&[u8]> {
        self.lent.ring.must_be_idle()?;
        loop {
            let (ring, buffer) = self.lent.parts();
            let recv = opcode::Recv::new(types::Fd(self.socket.as_raw_fd()), buffer.base(), self.buffer_bytes as u32);
            let mut result = [0];
            // SAFETY: the buffer has `buffer_bytes`; `InFlight` keeps it until the ring is owed nothing; `&mut self` says that
            // no slice of it from an earlier call is alive, and this call waits for the completion.
            unsafe { ring.push(&recv.build().user_data(0)) }?;
            ring.run(&mut result)?;
            match usize::try_from(result[0]) {
                Ok(bytes) => return Ok(&self.lent.memory().as_slice()[..bytes]),
                Err(_) if is_interruption(&error_of(result[0])) => {}
                Err(_) => return Err(error_of(result[0])),
            }
        }
    }

    /// Calls of io_uring_enter(2) so far.
    pub fn calls(&self) -> u64 {
        self.lent.ring.calls()
    }
}
