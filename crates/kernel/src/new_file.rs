//! A file for a result that is yet to be measured.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// Creates the file, never over an existing one, and holds a lock on it (flock(2)) for as long as it
/// is open.
///
/// An empty regular file that nobody has locked counts as new: it is what a process leaves that was
/// killed between creating its file and writing to it, and there is nothing in it to lose.
///
/// # Errors
/// Those of open(2); [`ErrorKind::AlreadyExists`] for anything else in that place.
pub fn claim(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    let file = match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            // A FIFO would wait for a reader, and a link may lead anywhere.
            if !is_empty_file(path) {
                return Err(error);
            }
            options.open(path).map_err(|_| error)?
        }
        opened => opened?,
    };
    // Where file systems know no locks there is nobody else to be seen either.
    let is_taken = flock(&file, FlockOperation::NonBlockingLockExclusive)
        .is_err_and(|errno| errno == rustix::io::Errno::WOULDBLOCK);
    if is_taken || file.metadata()?.len() > 0 {
        return Err(ErrorKind::AlreadyExists.into());
    }
    Ok(file)
}

fn is_empty_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|facts| facts.is_file() && facts.len() == 0)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn an_empty_file_that_nobody_holds_counts_as_new() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let refused = || claim(&path).unwrap_err().kind();
        let held = claim(&path).unwrap();
        assert_eq!(refused(), ErrorKind::AlreadyExists, "another run is about to write it");
        drop(held);
        claim(&path).unwrap().write_all(b"{}").unwrap();
        assert_eq!(refused(), ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"{}");
    }

    #[test]
    fn what_is_no_file_is_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert_eq!(claim(&link).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert!(!folder.path().join("nowhere").exists());
        let fifo = folder.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
        assert_eq!(claim(&fifo).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(claim(folder.path()).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }
}
