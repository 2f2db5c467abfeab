//! sendfile, splice and vmsplice: bytes that reach a socket as references to pages.
//!
//! A pipe is a ring of references to pages. `splice` of a file puts references to page-cache pages into it,
//! `vmsplice` references to a process's own pages; `splice` to a socket moves them into the socket's send queue
//! (since Linux 6.5 by sendmsg with the kernel-internal MSG_SPLICE_PAGES, before that by sendpage). `sendfile` does
//! the same through a pipe of 16 pages that belongs to the thread. Whoever changes a page before the peer has
//! acknowledged it changes what is sent.
//!
//! These calls have no MSG_NOSIGNAL: a peer that is gone is SIGPIPE, which Rust programs ignore, and then EPIPE.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::retry_on_intr;
use rustix::pipe::{IoSliceRaw, PipeFlags, SpliceFlags};

use crate::pages::Pages;

/// sendfile(2) of `len` bytes from `offset` on, over signals. Returns how many bytes the socket took and moves
/// `offset` by as many; 0 is the end of the file. One call moves at most 0x7ffff000 bytes.
///
/// # Errors
/// EPIPE or ECONNRESET: the peer is gone. EIO: the file could not be read.
///
/// # References
/// sendfile(2).
pub fn sendfile(socket: impl AsFd, file: impl AsFd, offset: &mut u64, len: usize) -> io::Result<usize> {
    let (socket, file) = (socket.as_fd(), file.as_fd());
    Ok(retry_on_intr(|| rustix::fs::sendfile(socket, file, Some(&mut *offset), len))?)
}

/// A pipe that one thread fills and empties.
#[derive(Debug)]
pub struct Pipe {
    pub(crate) read_end: OwnedFd,
    pub(crate) write_end: OwnedFd,
    capacity_bytes: usize,
}

