//! Offers of buffers to the kernel: a ring of provided buffers (`IORING_REGISTER_PBUF_RING`, Linux
//! 5.19).
//!
//! Buffers are offered by stores to shared memory, without a system call. A request with
//! `IOSQE_BUFFER_SELECT` takes them in the order in which they were offered.
//!
//! # References
//! - io_uring_register_buf_ring(3)
//! - io_uring_provided_buffers(7)

use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

use super::ring::{Ring, within_memlock};
use crate::pages::Pages;

/// Buffer group id of the only such ring that an io_uring has here.
pub(super) const GROUP: u16 = 0;

/// `IOU_PBUF_RING_INC` of include/uapi/linux/io_uring.h: a buffer is used up bit by bit.
pub(super) const INCREMENTAL: u16 = 2;

/// The ring that offers buffers.
#[derive(Debug)]
pub(super) struct BufRing {
    /// `count` entries of `struct io_uring_buf`. The tail is in the first.
    entries: Pages,
    /// A power of two.
    count: u16,
    /// Number of buffers offered, modulo 2^16.
    tail: u16,
}

impl BufRing {
    /// A ring for `count` buffers, which is rounded up to a power of two.
    pub(super) fn new(count: u16) -> io::Result<Self> {
        let count = count.clamp(1, 1 << 15).next_power_of_two();
        let entries = Pages::new(usize::from(count) * size_of::<BufRingEntry>())?;
        Ok(Self { entries, count, tail: 0 })
    }

    /// Registers it with `ring` as [`GROUP`], with `flags` of `struct io_uring_buf_reg`.
    ///
    /// # Errors
    /// - EINVAL: the kernel lacks such rings, or a flag.
    ///
    /// # Safety
    /// It must stay where it is until `ring` has nothing outstanding at a later time, or forever.
    pub(super) unsafe fn register(&self, ring: &Ring, flags: u16) -> io::Result<()> {
        let base = self.entries.base() as u64;
        within_memlock(self.entries.len(), || {
            // SAFETY: `entries` is page-aligned and has room for `count` entries. The caller keeps
            // it, and moving `self` does not move the mapping.
            unsafe { ring.submitter().register_buf_ring_with_flags(base, self.count, GROUP, flags) }
        })
    }

    /// Begins again with no offer, after the ring of `ring` has been unregistered.
    pub(super) fn clear(&mut self) {
        self.tail = 0;
        self.publish();
    }

    /// Adds a buffer at the tail. The kernel does not see it before [`publish`](Self::publish). At
    /// most as many may be offered as there is room for and the kernel has not taken.
    pub(super) fn offer(&mut self, id: u16, start: *mut u8, len: u32) {
        let at = usize::from(self.tail & (self.count - 1));
        let entry = self.entries.base().cast::<BufRingEntry>().wrapping_add(at);
        // SAFETY: entry `at` lies within `entries` (`count` of them), and is aligned because pages
        // are. The last offer in this entry has been taken, so the kernel reads it again only after
        // the tail was published. Only these three fields are set, because the tail shares the
        // first entry.
        unsafe {
            (*entry).set_addr(start as u64);
            (*entry).set_len(len);
            (*entry).set_bid(id);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    /// Makes the offered buffers visible to the kernel.
    pub(super) fn publish(&mut self) {
        // SAFETY: `tail` only computes an address within the first entry of `entries`.
        let tail = unsafe { BufRingEntry::tail(self.entries.base().cast::<BufRingEntry>()) };
        // SAFETY: the address is valid and aligned (entry 0, offset 14). This side only stores to
        // it and the kernel only loads it. The Release store orders the entries before it.
        unsafe { AtomicU16::from_ptr(tail.cast_mut()) }.store(self.tail, Ordering::Release);
    }
}
