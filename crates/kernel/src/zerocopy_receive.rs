//! TCP_ZEROCOPY_RECEIVE: mapping received pages instead of copying them.
//!
//! An address range is mapped from the socket. Each call of the socket option maps as many whole
//! pages of received payload into it as there are at the head of the queue, removes them from the
//! queue, and unmaps those of the previous call. Payload that does not fill pages of its own is not
//! mapped. The same call copies it into a buffer, as far as the buffer goes, and returns how much
//! must be read by other means. That happens with a device that does not split headers, a segment
//! size that is not a multiple of the page size, or memory of local senders.
//!
//! # References
//! - `tcp_zerocopy_receive` in net/ipv4/tcp.c, since Linux 4.18
//! - `copybuf_address` of include/uapi/linux/tcp.h, since Linux 5.11
//! - tools/testing/selftests/net/tcp_mmap.c

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags};

/// `struct tcp_zerocopy_receive` of include/uapi/linux/tcp.h, as in Linux 5.12. Timestamps
/// (`msg_control`) are not asked for.
#[repr(C)]
struct Request {
    address: u64,
    length: u32,
    recv_skip_hint: u32,
    inq: u32,
    err: i32,
    copybuf_address: u64,
    copybuf_len: i32,
    flags: u32,
    msg_control: u64,
    msg_controllen: u64,
    msg_flags: u32,
    reserved: u32,
}

/// The lengths of the struct that kernels know, the longest first: those since 5.12, since 5.6,
/// since 4.18. From 5.6 on a kernel shortens the length of a struct that is too long for it and
/// writes that back. An older one refuses any length but its own with EINVAL, as one since 5.12
/// does if fields that it does not know are not 0.
const SIZES: [usize; 3] = [mem::size_of::<Request>(), 24, 16];

/// The struct up to and with `copybuf_len`.
const WITH_COPY: usize = mem::offset_of!(Request, flags);

