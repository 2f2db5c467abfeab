//! A map of BPF programs in this process's memory.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags};

use super::load::{BpfError, Stage};

/// Number of values in a map by source port (`PORTS` of packet.h).
pub(super) const PORTS: usize = 1 << 15;

/// A map of values of type `T`, which consist of atomics, in this process's memory.
#[derive(Debug)]
pub(super) struct Mapped<T> {
    base: NonNull<T>,
    count: usize,
}

// SAFETY: the mapping belongs to this value and is not bound to a thread. Only references to `T`
// come out of it, which threads may share.
unsafe impl<T: Sync> Send for Mapped<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Mapped<T> {}

impl<T> Mapped<T> {
    /// Maps an array of `count` values, whose layout in the object is that of `T`.
    pub(super) fn new(
        map: BorrowedFd<'_>,
        count: usize,
        access: ProtFlags,
    ) -> Result<Self, BpfError> {
        let no = |error: io::Error| BpfError {
            stage: Stage::Mmap,
            detail: "the map cannot be mapped".into(),
            error,
        };
        // SAFETY: a null address without MAP_FIXED lets the kernel choose a free range.
        let base = unsafe {
            rustix::mm::mmap(
                ptr::null_mut(),
                count * size_of::<T>(),
                access,
                MapFlags::SHARED,
                map,
                0,
            )
        }
        .map_err(|error| no(error.into()))?;
        let base = NonNull::new(base.cast())
            .ok_or_else(|| no(io::Error::from(io::ErrorKind::OutOfMemory)))?;
        Ok(Self { base, count })
    }

    /// The value of a flow from this port, in a map of [`PORTS`].
    pub(super) fn for_port(&self, port: u16) -> &T {
        self.at(usize::from(port) % PORTS)
    }

    pub(super) fn at(&self, index: usize) -> &T {
        debug_assert!(index < self.count);
        // SAFETY: the array has `count` values of this size: the object says so, and mmap(2)
        // refuses more than the map has. It is page-aligned and lives as long as `self`. It is
        // accessed through atomics only, which a concurrent writer may change.
        unsafe { self.base.add(index % self.count).as_ref() }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        let len = self.count * size_of::<T>();
        // SAFETY: mapped by `new` with this length. Every reference into it borrows `self`.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), len) };
    }
}
