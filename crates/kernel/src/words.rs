//! Words of memory that several threads, or several processes, count in: shared mappings seen as `[AtomicU64]`.

use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A shared mapping of a memfd: page-aligned words, 0 at first, that whoever holds the memfd can map too.
#[derive(Debug)]
pub struct SharedWords {
    start: NonNull<AtomicU64>,
    len: usize,
}

// SAFETY: it owns its mapping, and what is reachable through it are atomics, which any thread may use through a shared
// reference; the mapping itself is bound to no thread.
unsafe impl Send for SharedWords {}
// SAFETY: as above; no method changes anything but through atomics.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Makes a memfd of `len` words (at least 1), which can shrink no more, and maps it.
    ///
    /// # Errors
    /// EMFILE, ENFILE, ENOMEM; EINVAL when the length is beyond what a file can have.
    ///
    /// # References
    /// memfd_create(2), F_ADD_SEALS in fcntl(2).
    pub fn create(len: usize) -> io::Result<(Self, OwnedFd)> {
        let fd = memfd_create("zc-words", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&fd, bytes(len.max(1))? as u64)?;
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::SEAL)?;
        let words = Self::map(&fd)?;
        Ok((words, fd))
    }

    /// Maps a memfd that [`create`](Self::create) made, here or in another process.
    ///
    /// # Errors
    /// EINVAL: it is not one: it has no words, or could be cut short later. ENOMEM.
    ///
    /// # References
    /// mmap(2).
    pub fn map(fd: impl AsFd) -> io::Result<Self> {
        let fd = fd.as_fd();
        let len = usize::try_from(fstat(fd)?.st_size).unwrap_or(0) / size_of::<AtomicU64>();
        // Without the seal whoever has the file could cut it, and a touch of the mapping would be SIGBUS.
        if len == 0 || !fcntl_get_seals(fd)?.contains(SealFlags::SHRINK) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing. It is not longer than the file, and the
        // seal keeps the file from becoming shorter.
        let start = unsafe {
            mmap(std::ptr::null_mut(), bytes(len)?, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, fd, 0)
        }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, len })
    }
}

fn bytes(len: usize) -> io::Result<usize> {
    len.checked_mul(size_of::<AtomicU64>()).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

impl Deref for SharedWords {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `start` is page-aligned and heads a mapping of at least `len` words that lives as long as `self`; every bit
        // pattern is an AtomicU64, and all who have the mapping reach it as atomics, never as plain memory.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this start and length, and no reference to it outlives `self`. It can
        // only fail for arguments that are no mapping's.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len * size_of::<AtomicU64>()) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn what_is_stored_through_one_mapping_is_read_through_the_other() {
        let (words, fd) = SharedWords::create(32).unwrap();
        let twin = SharedWords::map(&fd).unwrap();
        drop(fd);
        assert_eq!((words.len(), twin.len()), (32, 32));
        assert!(twin.iter().all(|word| word.load(Relaxed) == 0));
        words[31].store(7, Relaxed);
        assert_eq!(twin[31].load(Relaxed), 7);
        assert_eq!(words.as_ptr().addr() % 4096, 0);
    }

    #[test]
    fn a_file_that_could_be_cut_is_refused() {
        let fd = memfd_create("open", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&fd, 4096).unwrap();
        assert_eq!(SharedWords::map(&fd).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_file_without_a_word_is_refused() {
        let fd = memfd_create("empty", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        fcntl_add_seals(&fd, SealFlags::SHRINK).unwrap();
        assert_eq!(SharedWords::map(&fd).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(SharedWords::create(usize::MAX).is_err());
    }
}
