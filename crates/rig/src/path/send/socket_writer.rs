//! Shared by all send paths: holds a handle of the socket, sends a piece call by call, counts, and
//! explains errors.

use std::io::{self, IoSliceMut};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::setup::SendSetup;
use crate::workload::{FileSet, Piece, SourceFile};
use zc_kernel::mapping::FileMapping;
use zc_kernel::pages::Pages;
use zc_run::{Align, Error, Result, SendCounts, Unavailable};

/// The socket and the counts.
#[derive(Debug)]
pub(super) struct SocketWriter {
    pub(super) socket: OwnedFd,
    pub(super) counts: SendCounts,
}

impl SocketWriter {
    pub(super) fn new(socket: BorrowedFd<'_>) -> std::result::Result<Self, Unavailable> {
        let socket = socket.try_clone_to_owned().map_err(|error| {
            Unavailable::failed(format!("the socket cannot be duplicated: {error}"))
        })?;
        Ok(Self { socket, counts: SendCounts::default() })
    }

    /// Takes another socket, and counts on.
    pub(super) fn go_on_with(&mut self, socket: BorrowedFd<'_>) -> Result<()> {
        self.socket =
            socket.try_clone_to_owned().map_err(|error| Error::os("duplicate a socket", error))?;
        Ok(())
    }

    /// Sends `len` bytes with as many calls as it takes. The arguments of `call` are the socket,
    /// the number of bytes sent so far, and the number to offer, at most `most`; it returns the
    /// number that the socket took. `explain` converts its error.
    pub(super) fn push(
        &mut self,
        len: usize,
        most: usize,
        mut call: impl FnMut(BorrowedFd<'_>, usize, usize) -> io::Result<usize>,
        explain: impl Fn(io::Error) -> Error,
    ) -> Result<()> {
        let mut done = 0;
        while done < len {
            let part = (len - done).min(most);
            self.counts.calls += 1;
            match call(self.socket.as_fd(), done, part) {
                Ok(0) => return Err(takes_nothing()),
                Ok(sent) => done += self.took(sent, part),
                Err(error) => return Err(explain(error)),
            }
        }
        Ok(())
    }

    /// Counts a call that took `sent` of `offered` bytes.
    pub(super) fn took(&mut self, sent: usize, offered: usize) -> usize {
        self.counts.bytes += sent as u64;
        self.counts.short += u64::from(sent < offered);
        sent
    }
}

/// The error for a call that takes no byte and does not fail. The manual pages do not mention such
/// a call, and a loop around it would not end.
pub(super) fn takes_nothing() -> Error {
    Error::failed("receiver-closed-early", "the socket takes no more bytes")
}

/// The error of a failed call on the socket.
pub(super) fn broken(call: &str, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::NotConnected => Error::failed(
            "receiver-closed-early",
            "the receiver closed the connection while bytes were being sent",
        ),
        _ => Error::os(format!("send with {call}"), error),
    }
}

/// Same as [`broken`], for calls that also read the file: EFAULT and EIO concern the file.
pub(super) fn broken_with_file(call: &str, source: &SourceFile, error: io::Error) -> Error {
    match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::FAULT) => source.became_shorter(),
        Some(rustix::io::Errno::IO) => source.unreadable(error),
        _ => broken(call, error),
    }
}

/// A user-space buffer in pages of its own, all of them populated.
#[derive(Debug)]
pub(super) struct Buffer {
    pages: Pages,
    place: Range<usize>,
}

impl Buffer {
    /// The buffer of a path.
    pub(super) fn new(setup: &SendSetup) -> std::result::Result<Self, Unavailable> {
        let bytes = setup.buffer_bytes.max(1);
        let begins_at = begins_at(setup.align);
        let no_room = |error| {
            Unavailable::failed(format!("cannot allocate a buffer of {bytes} bytes: {error}"))
        };
        let mut pages = Pages::new(bytes.saturating_add(begins_at)).map_err(no_room)?;
        pages.as_mut_slice().fill(0);
        Ok(Self { pages, place: begins_at..begins_at + bytes })
    }

    /// Its first `most` bytes, or all if it is shorter.
    pub(super) fn first(&mut self, most: usize) -> &mut [u8] {
        let bytes = self.place.len().min(most);
        &mut self.pages.as_mut_slice()[self.place.clone()][..bytes]
    }
}

/// Offset of a buffer from a page boundary.
pub(super) fn begins_at(align: Align) -> usize {
    match align {
        Align::Page => 0,
        Align::Byte => 1,
    }
}

/// Splits a piece into calls of at most `call_bytes`, for paths without a buffer.
pub(super) fn calls_of(piece: Piece, call_bytes: Option<usize>) -> impl Iterator<Item = Piece> {
    let most = call_bytes.unwrap_or(piece.len).max(1);
    (0..piece.len).step_by(most).map(move |done| Piece {
        offset: piece.offset + done as u64,
        len: most.min(piece.len - done),
        ..piece
    })
}

/// pread(2) into `into`. Returns the number of bytes read, at least one; fewer than `into` holds if
/// the file ends.
pub(super) fn read(source: &SourceFile, into: &mut [u8], offset: u64) -> Result<usize> {
    match rustix::io::retry_on_intr(|| rustix::io::pread(&source.file, &mut *into, offset)) {
        Ok(0) => Err(source.became_shorter()),
        Ok(len) => Ok(len),
        Err(error) => Err(source.unreadable(error)),
    }
}

/// preadv(2) of `len` bytes into `parts`, one after the other. Returns the number of bytes read, at
/// least one; fewer if the file ends.
pub(super) fn read_parts<'a>(
    source: &SourceFile,
    parts: impl Iterator<Item = &'a mut [u8]>,
    len: usize,
    offset: u64,
) -> Result<usize> {
    let mut left = len;
    let mut wanted = Vec::new();
    for part in parts {
        let most = left.min(part.len());
        if most == 0 {
            break;
        }
        wanted.push(IoSliceMut::new(&mut part[..most]));
        left -= most;
    }
    let read = || rustix::io::preadv(&source.file, &mut wanted, offset);
    match rustix::io::retry_on_intr(read) {
        Ok(0) => Err(source.became_shorter()),
        Ok(len) => Ok(len),
        Err(error) => Err(source.unreadable(error)),
    }
}

/// The mapping of a file of a set that was mapped when the path was opened.
pub(super) fn mapping(files: &FileSet, file: usize) -> Result<&FileMapping> {
    match files.mappings() {
        Ok(mappings) => Ok(&mappings[file]),
        Err(no) => Err(Error::failed("cannot-map-file", no.reason)),
    }
}
