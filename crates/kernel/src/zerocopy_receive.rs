//! TCP_ZEROCOPY_RECEIVE: mapping received pages instead of copying them.
//!
//! An address range is mapped from the socket. Each call of the socket option maps as many whole
//! pages of received payload into it as there are at the head of the queue, removes them from the
//! queue, and unmaps those of the previous call. Payload that does not fill pages of its own is not
//! mapped, and the call returns how much of it must be read by other means. That happens with a
//! device that does not split headers, a segment size that is not a multiple of the page size, or
//! memory of local senders.
//!
//! # References
//! - `tcp_zerocopy_receive` in net/ipv4/tcp.c, since Linux 4.18
//! - tools/testing/selftests/net/tcp_mmap.c

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags};

/// The first fields of `struct tcp_zerocopy_receive` of include/uapi/linux/tcp.h, as in Linux 5.7.
/// The later ones, with which the kernel copies small reads itself, are left out: this program does
/// the copying.
#[repr(C)]
struct Request {
    address: u64,
    length: u32,
    recv_skip_hint: u32,
    inq: u32,
    err: i32,
}

/// Result of a call.
///
/// # References
/// [tcp(7)]
///
/// [tcp(7)]: https://man7.org/linux/man-pages/man7/tcp.7.html
#[doc(alias = "tcp_zerocopy_receive")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// `mapped_bytes` are mapped. The next `skip_bytes` (maybe 0) must be read with recv(2).
    Bytes {
        /// A multiple of the page size, from 0 to the size of the mapping.
        mapped_bytes: usize,
        /// Bytes at the head of the queue that cannot be mapped.
        skip_bytes: usize,
    },
    /// The queue is empty.
    Nothing,
    /// The queue is empty and the peer will send no more, or the connection is broken. recv(2)
    /// tells which.
    End,
}

/// A mapping of a socket for its received pages. It keeps the connection open.
///
/// # References
/// [mmap(2)]
///
/// [mmap(2)]: https://man7.org/linux/man-pages/man2/mmap.2.html
#[doc(alias = "TCP_ZEROCOPY_RECEIVE")]
#[derive(Debug)]
pub struct ReceiveMapping {
    socket: OwnedFd,
    start: NonNull<u8>,
    len: usize,
    mapped_bytes: usize,
}

impl ReceiveMapping {
    /// Maps `len` bytes, rounded up to whole pages, of a connected socket with mmap(2). It then
    /// tries TCP_ZEROCOPY_RECEIVE once with a length of 0.
    ///
    /// # Errors
    /// - ENODEV: the kernel cannot map sockets.
    /// - ENOPROTOOPT, EOPNOTSUPP: the kernel lacks the option.
    /// - ENOMEM: no address space.
    ///
    /// # References
    /// - [mmap(2)]
    /// - [getsockopt(2)]
    ///
    /// [mmap(2)]: https://man7.org/linux/man-pages/man2/mmap.2.html
    /// [getsockopt(2)]: https://man7.org/linux/man-pages/man2/getsockopt.2.html
    #[doc(alias = "mmap")]
    #[doc(alias = "TCP_ZEROCOPY_RECEIVE")]
    pub fn new(socket: impl AsFd, len: usize) -> io::Result<Self> {
        let socket = socket.as_fd().try_clone_to_owned()?;
        let len = len
            .max(1)
            .checked_next_multiple_of(crate::pages::page_size())
            .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // SAFETY: a null address without MAP_FIXED lets the kernel choose a free range, so no
        // existing mapping is touched.
        let start = unsafe {
            rustix::mm::mmap(ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, &socket, 0)
        }?;
        let start = NonNull::new(start.cast::<u8>())
            .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let mut mapping = Self { socket, start, len, mapped_bytes: 0 };
        mapping.ask(0)?;
        Ok(mapping)
    }

    /// Maps the head of the queue with getsockopt(2), TCP_ZEROCOPY_RECEIVE, in place of the
    /// previous mapping. Does not block.
    ///
    /// # Errors
    /// - ECONNRESET and others: the connection is broken.
    ///
    /// # References
    /// - [getsockopt(2)]
    /// - `tcp_zerocopy_receive` in net/ipv4/tcp.c
    ///
    /// [getsockopt(2)]: https://man7.org/linux/man-pages/man2/getsockopt.2.html
    #[doc(alias = "getsockopt")]
    #[doc(alias = "TCP_ZEROCOPY_RECEIVE")]
    pub fn receive(&mut self) -> io::Result<Received> {
        self.ask(self.len)
    }

