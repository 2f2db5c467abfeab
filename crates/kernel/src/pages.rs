//! Anonymous memory in whole pages: buffers for the kernel to fill, and data that stays readable
//! while it sends.

use std::io;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags};

/// Anonymous private memory: page-aligned, zeroed, unmapped on drop.
///
/// No allocator reuses its pages. After a drop the kernel may still hold references to them, and
/// what it reads there has not changed.
///
/// # References
/// [mmap(2)], MAP_ANONYMOUS
///
/// [mmap(2)]: https://man7.org/linux/man-pages/man2/mmap.2.html
#[doc(alias = "mmap")]
#[doc(alias = "MAP_ANONYMOUS")]
#[derive(Debug)]
pub struct Pages {
    base: NonNull<u8>,
    len: usize,
    /// The whole mapping. It is larger than `len` where `base` had to be aligned to a huge page.
    mapped: (NonNull<u8>, usize),
}

// SAFETY: the mapping belongs to this value alone, is not bound to a thread, and is only changed
// through `&mut self`.
unsafe impl Send for Pages {}
// SAFETY: `&Pages` hands out shared slices only.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps at least `len` bytes with mmap(2), rounded up to whole pages. 0 gives one page.
    ///
    /// # Errors
    /// - ENOMEM: no memory, or over RLIMIT_AS.
    ///
    /// # References
    /// [mmap(2)]
    ///
    /// [mmap(2)]: https://man7.org/linux/man-pages/man2/mmap.2.html
    #[doc(alias = "mmap")]
    pub fn new(len: usize) -> io::Result<Self> {
        let len = round_up(len, page_size())?;
        let base = map(len)?;
        Ok(Self { base, len, mapped: (base, len) })
    }

    /// Maps at least `len` bytes, rounded up to whole huge pages of `huge` bytes, and requests huge
    /// pages with madvise(2), MADV_HUGEPAGE. The kernel allocates them at the first access, if it
    /// has any.
    ///
    /// # Errors
    /// - ENOMEM: as [`new`](Self::new).
    /// - EINVAL: the kernel has no transparent huge pages.
    ///
    /// # References
    /// - [madvise(2)], MADV_HUGEPAGE
    /// - [Documentation/admin-guide/mm/transhuge.rst]
    ///
    /// [madvise(2)]: https://man7.org/linux/man-pages/man2/madvise.2.html
    /// [Documentation/admin-guide/mm/transhuge.rst]:
    ///   https://docs.kernel.org/admin-guide/mm/transhuge.html
    #[doc(alias = "madvise")]
    #[doc(alias = "MADV_HUGEPAGE")]
    pub fn huge(len: usize, huge: usize) -> io::Result<Self> {
        let len = round_up(len, huge)?;
        let room = len.checked_add(huge).ok_or(rustix::io::Errno::NOMEM)?;
        let mapped = (map(room)?, room);
        let to_boundary = mapped.0.as_ptr().align_offset(huge);
        // SAFETY: the boundary is less than `huge` bytes from the start of a mapping that is `huge`
        // bytes longer than `len`.
        let base = unsafe { mapped.0.add(to_boundary) };
        let pages = Self { base, len, mapped };
        // SAFETY: advice about a range of our own mapping changes nothing in it.
        unsafe { rustix::mm::madvise(base.as_ptr().cast(), len, Advice::LinuxHugepage) }?;
        Ok(pages)
    }

    /// Length in bytes, a multiple of the page size.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The memory as bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the mapping is readable, initialised (the kernel zeroes it), `len` long, and
        // lives as long as `self`. Nothing writes to it while `&self` exists: `as_mut_slice` takes
        // `&mut`. Modules of this crate that let the kernel write to `base` keep `self` private,
        // and make slices only when the kernel does not.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }

    /// The memory as mutable bytes.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` excludes every other slice.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.len) }
    }

    /// Start of the memory, for system calls.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let (base, len) = self.mapped;
        // SAFETY: `map` made this mapping for this value, and slices of it cannot outlive `self`.
        let unmapped = unsafe { rustix::mm::munmap(base.as_ptr().cast(), len) };
        debug_assert!(unmapped.is_ok(), "munmap of our own mapping cannot fail");
    }
}

/// Bytes of a page, by sysconf(3), `_SC_PAGESIZE`: a constant of the kernel that every process is
/// given when it starts.
///
/// It is not taken from rustix, which before Linux 6.4 reads it from /proc/self/auxv, and panics
/// where there is no /proc or the file belongs to root, as after a change of user.
///
/// # References
/// [sysconf(3)]
///
/// [sysconf(3)]: https://man7.org/linux/man-pages/man3/sysconf.3.html
#[doc(alias = "sysconf")]
pub fn page_size() -> usize {
    // SAFETY: sysconf() takes no pointer.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // It cannot fail for this name (sysconf(3)); no Linux has smaller pages.
    usize::try_from(bytes).unwrap_or(4096)
}

/// `len` rounded up to a multiple of `unit`, at least one.
fn round_up(len: usize, unit: usize) -> io::Result<usize> {
    Ok(len.max(1).checked_next_multiple_of(unit).ok_or(rustix::io::Errno::NOMEM)?)
}

fn map(len: usize) -> io::Result<NonNull<u8>> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new anonymous mapping at an address of the kernel's choice changes no existing
    // memory.
    let base = unsafe {
        rustix::mm::mmap_anonymous(std::ptr::null_mut(), len, access, MapFlags::PRIVATE)?
    };
    Ok(NonNull::new(base.cast()).ok_or(rustix::io::Errno::NOMEM)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_as_large_as_the_kernel_says() {
        let Ok(smaps) = std::fs::read_to_string("/proc/self/smaps") else {
            return eprintln!("skipped: /proc/self/smaps cannot be read");
        };
        let kib = smaps.lines().find_map(|line| line.strip_prefix("KernelPageSize:"));
        let kib = kib.and_then(|text| text.trim().strip_suffix(" kB")).unwrap();
        assert_eq!(kib.parse::<usize>().unwrap() * 1024, page_size());
    }

    #[test]
    fn pages_are_zeroed_aligned_and_whole() {
        let page = page_size();
        for (asked, got) in [(0, page), (1, page), (page, page), (page + 1, 2 * page)] {
            let mut pages = Pages::new(asked).unwrap();
            assert_eq!(pages.len(), got);
            assert_eq!(pages.base() as usize % page, 0);
            assert!(pages.as_slice().iter().all(|&byte| byte == 0));
            pages.as_mut_slice().fill(7);
            assert_eq!(pages.as_slice()[got - 1], 7);
        }
    }

    #[test]
    fn huge_pages_begin_at_a_multiple_of_their_size() {
        let huge = 2 << 20;
        for (asked, got) in [(0, huge), (huge, huge), (huge + 1, 2 * huge)] {
            match Pages::huge(asked, huge) {
                Ok(mut pages) => {
                    assert_eq!(pages.len(), got);
                    assert_eq!(pages.base() as usize % huge, 0);
                    pages.as_mut_slice().fill(7);
                    assert_eq!(pages.as_slice()[got - 1], 7);
                }
                Err(error) => eprintln!("skipped: MADV_HUGEPAGE: {error}"),
            }
        }
    }

    #[test]
    fn more_than_there_is_room_for_is_an_error() {
        assert!(Pages::new(usize::MAX).is_err());
        assert!(Pages::new(usize::MAX / 2).is_err());
        assert!(Pages::huge(usize::MAX, 2 << 20).is_err());
    }
}
