//! A file for a result that is yet to be measured.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;

use crate::open_folder::OpenFolder;

/// A file that was made, and the folder that it is in.
#[derive(Debug)]
pub struct NewFile {
    /// The file.
    pub file: File,
    folder: OpenFolder,
    name: OsString,
}

impl NewFile {
    /// Creates the file, never over an existing one, and holds a lock on it (flock(2)) for as long
    /// as it is open.
    ///
    /// An empty regular file of this user that nobody has locked counts as new: a process leaves
    /// one if it is killed between creating its file and writing to it, and there is nothing in it
    /// to lose. Another user's file can be written and read by that user.
    ///
    /// # Errors
    /// Errors of [`OpenFolder::parent_of`] and open(2); [`ErrorKind::AlreadyExists`] for anything
    /// else in that place.
    pub fn claim(path: &Path) -> io::Result<Self> {
        let (folder, name) = OpenFolder::parent_of(path)?;
        let file = match folder.create_new(&name, 0o666) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if !folder.metadata(&name)?.as_ref().is_some_and(is_left_over) {
                    return Err(error);
                }
                folder.open_file(&name, true).map_err(|_| error)?
            }
            created => created?,
        };
        // Where file systems know no locks there is nobody else to be seen either.
        let is_taken = flock(&file, FlockOperation::NonBlockingLockExclusive)
            .is_err_and(|errno| errno == rustix::io::Errno::WOULDBLOCK);
        if is_taken || !is_left_over(&file.metadata()?) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        Ok(Self { file, folder, name })
    }

    /// Removes it.
    ///
    /// # Errors
    /// Errors of unlink(2).
    pub fn remove(&self) -> io::Result<()> {
        self.folder.remove(&self.name)
    }
}

/// Whether it is an empty file of this user.
pub fn is_left_over(found: &Metadata) -> bool {
    found.is_file() && found.len() == 0 && found.uid() == geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn an_empty_file_that_nobody_holds_counts_as_new() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let refused = || NewFile::claim(&path).unwrap_err().kind();
        let held = NewFile::claim(&path).unwrap();
        assert_eq!(refused(), ErrorKind::AlreadyExists, "another run is about to write it");
        drop(held);
        NewFile::claim(&path).unwrap().file.write_all(b"{}").unwrap();
        assert_eq!(refused(), ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"{}");
    }

    #[test]
    fn what_is_no_file_is_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert_eq!(NewFile::claim(&link).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert!(!folder.path().join("nowhere").exists());
        let fifo = folder.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
        assert_eq!(NewFile::claim(&fifo).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(NewFile::claim(folder.path()).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }

    #[test]
    fn another_user_s_file_does_not_count_as_new() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        std::fs::write(&path, "").unwrap();
        // The user `daemon`, as which no test runs.
        if let Err(error) = std::os::unix::fs::chown(&path, Some(1), None) {
            return eprintln!("skipped: cannot give a file away: {error}");
        }
        assert_eq!(NewFile::claim(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(path.metadata().unwrap().uid(), 1, "it is left where it was");
    }
}
