//! The lock of a fleet's folder: only one `zc fleet plan` or `zc fleet submit` is at work in it.
//! The kernel lets go of it when the process ends, however it ends (flock(2)).

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use zc_run::{Error, Result, escape};

use crate::folder::{Folder, unwritable};

/// The name of the file that is locked. It names the process that holds the lock, or held it last.
pub(super) const NAME: &str = "lock";

/// The longest text that is read of it.
const LONGEST: u64 = 400;

/// The lock, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    /// Its lock goes with it.
    _file: File,
}

impl Folder {
    /// Takes its lock for a command: `zc fleet submit`.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind): another process has it, and the message says
    /// which; the file cannot be written.
    pub fn lock(&self, command: &str) -> Result<Lock> {
        let path = self.path.join(NAME);
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o644);
        let failed = |error: std::io::Error| unwritable(&path, &error);
        let mut file = options.custom_flags(flags).open(&path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        // It is written to: a second name may be anybody's file.
        if !metadata.is_file() || metadata.nlink() > 1 {
            return Err(failed(std::io::Error::other("it is not a regular file of one name")));
        }
        self.whose.check(&metadata).map_err(failed)?;
        // Where a file system knows no locks, there is nobody else to be seen either.
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            let mut who = String::new();
            let read = file.take(LONGEST).read_to_string(&mut who);
            let who = match read {
                Ok(_) if !who.trim().is_empty() => escape(who.trim(), 200),
                _ => "another zc fleet".to_owned(),
            };
            return Err(Error::output(
                "folder-in-use",
                format!("{who} is at work in \"{}\"", self.path.display()),
            )
            .help(
                "zc fleet status DIR says what it has done; once it has ended, the same \
                     command goes on",
            ));
        }
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        let who = format!("{command} (process {} on {host})\n", std::process::id());
        // Best effort: on a full disk the lock holds all the same.
        let _ = file.set_len(0).and_then(|()| file.write_all(who.as_bytes()));
        Ok(Lock { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_has_it_until_that_one_is_gone() {
        let at = tempfile::tempdir().unwrap();
        let path = at.path().to_owned();
        let folder = Folder { path, whose: crate::files::Whose::Own };
        let take = || folder.lock("zc fleet submit");
        let held = take().unwrap();
        let error = take().unwrap_err();
        let own = format!("zc fleet submit (process {} on ", std::process::id());
        assert!(error.id == "folder-in-use" && error.message.starts_with(&own), "{error:?}");
        drop(held);
        drop(take().unwrap());
        std::fs::remove_file(at.path().join(NAME)).unwrap();
        std::os::unix::fs::symlink("elsewhere", at.path().join(NAME)).unwrap();
        assert!(take().is_err());
        assert!(!at.path().join("elsewhere").exists());
    }
}
