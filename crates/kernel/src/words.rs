//! Shared memory of 64-bit counters for several threads or processes: memfd mappings accessed as
//! `[AtomicU64]`.

use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A shared mapping of a memfd: page-aligned words, initially 0. Every holder of the memfd can map
/// it.
///
/// # References
/// - [memfd_create(2)]
/// - [mmap(2)]
///
/// [memfd_create(2)]: https://man7.org/linux/man-pages/man2/memfd_create.2.html
/// [mmap(2)]: https://man7.org/linux/man-pages/man2/mmap.2.html
#[doc(alias = "memfd")]
#[doc(alias = "mmap")]
#[derive(Debug)]
pub struct SharedWords {
    start: NonNull<AtomicU64>,
    len: usize,
}

// SAFETY: it owns its mapping, which is bound to no thread. Only atomics are reachable through it,
// which any thread may use through a shared reference.
unsafe impl Send for SharedWords {}
// SAFETY: as above. No method changes anything except through atomics.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Creates a memfd of `len` words (at least 1) with memfd_create(2), seals it against
    /// shrinking, and maps it.
    ///
    /// # Errors
    /// - EMFILE, ENFILE, ENOMEM: no file descriptors or no memory left.
    /// - EINVAL: the length exceeds that of any file.
    ///
    /// # References
    /// - [memfd_create(2)]
    /// - [ftruncate(2)]
    /// - [fcntl(2)], F_ADD_SEALS
    ///
    /// [memfd_create(2)]: https://man7.org/linux/man-pages/man2/memfd_create.2.html
    /// [ftruncate(2)]: https://man7.org/linux/man-pages/man2/ftruncate.2.html
    /// [fcntl(2)]: https://man7.org/linux/man-pages/man2/fcntl.2.html
    #[doc(alias = "memfd_create")]
    #[doc(alias = "F_ADD_SEALS")]
    pub fn create(len: usize) -> io::Result<(Self, OwnedFd)> {
        let fd = memfd_create("zc-words", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&fd, bytes(len.max(1))? as u64)?;
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::SEAL)?;
        let words = Self::map(&fd)?;
        Ok((words, fd))
    }

    /// Maps a memfd made by [`create`](Self::create) in this or another process, with mmap(2).
    ///
    /// # Errors
    /// - EINVAL: the file holds no word, or lacks the seal against shrinking.
    /// - ENOMEM: no address space.
    ///
    /// # References
    /// [mmap(2)]
    ///
    /// [mmap(2)]: https://man7.org/linux/man-pages/man2/mmap.2.html
    #[doc(alias = "mmap")]
    pub fn map(fd: impl AsFd) -> io::Result<Self> {
        let fd = fd.as_fd();
        let len = usize::try_from(fstat(fd)?.st_size).unwrap_or(0) / size_of::<AtomicU64>();
        // Without the seal a holder of the file could truncate it, and an access to the mapping
        // would raise SIGBUS.
        if len == 0 || !fcntl_get_seals(fd)?.contains(SealFlags::SHRINK) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing. It is not
        // longer than the file, and the seal keeps the file from shrinking.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                bytes(len)?,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                fd,
                0,
            )
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
        // SAFETY: `start` is page-aligned and heads a mapping of at least `len` words that lives as
        // long as `self`. Every bit pattern is a valid AtomicU64. All holders of the mapping access
        // it as atomics, never as plain memory.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: `map` made the mapping with this start and length, and no reference to it
        // outlives `self`. munmap(2) fails only for arguments that describe no mapping.
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
        let second = SharedWords::map(&fd).unwrap();
        drop(fd);
        assert_eq!((words.len(), second.len()), (32, 32));
        assert!(second.iter().all(|word| word.load(Relaxed) == 0));
        words[31].store(7, Relaxed);
        assert_eq!(second[31].load(Relaxed), 7);
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
