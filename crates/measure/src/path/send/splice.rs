//! `splice`: splice(2) from the file into a pipe, and from the pipe into the socket. What sendfile(2) does inside the
//! kernel, with a pipe of the program's own, which may be larger.

use std::net::TcpStream;
use std::sync::Arc;

use zc_kernel::splice::Pipe;

use super::super::{SendSetup, Sender};
use super::socket_writer::{SocketWriter, broken, broken_with_file, calls_of};
use crate::workload::{FileSet, Piece};
use zc_run::{Result, SendCounts, Unavailable};

/// The default of fs.pipe-max-size: what a user without privileges may have.
pub(super) const PIPE_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Splice {
    out: SocketWriter,
    files: Arc<FileSet>,
    pipe: Pipe,
    call_bytes: Option<usize>,
    more: bool,
}

impl Splice {
    pub(super) fn open(
        socket: &TcpStream,
        setup: &SendSetup,
    ) -> std::result::Result<Self, Unavailable> {
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

/// Splices one byte into a pipe that is then thrown away: not every file system can splice.
pub(super) fn probe(setup: &SendSetup) -> std::result::Result<(), Unavailable> {
    let Some(source) = setup.files.files.first() else { return Ok(()) };
    pipe(0)?.fill_from_file(&source.file, &mut 0, 1).map(drop).map_err(|error| {
        Unavailable::unsupported(format!("splice(2) of file \"{}\": {error}", source.name))
    })
}

/// A pipe of `bytes`, or of what this user may have.
pub(super) fn pipe(bytes: usize) -> std::result::Result<Pipe, Unavailable> {
    Pipe::new(bytes).map_err(|error| Unavailable::failed(format!("a pipe cannot be had: {error}")))
}

/// Empties `filled` bytes of the pipe into the socket; `more` will follow at once.
pub(super) fn empty(out: &mut SocketWriter, pipe: &Pipe, filled: usize, more: bool) -> Result<()> {
    let call = |socket: &TcpStream, _: usize, left: usize| pipe.empty_into(socket, left, more);
    out.push(filled, filled, call, |error| broken("splice(2)", error))
}

impl Sender for Splice {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let source = &self.files.files[piece.file];
        for Piece { mut offset, len, .. } in calls_of(piece, self.call_bytes) {
            let end = offset + len as u64;
            while offset < end {
                // At most `len`, so it fits.
                let want = ((end - offset) as usize).min(self.pipe.capacity_bytes());
                self.out.counts.calls += 1;
                let filled = match self.pipe.fill_from_file(&source.file, &mut offset, want) {
                    Ok(0) => return Err(source.became_shorter()),
                    Ok(filled) => filled,
                    Err(error) => return Err(broken_with_file("splice(2)", source, error)),
                };
                // Unasked only inside a message: behind it there may be a pause, and nothing may wait in the socket through
                // it.
                empty(&mut self.out, &self.pipe, filled, self.more || offset < end)?;
            }
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        // The socket still refers to pages of the page cache, which are nobody's to reuse.
        Ok(())
    }

    fn counts(&self) -> SendCounts {
        self.out.counts
    }
}
