//! TCP_ZEROCOPY_RECEIVE: mapping received pages instead of copying them.
//!
//! A range of addresses is mapped from the socket. Each call of the socket option maps as many whole pages of
//! received payload into it as there are at the head of the queue, takes them out of the queue, and unmaps what the
//! call before had mapped. Payload that is not a whole page of its own (a device that does not split headers, a
//! segment size that is not a multiple of a page, memory of local senders) is not mapped: the call says how much of
//! it must be read otherwise.
//!
//! # References
//! `tcp_zerocopy_receive` of net/ipv4/tcp.c; tools/testing/selftests/net/tcp_mmap.c. Linux 4.18.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags};

/// The first fields of `struct tcp_zerocopy_receive` of include/uapi/linux/tcp.h: those that Linux 5.7 has. The later
/// ones, with which the kernel copies small reads itself, are left out: the copying shall be this program's.
#[repr(C)]
struct Request {
    address: u64,
    length: u32,
    recv_skip_hint: u32,
    inq: u32,
    err: i32,
}

/// What a call did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// `mapped_bytes` are mapped now; after them, `skip_bytes` (perhaps 0) must be read by recv(2).
    Bytes {
        /// A multiple of the page size, 0 to the size of the mapping.
        mapped_bytes: usize,
        /// What stands next in the queue and cannot be mapped.
        skip_bytes: usize,
    },
    /// The queue is empty.
    Nothing,
    /// The queue is empty and the peer will send no more, or the connection is broken: recv(2) tells which.
    End,
}

/// A mapping of a socket, into which its received pages go. While it exists the connection stays open.
#[derive(Debug)]
pub struct ReceiveMapping {
    socket: OwnedFd,
    start: NonNull<u8>,
    len: usize,
    mapped_bytes: usize,
}

impl ReceiveMapping {
    /// Maps `len` bytes (rounded up to whole pages) of a connected socket, and asks once, for nothing, whether this
    /// kernel has the socket option.
    ///
    /// # Errors
    /// ENODEV: this kernel cannot map sockets. ENOPROTOOPT or EOPNOTSUPP: it does not have the option. ENOMEM.
    pub fn new(socket: impl AsFd, len: usize) -> io::Result<Self> {
        let socket = socket.as_fd().try_clone_to_owned()?;
        let len = len
            .max(1)
            .checked_next_multiple_of(rustix::param::page_size())
            .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // SAFETY: a null address without MAP_FIXED lets the kernel choose a range that is not in use, so no existing
        // mapping is touched.
        let start = unsafe { rustix::mm::mmap(ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, &socket, 0) }?;
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let mut mapping = Self { socket, start, len, mapped_bytes: 0 };
        mapping.ask(0)?;
        Ok(mapping)
    }

    /// Maps what is at the head of the queue, in place of what was mapped before. Does not block.
    ///
    /// # Errors
    /// ECONNRESET and the like: the connection is broken.
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
        // SAFETY: the kernel reads and writes at most `size` bytes of `request`, which lives through the call, and
        // changes the page tables only within the mapping that `address` and `length` name, which is `self`'s own: no
        // reference into it exists, because `copy_mapped` keeps none and this takes `&mut self`.
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

    /// Copies what is mapped now, for those who want to see it.
    pub fn copy_mapped(&self) -> Vec<u8> {
        let mut copy = vec![0; self.mapped_bytes];
        // SAFETY: the last call mapped pages over the first `mapped_bytes` of the range, and they stay until the next
        // call or the drop, which need `self` exclusively. The pages are the kernel's and no longer in its queue;
        // they are copied by address and never borrowed.
        unsafe { ptr::copy_nonoverlapping(self.start.as_ptr(), copy.as_mut_ptr(), self.mapped_bytes) };
        copy
    }
}

impl Drop for ReceiveMapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new` and nobody else unmaps it; there are no references into it.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::time::Duration;

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one, listener.accept().unwrap().0)
    }

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
        let (one, other) = pair();
        let Some(mut mapping) = mapping(&other) else { return };
        assert_eq!(mapping.receive().unwrap(), Received::Nothing);
        assert!(mapping.copy_mapped().is_empty());
        one.shutdown(Shutdown::Write).unwrap();
        assert!(crate::tcp::wait_readable(&other, Duration::from_secs(10)).unwrap());
        assert_eq!(mapping.receive().unwrap(), Received::End);
    }

    #[test]
    fn every_byte_is_either_mapped_or_left_to_be_read() {
        let (mut one, mut other) = pair();
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
                Received::Nothing => assert!(crate::tcp::wait_readable(&other, Duration::from_secs(10)).unwrap()),
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
