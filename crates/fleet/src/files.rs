//! Reads files of a folder in which others may have written: regular files alone, through no
//! symbolic link, without waiting for a writer, and never more than a bound.
//!
//! The kernel checks links at each part of a name as it walks (open(2), `O_NOFOLLOW`), and kind and
//! owner are those of the file that is open (fstat(2)): a name may lead elsewhere a moment later.

use std::fs::{File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use rustix::process::geteuid;

/// Owners whose files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// This user and root.
    Own,
    /// Anybody.
    Anybodys,
}

impl Whose {
    /// Checks the owner of a file or folder.
    ///
    /// # Errors
    /// It is another user's.
    pub fn check(self, metadata: &Metadata) -> io::Result<()> {
        let owner = metadata.uid();
        match self {
            Self::Own if owner != 0 && owner != geteuid().as_raw() => {
                Err(io::Error::other(format!("it belongs to another user (uid {owner})")))
            }
            Self::Own | Self::Anybodys => Ok(()),
        }
    }
}

/// Opens the regular file `name` below the folder `root`. Links of `root` itself are followed: the
/// user named it.
///
/// # Errors
/// Errors of open(2); a part of the name is a link, the file is not a regular one, or another
/// user's.
pub fn open(root: &Path, name: &Path, whose: Whose) -> io::Result<File> {
    let folder_flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open(root, folder_flags, Mode::empty())?;
    let mut parts = name.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(part) = part else { break };
        if parts.peek().is_some() {
            folder = openat(&folder, part, folder_flags | OFlags::NOFOLLOW, Mode::empty())
                .map_err(|errno| refused(&folder, Path::new(part), errno))?;
            continue;
        }
        // Opening a device may do something already, so it is asked for its kind first.
        let found = statat(&folder, part, AtFlags::SYMLINK_NOFOLLOW)?;
        check_kind(FileType::from_raw_mode(found.st_mode))?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = openat(&folder, part, flags | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| refused(&folder, Path::new(part), errno))?;
        let file = File::from(file);
        let metadata = file.metadata()?;
        check_kind(FileType::from_raw_mode(metadata.mode()))?;
        whose.check(&metadata)?;
        return Ok(file);
    }
    Err(io::Error::other("it is no name of a file in this folder"))
}

/// The content of a regular file below a folder.
///
/// # Errors
/// Same as [`open`]; the file has more than `most` bytes.
pub fn bytes(root: &Path, name: &Path, whose: Whose, most: u64) -> io::Result<Vec<u8>> {
    let file = open(root, name, whose)?;
    let too_large = || io::Error::other(format!("it has more than {most} bytes"));
    if file.metadata()?.len() > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?; // it may grow meanwhile
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// The last bytes of a regular file below a folder, at most so many.
///
/// # Errors
/// Same as [`open`].
pub fn tail(root: &Path, name: &Path, whose: Whose, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open(root, name, whose)?;
    let all = file.metadata()?.len();
    file.seek(SeekFrom::Start(all.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn check_kind(kind: FileType) -> io::Result<()> {
    match kind {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(io::Error::other("it is a directory")),
        FileType::Symlink => Err(io::Error::other("it is a symbolic link")),
        _ => Err(io::Error::other("it is not a regular file")),
    }
}

/// Why a part of a name was not opened: with `O_DIRECTORY` a link is no directory.
fn refused(folder: &OwnedFd, part: &Path, errno: Errno) -> io::Error {
    let found = statat(folder.as_fd(), part, AtFlags::SYMLINK_NOFOLLOW);
    match found.map(|found| FileType::from_raw_mode(found.st_mode)) {
        Ok(FileType::Symlink) => io::Error::other("a part of its name is a symbolic link"),
        _ => errno.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_no_regular_file_is_refused_at_once_and_by_its_kind() {
        let at = tempfile::tempdir().unwrap();
        let here = at.path();
        std::fs::create_dir(here.join("logs")).unwrap();
        std::fs::write(here.join("secret"), "secret\n").unwrap();
        std::fs::write(here.join("logs/own"), "own\n").unwrap();
        symlink("../secret", here.join("logs/link")).unwrap();
        symlink("/dev/zero", here.join("logs/zero")).unwrap();
        symlink("logs", here.join("linked")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, here.join("logs/fifo"), 0o600.into()).unwrap();
        let sparse = File::create(here.join("logs/sparse")).unwrap();
        sparse.set_len(5 << 30).unwrap();
        let read = |name: &str| bytes(here, Path::new(name), Whose::Own, 1 << 10);
        assert_eq!(read("logs/own").unwrap(), b"own\n");
        for (name, why) in [
            ("logs/link", "it is a symbolic link"),
            ("logs/zero", "it is a symbolic link"),
            ("linked/own", "a part of its name is a symbolic link"),
            ("logs/fifo", "it is not a regular file"),
            ("logs", "it is a directory"),
            ("logs/sparse", "it has more than 1024 bytes"),
            ("../secret", "it is no name of a file in this folder"),
            ("", "it is no name of a file in this folder"),
        ] {
            assert_eq!(read(name).unwrap_err().to_string(), why, "{name}");
        }
        assert_eq!(read("logs/none").unwrap_err().kind(), io::ErrorKind::NotFound);
        let device = bytes(Path::new("/dev"), Path::new("zero"), Whose::Own, 1 << 10);
        assert_eq!(device.unwrap_err().to_string(), "it is not a regular file");
        assert_eq!(tail(here, Path::new("logs/sparse"), Whose::Own, 8).unwrap(), [0; 8]);
        assert!(tail(here, Path::new("logs/fifo"), Whose::Own, 8).is_err());
    }

    #[test]
    fn another_user_s_file_is_read_only_where_that_is_allowed() {
        let at = tempfile::tempdir().unwrap();
        let path = at.path().join("x");
        std::fs::write(&path, "x").unwrap();
        if let Err(error) = std::os::unix::fs::chown(&path, Some(65_533), None) {
            eprintln!("skipped: this user cannot give files away: {error}");
            return;
        }
        let read = |whose| bytes(at.path(), Path::new("x"), whose, 8);
        assert_eq!(
            read(Whose::Own).unwrap_err().to_string(),
            "it belongs to another user (uid 65533)"
        );
        assert_eq!(read(Whose::Anybodys).unwrap(), b"x");
    }
}
