//! What the rings share that read a piece of a file by one request and send it by several: their
//! buffers, which lie next to one another, and a plain SEND for what was left over.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use io_uring::{opcode, squeue};

use super::ring::{Handle, Ring, lacking};
use super::transfer::{TransferError, error_of, is_interruption, touched};
use crate::pages::Pages;

/// Most sends of one io_uring_enter(2).
pub(super) const SENDS: usize = 64;

/// Bytes of all buffers together, unless one buffer is larger: what stays in a cache of the second
/// level.
const TOGETHER_BYTES: usize = 1 << 20;

/// Largest buffer.
const LARGEST_BUFFER: usize = 1 << 30;

/// User data of the READ. That of the n-th SEND is n, from 1 on.
pub(super) const READ: u64 = 0;

/// Buffers of a ring, one behind the other, and the socket to which it sends out of them.
#[derive(Debug)]
pub(super) struct Sends {
    pub(super) socket: OwnedFd,
    pub(super) buffer_bytes: usize,
    /// Number of buffers, at most [`SENDS`].
    pub(super) buffers: usize,
    /// Offset of the first buffer in its memory.
    begins_at: usize,
    /// Flags of send(2).
    pub(super) flags: i32,
}

impl Sends {
    /// Buffers of `buffer_bytes` whose first begins `begins_at` bytes after a page boundary, with
    /// the memory for them. `more` sets MSG_MORE on every send.
    pub(super) fn new(
        socket: OwnedFd,
        buffer_bytes: usize,
        begins_at: usize,
        more: bool,
    ) -> io::Result<(Self, Pages)> {
        let buffer_bytes = buffer_bytes.clamp(1, LARGEST_BUFFER);
        let buffers = (TOGETHER_BYTES / buffer_bytes).clamp(1, SENDS);
        let begins_at = begins_at.min(LARGEST_BUFFER);
        let memory = touched(begins_at + buffers * buffer_bytes)?;
        let flags = libc::MSG_WAITALL | libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 };
        Ok((Self { socket, buffer_bytes, buffers, begins_at, flags }, memory))
    }

    /// A tuned ring for them, with the socket and `files` registered in this order. Its worker
    /// threads, which only serve reads that miss the page cache, run on `worker_cpu`.
    pub(super) fn ring(
        &self,
        files: &[BorrowedFd<'_>],
        worker_cpu: Option<usize>,
    ) -> io::Result<Ring> {
        let all = [std::os::fd::AsFd::as_fd(&self.socket)].into_iter().chain(files.iter().copied());
        let ring = Ring::tuned(1 + SENDS as u32, 2 * SENDS as u32, all)?;
        ring.require(&[
            (opcode::Read::CODE, "IORING_OP_READ"),
            (opcode::Send::CODE, "IORING_OP_SEND"),
        ])?;
        if !ring.features().is_feature_skip_cqe_on_success() {
            return Err(lacking("IOSQE_CQE_SKIP_SUCCESS"));
        }
        if let Some(cpu) = worker_cpu {
            ring.pin_workers(cpu)?;
        }
        Ok(ring)
    }

    /// Bytes that fit into all buffers.
    pub(super) fn capacity(&self) -> usize {
        self.buffers * self.buffer_bytes
    }

    /// The socket for requests.
    pub(super) fn socket(&self, ring: &Ring) -> Handle {
        ring.handle(0, &self.socket)
    }

    /// Address of byte `at` of the buffers in `memory`.
    pub(super) fn address(&self, memory: &Pages, at: usize) -> *mut u8 {
        memory.base().wrapping_add(self.begins_at + at)
    }

    /// The request that reads `bytes` of `file` from `offset` on into the buffers, linked to the
    /// next one. It completes only if it fails or reads less.
    pub(super) fn read(
        &self,
        memory: &Pages,
        file: Handle,
        offset: u64,
        bytes: usize,
    ) -> squeue::Entry {
        opcode::Read::new(file.fd, self.address(memory, 0), bytes as u32)
            .offset(offset)
            .build()
            .flags(file.flags | squeue::Flags::IO_LINK | squeue::Flags::SKIP_SUCCESS)
            .user_data(READ)
    }

    /// The request that sends the bytes `from..to` of the buffers. With MSG_WAITALL the kernel
    /// itself continues it until all is sent.
    pub(super) fn send(
        &self,
        memory: &Pages,
        socket: Handle,
        from: usize,
        to: usize,
    ) -> squeue::Entry {
        opcode::Send::new(socket.fd, self.address(memory, from), (to - from) as u32)
            .flags(self.flags)
            .build()
            .flags(socket.flags)
    }

    /// Sends the bytes `from..to` of the buffers, one request after the other. The ring has nothing
    /// outstanding.
    pub(super) fn send_remaining(
        &self,
        ring: &mut Ring,
        memory: &Pages,
        mut from: usize,
        to: usize,
    ) -> Result<(), TransferError> {
        while from < to {
            let send = self.send(memory, self.socket(ring), from, to).user_data(0);
            let mut result = [0];
            // SAFETY: `from..to` lies within the buffers. The memory is that of an `InFlight`, of
            // which no slice is ever made.
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

    /// The file number `index` of those that [`ring`](Self::ring) was given.
    pub(super) fn file(&self, ring: &Ring, index: usize, file: BorrowedFd<'_>) -> Handle {
        ring.handle(1 + index, &file.as_raw_fd())
    }
}

/// Bytes that a READ which ended its chain has read, or why there are none: `Ok(0)` means that it
/// was interrupted.
pub(super) fn short_read(result: i32) -> Result<usize, TransferError> {
    match usize::try_from(result) {
        Ok(0) => Err(TransferError::FileEnded),
        Ok(read) => Ok(read),
        Err(_) if is_interruption(&error_of(result)) => Ok(0),
        Err(_) => Err(TransferError::File(error_of(result))),
    }
}
