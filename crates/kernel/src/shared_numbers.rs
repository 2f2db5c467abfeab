//! Numbers of 64 bits in a file that processes share: one counts in them, another reads them at any
//! moment.

use std::fs::File;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

use rustix::mm::{MapFlags, ProtFlags};

/// Atomic numbers, mapped (MAP_SHARED) from a file that has no other use.
///
/// # References
/// [mmap(2)]
///
/// [mmap(2)]: https://man7.org/linux/man-pages/man2/mmap.2.html
#[doc(alias = "mmap")]
#[derive(Debug)]
pub struct SharedNumbers {
    start: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: the mapping is bound to no thread, and what it holds are atomics.
unsafe impl Send for SharedNumbers {}
// SAFETY: as above.
unsafe impl Sync for SharedNumbers {}

impl SharedNumbers {
    /// Maps the first `count` numbers of a file with mmap(2), in the byte order of the machine. A shorter
    /// file is made as long as that. Whoever shortens it later ends this process by SIGBUS: give a file
    /// that nobody else may write.
    ///
    /// # Errors
    /// - EINVAL: `count` is 0.
    /// - EACCES: the file is not open for reading and writing.
    /// - ENODEV: the file system does not support mmap.
    ///
    /// # References
    /// [mmap(2)]
    ///
    /// [mmap(2)]: https://man7.org/linux/man-pages/man2/mmap.2.html
    #[doc(alias = "mmap")]
    pub fn of_file(file: &File, count: usize) -> io::Result<Self> {
        let bytes = size_of::<AtomicU64>()
            .checked_mul(count)
            .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        if file.metadata()?.len() < bytes as u64 {
            file.set_len(bytes as u64)?;
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a null address without MAP_FIXED lets the kernel choose a free range, so no existing
        // mapping is touched. What it holds is only used as atomics, which other processes may change.
        let start =
            unsafe { rustix::mm::mmap(ptr::null_mut(), bytes, access, MapFlags::SHARED, file, 0) }?;
        let start = NonNull::new(start.cast::<AtomicU64>())
            .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { start, count })
    }

    /// The numbers.
    pub fn all(&self) -> &[AtomicU64] {
        // SAFETY: the range is mapped and as long as that until this is dropped, begins at a page, and
        // every pattern of bits is a number.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl Drop for SharedNumbers {
    fn drop(&mut self) {
        let bytes = size_of::<AtomicU64>() * self.count;
        // SAFETY: the range is what mmap returned, and no reference into it outlives this value.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), bytes) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn what_is_counted_is_in_the_file() {
        let file = tempfile::tempfile().unwrap();
        let numbers = SharedNumbers::of_file(&file, 3).unwrap();
        numbers.all()[1].fetch_add(7, Ordering::Relaxed);
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, 8).unwrap();
        assert_eq!(u64::from_ne_bytes(bytes), 7);
        let other = SharedNumbers::of_file(&file, 2).unwrap();
        assert_eq!(other.all()[1].load(Ordering::Relaxed), 7);
        assert_eq!(file.metadata().unwrap().len(), 24, "a longer file stays as it is");
    }

    #[test]
    fn no_numbers_and_a_file_that_cannot_be_written_are_errors() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(SharedNumbers::of_file(file.as_file(), 0).is_err());
        file.as_file().set_len(8).unwrap();
        let read_only = File::open(file.path()).unwrap();
        assert!(SharedNumbers::of_file(&read_only, 1).is_err());
    }
}
