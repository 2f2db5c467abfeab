//! `splice`: splice(2) from the file into a pipe, and from the pipe into the socket. sendfile(2)
//! does the same inside the kernel; here the pipe is the program's own and may be larger.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::definition::Definition;
use super::sender::Sender;
use super::setup::{More, SendSetup};
use super::socket_writer::{SocketWriter, broken, broken_with_file, calls_of};
use crate::workload::{FileSet, Piece};
use zc_kernel::splice::Pipe;
use zc_run::{Result, SendCounts, Unavailable};

/// The default of fs.pipe-max-size: what a user without privileges may have.
pub(super) const PIPE_BYTES: usize = 1 << 20;

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(Splice::open(socket, setup)?)),
    call_without_flags: None,
};

#[derive(Debug)]
struct Splice {
    out: SocketWriter,
    files: Arc<FileSet>,
    pipe: Pipe,
    call_bytes: Option<usize>,
    more: More,
}

impl Splice {
    fn open(socket: BorrowedFd<'_>, setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        probe(setup)?;
        let (out, pipe) = (SocketWriter::new(socket)?, pipe(PIPE_BYTES)?);
        Ok(Self {
            out,
            files: Arc::clone(&setup.files),
            pipe,
            call_bytes: setup.call_bytes,
            more: setup.more,
        })
    }
}

/// Splices one byte into a pipe that is then dropped: not every file system supports splicing.
pub(super) fn probe(setup: &SendSetup) -> std::result::Result<(), Unavailable> {
    let Some(source) = setup.files.files.first() else { return Ok(()) };
    pipe(0)?.fill_from_file(&source.file, &mut 0, 1).map(drop).map_err(|error| {
        Unavailable::unsupported(format!("splice(2) of file \"{}\": {error}", source.name))
    })
}

/// A pipe of `bytes`, or of as much as this user may have.
pub(super) fn pipe(bytes: usize) -> std::result::Result<Pipe, Unavailable> {
    Pipe::new(bytes).map_err(|error| Unavailable::failed(format!("cannot create a pipe: {error}")))
}

/// Moves `filled` bytes from the pipe to the socket. `more` says that more will follow at once
/// (SPLICE_F_MORE).
pub(super) fn empty(out: &mut SocketWriter, pipe: &Pipe, filled: usize, more: bool) -> Result<()> {
    let call = |socket: BorrowedFd<'_>, _: usize, left: usize| pipe.empty_into(socket, left, more);
    out.push(filled, filled, call, |error| broken("splice(2)", error))
}

impl Sender for Splice {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let source = &self.files.files[piece.file];
        for Piece { mut offset, len, .. } in calls_of(piece, self.call_bytes) {
            let end = offset + len as u64;
            let is_last = end == piece.offset + piece.len as u64;
            while offset < end {
                // At most `len`, so it fits.
                let want = ((end - offset) as usize).min(self.pipe.capacity_bytes());
                self.out.counts.calls += 1;
                let filled = match self.pipe.fill_from_file(&source.file, &mut offset, want) {
                    Ok(0) => return Err(source.became_shorter()),
                    Ok(filled) => filled,
                    Err(error) => return Err(broken_with_file("splice(2)", source, error)),
                };
                // Without `self.more` only inside a message: after it there may be a pause, during
                // which no bytes may wait in the socket.
                empty(&mut self.out, &self.pipe, filled, offset < end || self.more.says(is_last))?;
            }
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        // The socket may still refer to pages of the page cache, which no program reuses.
        Ok(())
    }

    fn go_on_with(&mut self, socket: BorrowedFd<'_>) -> Result<bool> {
        self.out.go_on_with(socket).map(|()| true)
    }

    fn counts(&self) -> SendCounts {
        self.out.counts
    }
}
