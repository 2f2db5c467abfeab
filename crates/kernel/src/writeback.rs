//! sync_file_range: pages of a file that are written back now, and not when the kernel comes to it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

/// Begins to write back what is dirty of a part of a file, and does not wait for it. It waits until
/// an earlier writing back of that part has ended: the kernel passes over pages that are being
/// written back.
///
/// The kernel writes as for its own reasons (WB_SYNC_NONE): a client of NFS sends UNSTABLE WRITEs,
/// which fsync(2) has the server commit.
///
/// # Errors
/// - EIO, ENOSPC: an earlier write back has failed.
/// - ESPIPE: it is neither a file, nor a device or folder.
///
/// # References
/// [sync_file_range(2)]
///
/// [sync_file_range(2)]: https://man7.org/linux/man-pages/man2/sync_file_range.2.html
#[doc(alias = "sync_file_range")]
pub fn begin(file: &File, offset: u64, bytes: usize) -> io::Result<()> {
    let out_of_range = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let offset = i64::try_from(offset).map_err(out_of_range)?;
    let bytes = i64::try_from(bytes).map_err(out_of_range)?;
    // SAFETY: the descriptor is open for as long as the borrow, and no memory is handed over.
    let done = unsafe {
        let how = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE;
        libc::sync_file_range(file.as_raw_fd(), offset, bytes, how)
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_was_written_is_on_its_way_and_a_pipe_has_no_such_thing() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 10_000]).unwrap();
        begin(&file, 0, 10_000).unwrap();
        assert!(begin(&file, u64::MAX, 1).is_err());
        let (pipe, _other) = std::io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
        assert_eq!(begin(&pipe, 0, 1).unwrap_err().raw_os_error(), Some(libc::ESPIPE));
    }
}