impl Pipe {
    /// A pipe of `wanted_bytes`, or of the largest halving of that which the kernel gives to this user.
    ///
    /// # Errors
    /// EMFILE, ENFILE: no descriptors.
    ///
    /// # References
    /// pipe(7): fs.pipe-max-size, fs.pipe-user-pages-soft; fcntl(2), F_SETPIPE_SZ.
    pub fn new(wanted_bytes: usize) -> io::Result<Self> {
        let (read_end, write_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let had_bytes = rustix::pipe::fcntl_getpipe_size(&write_end)?;
        let mut wanted_bytes = wanted_bytes;
        while wanted_bytes > had_bytes && rustix::pipe::fcntl_setpipe_size(&write_end, wanted_bytes).is_err() {
            wanted_bytes /= 2;
        }
        let capacity_bytes = rustix::pipe::fcntl_getpipe_size(&write_end)?;
        Ok(Self { read_end, write_end, capacity_bytes })
    }

    /// What fits in, if it lies in whole pages: the pipe counts references to pages, however much of each is meant.
    pub fn capacity_bytes(&self) -> usize {
        self.capacity_bytes
    }

    /// splice(2) from a file, from `offset` on, over signals. Returns how many bytes are in the pipe now and moves
    /// `offset` by as many; 0 is the end of the file. The pipe must be empty, or this may block for ever.
    ///
    /// # Errors
    /// EIO: the file could not be read. EINVAL: its file system has no splice.
    ///
    /// # References
    /// splice(2).
    pub fn fill_from_file(&self, file: impl AsFd, offset: &mut u64, len: usize) -> io::Result<usize> {
        let file = file.as_fd();
        // SPLICE_F_MOVE has meant nothing for reading files since 2.6.21; programs set it all the same, and so it is
        // what is measured.
        Ok(retry_on_intr(|| {
            rustix::pipe::splice(file, Some(&mut *offset), &self.write_end, None, len, SpliceFlags::MOVE)
        })?)
    }

    /// splice(2) from a socket, blocking until there are bytes, over signals. Returns how many are in the pipe now; 0
    /// is the end of the stream. The pipe must be empty, or this may block for ever.
    ///
    /// # Errors
    /// ECONNRESET: the peer is gone.
    ///
    /// # References
    /// splice(2); `tcp_splice_read` of net/ipv4/tcp.c.
    pub fn fill_from_socket(&self, socket: impl AsFd, len: usize) -> io::Result<usize> {
        let socket = socket.as_fd();
        Ok(retry_on_intr(|| rustix::pipe::splice(socket, None, &self.write_end, None, len, SpliceFlags::MOVE))?)
    }

    /// vmsplice(2) of a range of `pages`, over signals: puts references to them into the pipe. Returns how many bytes
    /// that was: less than asked for where the pipe is full. The pipe must be empty, or this may block for ever.
    ///
    /// The kernel does not say when it has sent the pages. What it reads late is what is in them then: pages that
    /// must arrive as they are must not be changed any more.
    ///
    /// # Errors
    /// EINVAL: the range is not within the pages. ENOMEM.
    ///
    /// # References
    /// vmsplice(2).
    pub fn fill_from_pages(&self, pages: &Pages, range: Range<usize>) -> io::Result<usize> {
        let bytes = pages.as_slice().get(range).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        // SAFETY: the descriptor is the pipe's writing end, so the kernel reads the memory and never writes to it; the
        // slice is valid during the call, and what the pipe keeps are references to the pages themselves, which outlive
        // the mapping. SPLICE_F_GIFT, which would give the pages away, is not set.
        Ok(retry_on_intr(|| unsafe {
            rustix::pipe::vmsplice(&self.write_end, &[IoSliceRaw::from_slice(bytes)], SpliceFlags::empty())
        })?)
    }

    /// splice(2) to a socket or to /dev/null of `len` bytes that are in the pipe, over signals. Returns how many it
    /// took. `more` (SPLICE_F_MORE) says that more will follow at once: TCP then keeps back a segment that is not
    /// full.
    ///
    /// # Errors
    /// EPIPE or ECONNRESET: the peer is gone.
    ///
    /// # References
    /// splice(2).
    pub fn empty_into(&self, sink: impl AsFd, len: usize, more: bool) -> io::Result<usize> {
        let sink = sink.as_fd();
        let flags = if more { SpliceFlags::MOVE | SpliceFlags::MORE } else { SpliceFlags::MOVE };
        Ok(retry_on_intr(|| rustix::pipe::splice(&self.read_end, None, sink, None, len, flags))?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one, listener.accept().unwrap().0)
    }

    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at * 7 + at / 256) as u8).collect()
    }

    #[test]
    fn sendfile_sends_from_the_offset_and_moves_it() {
        let (one, mut other) = pair();
        let bytes = bytes(10_000);
        let file = file_of(&bytes);
        let mut offset = 3_000;
        assert_eq!(sendfile(&one, &file, &mut offset, 6_000).unwrap(), 6_000);
        assert_eq!(offset, 9_000);
        let mut got = vec![0; 6_000];
        other.read_exact(&mut got).unwrap();
        assert_eq!(got, &bytes[3_000..9_000]);
        assert_eq!(sendfile(&one, &file, &mut 10_000, 1).unwrap(), 0);
    }

    #[test]
    fn a_pipe_has_at_most_what_was_wanted_and_never_less_than_it_came_with() {
        assert!(Pipe::new(0).unwrap().capacity_bytes() > 0);
        assert!(Pipe::new(1 << 20).unwrap().capacity_bytes() <= 1 << 20);
        assert!(Pipe::new(usize::MAX).unwrap().capacity_bytes() > 0);
    }

    #[test]
    fn bytes_of_a_file_pass_through_a_pipe_to_a_socket() {
        let (one, mut other) = pair();
        let bytes = bytes(9_000);
        let file = file_of(&bytes);
        let pipe = Pipe::new(1 << 16).unwrap();
        let mut offset = 1;
        assert_eq!(pipe.fill_from_file(&file, &mut offset, 8_999).unwrap(), 8_999);
        assert_eq!(offset, 9_000);
        assert_eq!(pipe.empty_into(&one, 8_999, false).unwrap(), 8_999);
        let mut got = vec![0; 8_999];
        other.read_exact(&mut got).unwrap();
        assert_eq!(got, &bytes[1..]);
        assert_eq!(pipe.fill_from_file(&file, &mut offset, 1).unwrap(), 0);
    }

    #[test]
    fn pages_pass_through_a_pipe_to_a_socket_at_any_alignment() {
        let (one, mut other) = pair();
        let mut pages = Pages::new(9_000).unwrap();
        let bytes = bytes(9_000);
        pages.as_mut_slice()[..9_000].copy_from_slice(&bytes);
        let pipe = Pipe::new(1 << 16).unwrap();
        assert_eq!(pipe.fill_from_pages(&pages, 5..8_999).unwrap(), 8_994);
        assert_eq!(pipe.empty_into(&one, 8_994, true).unwrap(), 8_994);
        drop(one);
        let mut got = Vec::new();
        other.read_to_end(&mut got).unwrap();
        assert_eq!(got, &bytes[5..8_999]);
    }

    #[test]
    fn a_range_outside_the_pages_is_refused() {
        let pages = Pages::new(1).unwrap();
        let pipe = Pipe::new(0).unwrap();
        let error = pipe.fill_from_pages(&pages, 0..pages.len() + 1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn bytes_of_a_socket_pass_through_a_pipe_to_nowhere() {
        let (mut one, other) = pair();
        one.write_all(&bytes(5_000)).unwrap();
        drop(one);
        let pipe = Pipe::new(1 << 16).unwrap();
        let null = File::options().write(true).open("/dev/null").unwrap();
        let mut total = 0;
        loop {
            let filled = pipe.fill_from_socket(&other, 4_096).unwrap();
            if filled == 0 {
                break;
            }
            assert_eq!(pipe.empty_into(&null, filled, false).unwrap(), filled);
            total += filled;
        }
        assert_eq!(total, 5_000);
    }
}