/// Result of a call.
///
/// # References
/// [tcp(7)]
///
/// [tcp(7)]: https://man7.org/linux/man-pages/man7/tcp.7.html
#[doc(alias = "tcp_zerocopy_receive")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// `mapped_bytes` are mapped, and `copied_bytes` that follow them are copied. The next
    /// `skip_bytes` (maybe 0) must be read with recv(2).
    Bytes {
        /// A multiple of the page size, from 0 to the size of the mapping.
        mapped_bytes: usize,
        /// Bytes at the beginning of the buffer.
        copied_bytes: usize,
        /// Bytes now at the head of the queue that cannot be mapped.
        skip_bytes: usize,
        /// Bytes now in the queue; 0 where the kernel does not tell.
        queued_bytes: usize,
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
    /// Length of the struct that the kernel knows.
    request_bytes: usize,
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
        let request_bytes = SIZES[0];
        let mut mapping = Self { socket, start, len, mapped_bytes: 0, request_bytes };
        mapping.ask(0, &mut [])?;
        Ok(mapping)
    }

    /// Length of the mapping in bytes: the most that a call maps.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the kernel copies what it does not map, by what it said to the last call.
    pub fn copies(&self) -> bool {
        self.request_bytes >= WITH_COPY
    }

    /// Maps the head of the queue with getsockopt(2), TCP_ZEROCOPY_RECEIVE, in place of the
    /// previous mapping, and copies what follows and cannot be mapped to the beginning of `buffer`,
    /// if the kernel can. Does not block.
    ///
    /// If all that is queued fits into `buffer`, the kernel copies it and maps nothing
    /// (`receive_fallback_to_copy`).
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
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        self.ask(self.len, buffer)
    }

    fn ask(&mut self, len: usize, buffer: &mut [u8]) -> io::Result<Received> {
        loop {
            let error = match self.ask_once(len, buffer) {
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => error,
                answer => return answer,
            };
            let shorter = SIZES.into_iter().find(|size| *size < self.request_bytes);
            self.request_bytes = shorter.ok_or(error)?;
        }
    }

    fn ask_once(&mut self, len: usize, buffer: &mut [u8]) -> io::Result<Received> {
        self.mapped_bytes = 0;
        let copy_bytes = if self.copies() { buffer.len().min(i32::MAX as usize) } else { 0 };
        let mut request = Request {
            address: self.start.as_ptr() as u64,
            length: u32::try_from(len).unwrap_or(u32::MAX),
            recv_skip_hint: 0,
            inq: 0,
            err: 0,
            copybuf_address: if copy_bytes > 0 { buffer.as_mut_ptr() as u64 } else { 0 },
            copybuf_len: copy_bytes as i32,
            flags: 0,
            msg_control: 0,
            msg_controllen: 0,
            msg_flags: 0,
            reserved: 0,
        };
        let mut size = self.request_bytes as libc::socklen_t;
        // SAFETY: the kernel reads and writes at most `size` bytes of `request`, which lives
        // through the call and is at least as long. It changes page tables only within the mapping
        // given by `address` and `length`, which is `self`'s own. No reference into it exists:
        // `copy_mapped` keeps none, and this takes `&mut self`. It writes at most `copybuf_len`
        // bytes to `copybuf_address`, which are bytes of `buffer`, borrowed exclusively.
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
        self.request_bytes = self.request_bytes.min(size as usize);
        if request.err != 0 {
            return Err(io::Error::from_raw_os_error(request.err.saturating_abs()));
        }
        // A kernel that does not know the field leaves it as it was.
        let copied = if self.copies() { request.copybuf_len } else { 0 };
        let copied_bytes = usize::try_from(copied)
            .map_err(|_| io::Error::from_raw_os_error(copied.saturating_abs()))?
            .min(copy_bytes);
        self.mapped_bytes = (request.length as usize).min(len);
        Ok(match (self.mapped_bytes, copied_bytes, request.recv_skip_hint as usize) {
            (0, 0, 0) => Received::Nothing,
            (mapped_bytes, copied_bytes, skip_bytes) => Received::Bytes {
                mapped_bytes,
                copied_bytes,
                skip_bytes,
                queued_bytes: request.inq as usize,
            },
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
        assert_eq!(mapping.receive(&mut [0; 9]).unwrap(), Received::Nothing);
        assert!(mapping.copy_mapped().is_empty());
        one.shutdown(Shutdown::Write).unwrap();
        assert!(crate::tcp::wait_readable(&other, Duration::from_secs(10)).unwrap());
        assert_eq!(mapping.receive(&mut [0; 9]).unwrap(), Received::End);
    }

    /// Receives what `one` sends, with buffers of `copy_bytes`. Returns the bytes and how many of
    /// them the option copied; both ends are at their end then.
    fn all_of(
        mapping: &mut ReceiveMapping,
        other: &mut TcpStream,
        copy: usize,
    ) -> (Vec<u8>, usize) {
        let (mut got, mut copied) = (Vec::new(), 0);
        let mut buffer = vec![0; copy];
        loop {
            match mapping.receive(&mut buffer).unwrap() {
                Received::Bytes { mapped_bytes, copied_bytes, skip_bytes, .. } => {
                    let mapped = mapping.copy_mapped();
                    assert_eq!(mapped.len(), mapped_bytes);
                    got.extend(mapped);
                    got.extend(&buffer[..copied_bytes]);
                    copied += copied_bytes;
                    let mut rest = vec![0; skip_bytes];
                    other.read_exact(&mut rest).unwrap();
                    got.extend(rest);
                }
                Received::Nothing => {
                    assert!(crate::tcp::wait_readable(&*other, Duration::from_secs(10)).unwrap())
                }
                Received::End => return (got, copied),
            }
        }
    }

    #[test]
    fn every_byte_is_mapped_or_copied_or_left_to_be_read() {
        let bytes: Vec<u8> = (0..20_000u32).map(|at| (at * 7) as u8).collect();
        for copy_bytes in [0, 1, 999, 4_096, 100_000] {
            let (mut one, mut other) = connection();
            let Some(mut mapping) = mapping(&other) else { return };
            one.write_all(&bytes).unwrap();
            one.shutdown(Shutdown::Write).unwrap();
            let (got, copied) = all_of(&mut mapping, &mut other, copy_bytes);
            assert!(got == bytes, "other bytes with a buffer of {copy_bytes}");
            if copy_bytes >= bytes.len() && mapping.copies() {
                assert_eq!(copied, bytes.len());
            }
        }
    }

    #[test]
    fn a_kernel_that_knows_a_shorter_struct_leaves_the_copying_to_recv() {
        let bytes: Vec<u8> = (0..20_000u32).map(|at| (at * 7) as u8).collect();
        for request_bytes in [24, 16] {
            let (mut one, mut other) = connection();
            let Some(mut mapping) = mapping(&other) else { return };
            mapping.request_bytes = request_bytes;
            assert!(!mapping.copies());
            one.write_all(&bytes).unwrap();
            one.shutdown(Shutdown::Write).unwrap();
            let (got, copied) = all_of(&mut mapping, &mut other, 100_000);
            assert!(got == bytes && copied == 0, "{copied} bytes copied");
        }
    }

    #[test]
    fn what_no_kernel_knows_is_refused_after_all_lengths_were_tried() {
        let (_one, other) = connection();
        let Some(mut mapping) = mapping(&other) else { return };
        let whole = mapping.start;
        mapping.start = whole.map_addr(|at| at | 1); // not at the beginning of a page
        let error = mapping.receive(&mut []).unwrap_err();
        mapping.start = whole;
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        assert_eq!(mapping.request_bytes, 16);
    }

    #[test]
    fn something_that_is_no_socket_is_an_error() {
        ReceiveMapping::new(tempfile::tempfile().unwrap(), 1).unwrap_err();
    }
}
