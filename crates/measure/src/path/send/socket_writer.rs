//! What all send paths do alike: own a handle of the socket, put a piece on it call by call, count, and say what broke.

use std::io;
use std::net::TcpStream;
use std::ops::Range;

use zc_kernel::mapping::FileMapping;
use zc_kernel::pages::Pages;

use crate::path::SendSetup;
use crate::workload::{FileSet, Piece, SourceFile};
use zc_run::{Align, Error, Result, SendCounts, Unavailable};

/// The socket and the counts.
#[derive(Debug)]
pub(super) struct SocketWriter {
    pub(super) socket: TcpStream,
    pub(super) counts: SendCounts,
}

impl SocketWriter {
    pub(super) fn new(socket: &TcpStream) -> std::result::Result<Self, Unavailable> {
        let socket = socket.try_clone().map_err(|error| {
            Unavailable::failed(format!("the socket cannot be duplicated: {error}"))
        })?;
        Ok(Self { socket, counts: SendCounts::default() })
    }

    /// Puts `len` bytes on the socket by as many calls as it takes. `call` is told how many bytes were taken already
    /// and how many, at most `most`, to offer; it returns how many were taken. `explain` makes its error a sentence.
    pub(super) fn push(
        &mut self,
        len: usize,
        most: usize,
        mut call: impl FnMut(&TcpStream, usize, usize) -> io::Result<usize>,
        explain: impl Fn(io::Error) -> Error,
    ) -> Result<()> {
        let mut done = 0;
        while done < len {
            let part = (len - done).min(most);
            self.counts.calls += 1;
            match call(&self.socket, done, part) {
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

/// A call that neither takes a byte nor fails; the manual pages do not know it, and a loop around it would not end.
pub(super) fn takes_nothing() -> Error {
    Error::failed("the socket takes no more bytes")
}

/// The sentence for a call on the socket that failed.
pub(super) fn broken(call: &str, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::NotConnected => {
            Error::failed("the receiver closed the connection while bytes were being sent")
        }
        _ => Error::os(format!("send with {call}"), error),
    }
}

/// As [`broken`], for calls that read the file too; EFAULT and EIO are the file's.
pub(super) fn broken_with_file(call: &str, source: &SourceFile, error: io::Error) -> Error {
    match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::FAULT) => source.became_shorter(),
        Some(rustix::io::Errno::IO) => source.unreadable(error),
        _ => broken(call, error),
    }
}

/// A user-space buffer in pages of its own, all of them there.
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
            Unavailable::failed(format!("a buffer of {bytes} bytes cannot be had: {error}"))
        };
        let mut pages = Pages::new(bytes.saturating_add(begins_at)).map_err(no_room)?;
        pages.as_mut_slice().fill(0);
        Ok(Self { pages, place: begins_at..begins_at + bytes })
    }

    /// Its first `most` bytes, or all of it.
    pub(super) fn first(&mut self, most: usize) -> &mut [u8] {
        let bytes = self.place.len().min(most);
        &mut self.pages.as_mut_slice()[self.place.clone()][..bytes]
    }
}

/// How far behind a page boundary a buffer begins.
pub(super) fn begins_at(align: Align) -> usize {
    match align {
        Align::Page => 0,
        Align::Byte => 1,
    }
}

/// What of a piece goes into one call each, where that is for the path to say.
pub(super) fn calls_of(piece: Piece, call_bytes: Option<usize>) -> impl Iterator<Item = Piece> {
    let most = call_bytes.unwrap_or(piece.len).max(1);
    (0..piece.len).step_by(most).map(move |done| Piece {
        offset: piece.offset + done as u64,
        len: most.min(piece.len - done),
        ..piece
    })
}

/// pread(2) into all of `into`, or as much as the file still has; at least one byte.
pub(super) fn read(source: &SourceFile, into: &mut [u8], offset: u64) -> Result<usize> {
    match rustix::io::retry_on_intr(|| rustix::io::pread(&source.file, &mut *into, offset)) {
        Ok(0) => Err(source.became_shorter()),
        Ok(len) => Ok(len),
        Err(error) => Err(source.unreadable(error)),
    }
}

/// The mapping of a file of a set that could be mapped when the path was opened.
pub(super) fn mapping(files: &FileSet, file: usize) -> Result<&FileMapping> {
    match files.mappings() {
        Ok(mappings) => Ok(&mappings[file]),
        Err(no) => Err(Error::failed(no.reason)),
    }
}
