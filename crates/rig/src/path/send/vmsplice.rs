//! `vmsplice`: vmsplice(2) of the program's own pages into a pipe, splice(2) from the pipe into the
//! socket.
//!
//! The kernel does not report when it has sent the pages, so a program that wants to reuse them has
//! to guess (or to poll SIOCOUTQ until nothing is in flight). Here no completions are needed: the
//! pages are those of the resident copy, which is never written again, and the kernel's references
//! keep them alive beyond the run.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::definition::Definition;
use super::sender::Sender;
use super::setup::{More, SendSetup};
use super::socket_writer::{SocketWriter, broken, calls_of};
use super::splice::{PIPE_BYTES, empty, pipe};
use crate::path::resident::ResidentCopy;
use crate::workload::Piece;
use zc_kernel::splice::Pipe;
use zc_run::{Result, SendCounts, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(Vmsplice::open(socket, setup)?)),
    call_without_flags: None,
};

#[derive(Debug)]
struct Vmsplice {
    out: SocketWriter,
    resident: Arc<ResidentCopy>,
    pipe: Pipe,
    call_bytes: Option<usize>,
    more: More,
}

impl Vmsplice {
    fn open(socket: BorrowedFd<'_>, setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        let resident = Arc::clone(setup.resident.copy_of(&setup.files, setup.pages)?);
        // One byte into a pipe that is then dropped: the system call may be forbidden.
        pipe(0)?
            .fill_from_pages(resident.pages(), 0..1)
            .map_err(|error| Unavailable::unsupported(format!("vmsplice(2): {error}")))?;
        let (out, pipe) = (SocketWriter::new(socket)?, pipe(PIPE_BYTES)?);
        Ok(Self { out, resident, pipe, call_bytes: setup.call_bytes, more: setup.more })
    }
}

impl Sender for Vmsplice {
    fn send(&mut self, piece: Piece) -> Result<()> {
        for call in calls_of(piece, self.call_bytes) {
            let mut start = self.resident.offset(call);
            let end = start + call.len;
            let is_last = end == self.resident.offset(piece) + piece.len;
            while start < end {
                let want = (end - start).min(self.pipe.capacity_bytes());
                self.out.counts.calls += 1;
                let filled = self
                    .pipe
                    .fill_from_pages(self.resident.pages(), start..start + want)
                    .map_err(|error| broken("vmsplice(2)", error))?;
                start += filled;
                empty(&mut self.out, &self.pipe, filled, start < end || self.more.says(is_last))?;
            }
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        Ok(()) // see the module
    }

    fn go_on_with(&mut self, socket: BorrowedFd<'_>) -> Result<bool> {
        self.out.go_on_with(socket).map(|()| true)
    }

    fn counts(&self) -> SendCounts {
        self.out.counts
    }
}
