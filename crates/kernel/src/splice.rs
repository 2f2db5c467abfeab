//! sendfile, splice and vmsplice: bytes that reach a socket as references to pages.
//!
//! A pipe is a ring of references to pages. `splice` from a file fills it with references to
//! page-cache pages, and `vmsplice` with references to pages of the process. `splice` to a socket
//! moves the references into the socket's send queue: since Linux 6.5 by sendmsg with the
//! kernel-internal flag MSG_SPLICE_PAGES, before that by sendpage. `sendfile` does the same through
//! a pipe of 16 pages that belongs to the thread. A page that changes before the peer has
//! acknowledged it changes what is sent.
//!
//! These calls have no MSG_NOSIGNAL. A peer that is gone raises SIGPIPE, which Rust programs
//! ignore, and the call then returns EPIPE.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::retry_on_intr;
use rustix::pipe::{IoSliceRaw, PipeFlags, SpliceFlags};

use crate::pages::Pages;

/// Sends `len` bytes of `file` from `offset` on with sendfile(2), and restarts after signals.
///
/// Returns the number of bytes that the socket took, and advances `offset` by it. 0 is the end of
/// the file. One call moves at most 0x7ffff000 bytes.
///
/// # Errors
/// - EPIPE, ECONNRESET: the peer is gone.
/// - EIO: the file could not be read.
///
/// # References
/// [sendfile(2)]
///
/// [sendfile(2)]: https://man7.org/linux/man-pages/man2/sendfile.2.html
pub fn sendfile(
    socket: impl AsFd,
    file: impl AsFd,
    offset: &mut u64,
    len: usize,
) -> io::Result<usize> {
    let (socket, file) = (socket.as_fd(), file.as_fd());
    Ok(retry_on_intr(|| rustix::fs::sendfile(socket, file, Some(&mut *offset), len))?)
}

/// A pipe between a source of pages and a socket, filled and emptied by one thread.
///
/// # References
/// [pipe(7)]
///
/// [pipe(7)]: https://man7.org/linux/man-pages/man7/pipe.7.html
#[doc(alias = "pipe2")]
#[derive(Debug)]
pub struct Pipe {
    pub(crate) read_end: OwnedFd,
    pub(crate) write_end: OwnedFd,
    capacity_bytes: usize,
}

