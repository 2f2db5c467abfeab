//! `sendfile`: sendfile(2), a whole piece to a call unless messages are smaller. The socket gets
//! references to the pages of the page cache.

use std::fs::OpenOptions;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::definition::Definition;
use super::sender::Sender;
use super::setup::SendSetup;
use super::socket_writer::{SocketWriter, broken_with_file, calls_of};
use crate::workload::{FileSet, Piece};
use zc_run::{Result, SendCounts, Unavailable};

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| Ok(Box::new(Sendfile::open(socket, setup)?)),
    call_without_flags: Some("sendfile(2)"),
};

#[derive(Debug)]
struct Sendfile {
    out: SocketWriter,
    files: Arc<FileSet>,
    call_bytes: Option<usize>,
}

impl Sendfile {
    fn open(socket: BorrowedFd<'_>, setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        probe(&setup.files)?;
        Ok(Self {
            out: SocketWriter::new(socket)?,
            files: Arc::clone(&setup.files),
            call_bytes: setup.call_bytes,
        })
    }
}

/// Sends one byte to /dev/null: the system call may be forbidden, and not every file system
/// supports splicing.
pub(super) fn probe(files: &FileSet) -> std::result::Result<(), Unavailable> {
    let null = OpenOptions::new()
        .write(true)
        .open("/dev/null")
        .map_err(|error| Unavailable::failed(format!("cannot open \"/dev/null\": {error}")))?;
    if let Some(source) = files.files.first() {
        zc_kernel::splice::sendfile(&null, &source.file, &mut 0, 1).map_err(|error| {
            Unavailable::unsupported(format!("sendfile(2) of file \"{}\": {error}", source.name))
        })?;
    }
    Ok(())
}

impl Sender for Sendfile {
    fn send(&mut self, piece: Piece) -> Result<()> {
        let source = &self.files.files[piece.file];
        for Piece { mut offset, len, .. } in calls_of(piece, self.call_bytes) {
            let end = offset + len as u64;
            while offset < end {
                // At most `len`, so it fits.
                let left = (end - offset) as usize;
                self.out.counts.calls += 1;
                match zc_kernel::splice::sendfile(&self.out.socket, &source.file, &mut offset, left)
                {
                    Ok(0) => return Err(source.became_shorter()),
                    Ok(sent) => self.out.took(sent, left),
                    Err(error) => return Err(broken_with_file("sendfile(2)", source, error)),
                };
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
