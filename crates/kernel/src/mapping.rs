//! Files mapped for reading, and a test of the limit of locked memory.
//!
//! A mapped file may shrink or change under its reader, and a load from a page that is gone raises
//! SIGBUS. So a [`FileMapping`] gives no access to its bytes. It only passes their address to
//! system calls, which answer EFAULT. Anonymous memory is in [`crate::pages`].

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, MlockFlags, ProtFlags};

use crate::tcp::over_signals;

/// A file mapped for reading (MAP_SHARED). Only system calls read its bytes.
///
/// # References
/// [mmap(2)]
///
/// [mmap(2)]: https://man7.org/linux/man-pages/man2/mmap.2.html
#[doc(alias = "mmap")]
#[derive(Debug)]
pub struct FileMapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: this program neither writes nor reads the mapping. Its address may be used from any
// thread.
unsafe impl Send for FileMapping {}
// SAFETY: as above.
unsafe impl Sync for FileMapping {}

impl FileMapping {
    /// Maps the first `len` bytes of `file` with mmap(2).
    ///
    /// `populate` sets MAP_POPULATE: the page tables are filled at once, from the page cache or
    /// else from the disk, so that the first use causes no page fault.
    ///
    /// # Errors
    /// - EINVAL: `len` is 0.
    /// - ENODEV: the file system does not support mmap.
    /// - ENOMEM: too many mappings (vm.max_map_count).
    ///
    /// # References
    /// [mmap(2)]
    ///
    /// [mmap(2)]: https://man7.org/linux/man-pages/man2/mmap.2.html
    #[doc(alias = "mmap")]
    #[doc(alias = "MAP_POPULATE")]
    pub fn new(file: impl AsFd, len: u64, populate: bool) -> io::Result<Self> {
        let len = usize::try_from(len).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let flags = if populate { MapFlags::SHARED | MapFlags::POPULATE } else { MapFlags::SHARED };
        // SAFETY: a null address without MAP_FIXED lets the kernel choose a free range, so no
        // existing mapping is touched. The file may change or shrink while it is mapped: that is
        // harmless, because no reference to its bytes is ever made.
        let start =
            unsafe { rustix::mm::mmap(ptr::null_mut(), len, ProtFlags::READ, flags, file, 0) }?;
        let start = NonNull::new(start.cast::<u8>())
            .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { start, len })
    }

    /// Length of the mapping in bytes.
    pub fn len_bytes(&self) -> usize {
        self.len
    }

    /// Writes `len` mapped bytes from `offset` on with write(2), and restarts after signals.
    /// Returns the number of bytes written.
    ///
    /// # Errors
    /// - EFAULT: the file has become shorter.
    /// - EINVAL: the range is not within the mapping.
    /// - EPIPE, ECONNRESET: the peer of the socket is gone. SIGPIPE is raised unless ignored.
    ///
    /// # References
    /// [write(2)]
    ///
    /// [write(2)]: https://man7.org/linux/man-pages/man2/write.2.html
    pub fn write(&self, to: impl AsFd, offset: u64, len: usize) -> io::Result<usize> {
        let from = self.at(offset, len)?;
        // SAFETY: write(2) reads at most `len` bytes from `from`, all within the mapping. Where the
        // file has become shorter, the kernel's own access faults and the call answers EFAULT.
        over_signals(|| unsafe { libc::write(to.as_fd().as_raw_fd(), from.cast(), len) })
    }

    /// Sends `len` mapped bytes from `offset` on with send(2), MSG_ZEROCOPY, and restarts after
    /// signals. Returns the number of bytes queued.
    ///
    /// The kernel sends from the pages of the page cache, and reports completion on the error queue
    /// ([`crate::errqueue`]). `more` adds MSG_MORE.
    ///
    /// # Errors
    /// - As [`write`](Self::write), without SIGPIPE.
    /// - ENOBUFS: see [`crate::errqueue::send_zerocopy`].
    ///
    /// # References
    /// - [send(2)]
    /// - [Documentation/networking/msg_zerocopy.rst]
    ///
    /// [send(2)]: https://man7.org/linux/man-pages/man2/send.2.html
    /// [Documentation/networking/msg_zerocopy.rst]:
    ///   https://docs.kernel.org/networking/msg_zerocopy.html
    #[doc(alias = "send")]
    #[doc(alias = "MSG_ZEROCOPY")]
    pub fn send_zerocopy(
        &self,
        socket: impl AsFd,
        offset: u64,
        len: usize,
        more: bool,
    ) -> io::Result<usize> {
        let from = self.at(offset, len)?;
        let flags = libc::MSG_ZEROCOPY | libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 };
        // SAFETY: send(2) reads at most `len` bytes from `from`, all within the mapping, and keeps
        // references to their pages. A fault is EFAULT, as in `write`. Later changes of the file
        // show in what is sent, and nowhere in this program.
        over_signals(|| unsafe { libc::send(socket.as_fd().as_raw_fd(), from.cast(), len, flags) })
    }

    fn at(&self, offset: u64, len: usize) -> io::Result<*const u8> {
        let offset =
            usize::try_from(offset).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        if offset.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        // SAFETY: `offset` is at most `len`, so the result lies within the mapping or just after
        // it.
        Ok(unsafe { self.start.as_ptr().add(offset) }.cast_const())
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // SAFETY: `new` mapped the range and nothing else unmaps it. There are no references into
        // it.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Whether this process may lock `bytes` of memory: they are within RLIMIT_MEMLOCK, or it has
/// CAP_IPC_LOCK in the initial user namespace.
///
/// Determined by locking an untouched mapping with mlock2(2), MLOCK_ONFAULT. The same rule limits
/// MSG_ZEROCOPY (`mm_account_pinned_pages`) and io_uring.
///
/// # References
/// [mlock2(2)]
///
/// [mlock2(2)]: https://man7.org/linux/man-pages/man2/mlock2.2.html
#[doc(alias = "mlock2")]
#[doc(alias = "MLOCK_ONFAULT")]
#[doc(alias = "RLIMIT_MEMLOCK")]
pub fn may_lock(bytes: usize) -> bool {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a null address without MAP_FIXED touches no existing mapping.
    let Ok(start) = (unsafe {
        rustix::mm::mmap_anonymous(ptr::null_mut(), bytes.max(1), ProtFlags::READ, flags)
    }) else {
        return false;
    };
    // SAFETY: the range is the mapping just made, which nothing refers to.
    let locked =
        unsafe { rustix::mm::mlock_with(start, bytes.max(1), MlockFlags::ONFAULT) }.is_ok();
    // SAFETY: as above; unmapping also unlocks.
    let _ = unsafe { rustix::mm::munmap(start, bytes.max(1)) };
    locked
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_mapped_file_is_written_from_any_offset() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..9_000u32).map(|i| i as u8).collect();
        file.write_all(&bytes).unwrap();
        let mapping = FileMapping::new(&file, 9_000, true).unwrap();
        assert_eq!(mapping.len_bytes(), 9_000);
        let (mut reader, writer) = std::io::pipe().unwrap();
        assert_eq!(mapping.write(&writer, 4_001, 4_999).unwrap(), 4_999);
        drop(writer);
        let mut got = Vec::new();
        reader.read_to_end(&mut got).unwrap();
        assert_eq!(got, &bytes[4_001..]);
    }

    #[test]
    fn a_range_outside_the_mapping_is_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(5_000).unwrap();
        let mapping = FileMapping::new(&file, 5_000, false).unwrap();
        let (_reader, writer) = std::io::pipe().unwrap();
        for (offset, len) in [(5_000, 1), (0, 5_001), (u64::MAX, 2), (1, usize::MAX)] {
            let error = mapping.write(&writer, offset, len).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{offset} {len}");
        }
    }

    #[test]
    fn a_truncated_file_is_a_fault_of_the_call_and_no_signal() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(3 << 16).unwrap();
        let mapping = FileMapping::new(&file, 3 << 16, true).unwrap();
        file.set_len(1).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let error = mapping.write(&socket, 1 << 16, 1 << 16).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
    }

    #[test]
    fn a_page_may_be_locked_and_the_whole_address_space_may_not() {
        assert!(
            may_lock(1)
                || rustix::process::getrlimit(rustix::process::Resource::Memlock).current
                    == Some(0)
        );
        assert!(!may_lock(usize::MAX / 2));
    }

    #[test]
    fn a_mapped_file_is_sent_with_msg_zerocopy() {
        let bytes: Vec<u8> = (0..9_000u32).map(|i| i as u8).collect();
        let mapping = FileMapping::new(crate::testing::file_of(&bytes), 9_000, true).unwrap();
        let (one, mut other) = crate::testing::connection();
        crate::tcp::set_zerocopy(&one, true).unwrap();
        let sent = mapping.send_zerocopy(&one, 1, 8_999, false).unwrap();
        let mut got = vec![0; sent];
        other.read_exact(&mut got).unwrap();
        assert_eq!(got, &bytes[1..=sent]);
        let ten_s = std::time::Duration::from_secs(10);
        let completion = loop {
            match crate::errqueue::next_completion(&one).unwrap() {
                Some(completion) => break completion,
                None => drop(crate::errqueue::wait_for_completion(&one, ten_s).unwrap()),
            }
        };
        assert_eq!((completion.first, completion.last), (0, 0));
    }
}