impl Pipe {
    /// Creates a pipe with pipe2(2) and sets its capacity with F_SETPIPE_SZ to `wanted_bytes`, or
    /// to the largest halving of that which the kernel grants this user.
    ///
    /// # Errors
    /// - EMFILE, ENFILE: no file descriptors left.
    ///
    /// # References
    /// - [pipe2(2)]
    /// - [fcntl(2)], F_SETPIPE_SZ
    /// - [pipe(7)], fs.pipe-max-size and fs.pipe-user-pages-soft
    ///
    /// [pipe2(2)]: https://man7.org/linux/man-pages/man2/pipe2.2.html
    /// [fcntl(2)]: https://man7.org/linux/man-pages/man2/fcntl.2.html
    /// [pipe(7)]: https://man7.org/linux/man-pages/man7/pipe.7.html
    #[doc(alias = "pipe2")]
    #[doc(alias = "F_SETPIPE_SZ")]
    pub fn new(wanted_bytes: usize) -> io::Result<Self> {
        let (read_end, write_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let had_bytes = rustix::pipe::fcntl_getpipe_size(&write_end)?;
        let mut wanted_bytes = wanted_bytes;
        while wanted_bytes > had_bytes
            && rustix::pipe::fcntl_setpipe_size(&write_end, wanted_bytes).is_err()
        {
            wanted_bytes /= 2;
        }
        let capacity_bytes = rustix::pipe::fcntl_getpipe_size(&write_end)?;
        Ok(Self { read_end, write_end, capacity_bytes })
    }

    /// Creates a pipe with pipe2(2) and sets its capacity with F_SETPIPE_SZ to `bytes`, rounded up to
    /// a power of two of whole pages.
    ///
    /// # Errors
    /// - EMFILE, ENFILE: no file descriptors left.
    /// - EPERM: more than fs.pipe-max-size, or the user's pipes have fs.pipe-user-pages-soft.
    ///
    /// # References
    /// - [pipe2(2)]
    /// - [fcntl(2)], F_SETPIPE_SZ
    ///
    /// [pipe2(2)]: https://man7.org/linux/man-pages/man2/pipe2.2.html
    /// [fcntl(2)]: https://man7.org/linux/man-pages/man2/fcntl.2.html
    #[doc(alias = "pipe2")]
    #[doc(alias = "F_SETPIPE_SZ")]
    pub fn with_capacity(bytes: usize) -> io::Result<Self> {
        let (read_end, write_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        rustix::pipe::fcntl_setpipe_size(&write_end, bytes)?;
        let capacity_bytes = rustix::pipe::fcntl_getpipe_size(&write_end)?;
        Ok(Self { read_end, write_end, capacity_bytes })
    }

    /// Capacity in bytes for data in whole pages. The pipe counts page references, however much of
    /// each page is used.
    pub fn capacity_bytes(&self) -> usize {
        self.capacity_bytes
    }

    /// Fills the pipe from `file` at `offset` with splice(2), and restarts after signals.
    ///
    /// Returns the number of bytes in the pipe, and advances `offset` by it. 0 is the end of the
    /// file. The pipe must be empty, or the call may block forever.
    ///
    /// # Errors
    /// - EIO: the file could not be read.
    /// - EINVAL: the file system does not support splice.
    ///
    /// # References
    /// [splice(2)]
    ///
    /// [splice(2)]: https://man7.org/linux/man-pages/man2/splice.2.html
    #[doc(alias = "splice")]
    pub fn fill_from_file(
        &self,
        file: impl AsFd,
        offset: &mut u64,
        len: usize,
    ) -> io::Result<usize> {
        let file = file.as_fd();
        // SPLICE_F_MOVE has had no effect on reading files since 2.6.21. Programs still set it, so
        // it is set in what is measured.
        Ok(retry_on_intr(|| {
            rustix::pipe::splice(
                file,
                Some(&mut *offset),
                &self.write_end,
                None,
                len,
                SpliceFlags::MOVE,
            )
        })?)
    }

    /// Fills the pipe from `socket` with splice(2): blocks until there are bytes, and restarts
    /// after signals.
    ///
    /// Returns the number of bytes in the pipe. 0 is the end of the stream. The pipe must be empty,
    /// or the call may block forever.
    ///
    /// # Errors
    /// - ECONNRESET: the peer is gone.
    ///
    /// # References
    /// [splice(2)], and `tcp_splice_read` in net/ipv4/tcp.c
    ///
    /// [splice(2)]: https://man7.org/linux/man-pages/man2/splice.2.html
    #[doc(alias = "splice")]
    pub fn fill_from_socket(&self, socket: impl AsFd, len: usize) -> io::Result<usize> {
        let socket = socket.as_fd();
        Ok(retry_on_intr(|| {
            rustix::pipe::splice(socket, None, &self.write_end, None, len, SpliceFlags::MOVE)
        })?)
    }

    /// Fills the pipe with references to a range of `pages` with vmsplice(2), and restarts after
    /// signals.
    ///
    /// Returns the number of bytes: less than requested where the pipe is full. The pipe must be
    /// empty, or the call may block forever.
    ///
    /// The kernel does not report when it has sent the pages, and reads them late. Pages that must
    /// arrive as they are may not be changed any more.
    ///
    /// # Errors
    /// - EINVAL: the range is not within the pages.
    /// - ENOMEM: no kernel memory.
    ///
    /// # References
    /// [vmsplice(2)]
    ///
    /// [vmsplice(2)]: https://man7.org/linux/man-pages/man2/vmsplice.2.html
    #[doc(alias = "vmsplice")]
    pub fn fill_from_pages(&self, pages: &Pages, range: Range<usize>) -> io::Result<usize> {
        let bytes = pages
            .as_slice()
            .get(range)
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        // SAFETY: the descriptor is the pipe's write end, so the kernel reads the memory and never
        // writes to it. The slice is valid during the call. What the pipe keeps are references to
        // the pages themselves, which outlive the mapping. SPLICE_F_GIFT, which would give the
        // pages away, is not set.
        Ok(retry_on_intr(|| unsafe {
            rustix::pipe::vmsplice(
                &self.write_end,
                &[IoSliceRaw::from_slice(bytes)],
                SpliceFlags::empty(),
            )
        })?)
    }

    /// Moves `len` bytes from the pipe to a socket or to /dev/null with splice(2), and restarts
    /// after signals.
    ///
    /// Returns the number of bytes taken. `more` sets SPLICE_F_MORE: more data follows at once, so
    /// TCP holds back a segment that is not full.
    ///
    /// # Errors
    /// - EPIPE, ECONNRESET: the peer is gone.
    ///
    /// # References
    /// [splice(2)]
    ///
    /// [splice(2)]: https://man7.org/linux/man-pages/man2/splice.2.html
    #[doc(alias = "splice")]
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

    use super::*;
    use crate::testing::{connection, file_of};

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at * 7 + at / 256) as u8).collect()
    }

    #[test]
    fn sendfile_sends_from_the_offset_and_moves_it() {
        let (one, mut other) = connection();
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
    fn a_pipe_of_a_capacity_may_be_smaller_than_pipes_are() {
        let page = crate::pages::page_size();
        assert_eq!(Pipe::with_capacity(1).unwrap().capacity_bytes(), page);
        assert_eq!(Pipe::with_capacity(4 * page).unwrap().capacity_bytes(), 4 * page);
        assert!(Pipe::with_capacity(usize::MAX / 2).is_err());
    }

    #[test]
    fn bytes_of_a_file_pass_through_a_pipe_to_a_socket() {
        let (one, mut other) = connection();
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
        let (one, mut other) = connection();
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
        let (mut one, other) = connection();
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
