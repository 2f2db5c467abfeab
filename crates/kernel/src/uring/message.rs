//! A message of several parts for `IORING_OP_SENDMSG_ZC` (Linux 6.1), from registered memory too
//! (`IORING_RECVSEND_FIXED_BUF`, 6.15).
//!
//! # References
//! - io_uring_prep_sendmsg_zc(3)
//! - io_uring_prep_sendmsg_zc_fixed(3)

use io_uring::{opcode, squeue};

use super::ring::Handle;

/// `IORING_RECVSEND_FIXED_BUF` of include/uapi/linux/io_uring.h.
const FIXED_BUF: u16 = 1 << 2;

/// Offset of `buf_index` in `struct io_uring_sqe` of include/uapi/linux/io_uring.h.
const BUF_INDEX_AT: usize = 40;

// The size of `struct io_uring_sqe`, in which BUF_INDEX_AT lies.
const _: () = assert!(size_of::<squeue::Entry>() == 64);

/// The header of a message and its parts, each at a place of its own.
#[derive(Debug)]
pub(super) struct Message {
    header: Box<libc::msghdr>,
    parts: Vec<libc::iovec>,
}

impl Default for Message {
    fn default() -> Self {
        // SAFETY: msghdr is made of pointers and integers, for which all zeros is a value.
        Self { header: Box::new(unsafe { std::mem::zeroed() }), parts: Vec::new() }
    }
}

impl Message {
    /// Makes it the `bytes` from `start` on, in parts of `part_bytes`.
    pub(super) fn set(&mut self, start: *mut u8, bytes: usize, part_bytes: usize) {
        self.parts.clear();
        let mut from = 0;
        while from < bytes {
            let iov_len = part_bytes.min(bytes - from);
            self.parts.push(libc::iovec { iov_base: start.wrapping_add(from).cast(), iov_len });
            from += iov_len;
        }
        self.header.msg_iov = self.parts.as_mut_ptr();
        self.header.msg_iovlen = self.parts.len() as _;
    }

    /// The request that sends it. It points to this message, and to the bytes of its parts, which
    /// lie in the registered buffer number `buffer`, if there is one.
    pub(super) fn request(
        &self,
        socket: Handle,
        flags: i32,
        zero_copy_flags: u16,
        buffer: Option<u16>,
    ) -> squeue::Entry {
        let fixed = if buffer.is_some() { FIXED_BUF } else { 0 };
        let mut request = opcode::SendMsgZc::new(socket.fd, &raw const *self.header)
            .ioprio(zero_copy_flags | fixed)
            .flags(flags as u32)
            .build()
            .flags(socket.flags);
        if let Some(buffer) = buffer {
            // The builder of the io-uring crate has no place for it.
            let at = std::ptr::from_mut(&mut request).cast::<u8>().wrapping_add(BUF_INDEX_AT);
            // SAFETY: `Entry` is a `struct io_uring_sqe`, of which these are two aligned bytes.
            unsafe { at.cast::<u16>().write(buffer) };
        }
        request
    }
}