    fn ask(&mut self, len: usize) -> io::Result<Received> {
        self.mapped_bytes = 0;
        let mut request = Request {
            address: self.start.as_ptr() as u64,
            length: u32::try_from(len).unwrap_or(u32::MAX),
            recv_skip_hint: 0,
            inq: 0,
            err: 0,
        };
        let mut size = mem::size_of::<Request>() as libc::socklen_t;
        // SAFETY: the kernel reads and writes at most `size` bytes of `request`, which lives
        // through the call. It changes page tables only within the mapping given by `address` and
        // `length`, which is `self`'s own. No reference into it exists: `copy_mapped` keeps none,
        // and this takes `&mut self`.
        let status = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_ZEROCOPY_RECEIVE,
                (&raw mut request).cast(),
                &raw mut size,
            )
        };
        if status != 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EIO) => Ok(Received::End),
                _ => Err(error),
            };
        }
        if request.err != 0 {
            return Err(io::Error::from_raw_os_error(request.err.saturating_abs()));
        }
        self.mapped_bytes = (request.length as usize).min(len);
        Ok(match (self.mapped_bytes, request.recv_skip_hint as usize) {
            (0, 0) => Received::Nothing,
            (mapped_bytes, skip_bytes) => Received::Bytes { mapped_bytes, skip_bytes },
        })
    }

    /// A copy of the mapped bytes.
    pub fn copy_mapped(&self) -> Vec<u8> {
        let mut copy = vec![0; self.mapped_bytes];
        // SAFETY: the last call mapped pages over the first `mapped_bytes` of the range. They stay
        // until the next call or the drop, which need `self` exclusively. The pages are no longer
        // in the kernel's queue. They are copied by address and never borrowed.
        unsafe {
            ptr::copy_nonoverlapping(self.start.as_ptr(), copy.as_mut_ptr(), self.mapped_bytes)
        };
        copy
    }
}

impl Drop for ReceiveMapping {
    fn drop(&mut self) {
        // SAFETY: `new` mapped the range and nothing else unmaps it. There are no references into
        // it.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpStream};
    use std::time::Duration;

    use super::*;
    use crate::testing::connection;

    fn mapping(socket: &TcpStream) -> Option<ReceiveMapping> {
        match ReceiveMapping::new(socket, 1 << 16) {
            Ok(mapping) => Some(mapping),
            Err(error) => {
                eprintln!("skipped: no TCP_ZEROCOPY_RECEIVE here: {error}");
                None
            }
        }
    }

    #[test]
    fn an_empty_queue_is_nothing_and_a_closed_one_is_the_end() {
        let (one, other) = connection();
        let Some(mut mapping) = mapping(&other) else { return };
        assert_eq!(mapping.receive().unwrap(), Received::Nothing);
        assert!(mapping.copy_mapped().is_empty());
        one.shutdown(Shutdown::Write).unwrap();
        assert!(crate::tcp::wait_readable(&other, Duration::from_secs(10)).unwrap());
        assert_eq!(mapping.receive().unwrap(), Received::End);
    }

    #[test]
    fn every_byte_is_either_mapped_or_left_to_be_read() {
        let (mut one, mut other) = connection();
        let Some(mut mapping) = mapping(&other) else { return };
        let bytes: Vec<u8> = (0..20_000u32).map(|at| (at * 7) as u8).collect();
        one.write_all(&bytes).unwrap();
        one.shutdown(Shutdown::Write).unwrap();
        let mut got = Vec::new();
        loop {
            match mapping.receive().unwrap() {
                Received::Bytes { mapped_bytes, skip_bytes } => {
                    let mapped = mapping.copy_mapped();
                    assert_eq!(mapped.len(), mapped_bytes);
                    got.extend(mapped);
                    let mut rest = vec![0; skip_bytes];
                    other.read_exact(&mut rest).unwrap();
                    got.extend(rest);
                }
                Received::Nothing => {
                    assert!(crate::tcp::wait_readable(&other, Duration::from_secs(10)).unwrap())
                }
                Received::End => break,
            }
        }
        assert_eq!(got, bytes);
    }

    #[test]
    fn something_that_is_no_socket_is_an_error() {
        ReceiveMapping::new(tempfile::tempfile().unwrap(), 1).unwrap_err();
    }
}
