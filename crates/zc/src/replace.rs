//! Writes a result to a file and replaces an older one atomically. The result is written to a
//! temporary file in the same folder, synced, and renamed (rename(2) is atomic), so that a full
//! disk, a crash and a Ctrl-C leave the older file as it was.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::tell;
use zc_run::{Error, Result, in_words};

/// The beginning of a saved run. A run took minutes or hours, so a result never replaces one.
const A_RUN: &[u8] = b"{\"zc_run\"";

/// Whether two names lead to the same file.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    match (one.metadata(), other.metadata()) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Checks that a result may replace what is at `path`, before the result is computed.
///
/// # Errors
/// [`ErrorKind::Output`](zc_run::ErrorKind): it is a saved run, or not a regular file.
pub(super) fn check(path: &Path) -> Result<()> {
    let name = tell::path(path);
    if path.as_os_str().is_empty() {
        return Err(Error::usage("-o: the file name is empty").help("-o FILE"));
    }
    let Ok(found) = path.metadata() else { return Ok(()) };
    if found.is_dir() {
        return Err(Error::output(format!("cannot write \"{name}\": it is a directory"))
            .help("name a file in it with -o"));
    }
    if !found.is_file() {
        return Err(Error::output(format!("cannot write \"{name}\": it is not a regular file"))
            .help("without -o the result goes to stdout"));
    }
    let mut start = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(A_RUN.len() as u64).read_to_end(&mut start));
    if read.is_ok() && start == A_RUN {
        return Err(Error::output(format!(
            "file \"{name}\" is a saved run, and zc does not write over those"
        ))
        .help("choose another name with -o, or remove it"));
    }
    Ok(())
}

/// Writes a document to a file, replacing an older one, or to stdout if no file is named.
///
/// # Errors
/// [`ErrorKind::Output`](zc_run::ErrorKind): the older file is unchanged.
pub(super) fn or_stdout(path: Option<&Path>, document: &[u8]) -> Result<()> {
    path.map_or_else(|| tell::result(document), |path| file(path, document))
}

/// Writes a document to the file at `path`, replacing an older one.
///
/// # Errors
/// [`ErrorKind::Output`](zc_run::ErrorKind): the older file is unchanged.
pub(super) fn file(path: &Path, document: &(impl AsRef<[u8]> + ?Sized)) -> Result<()> {
    let failed = |error: &io::Error| {
        Error::output(format!("cannot write \"{}\": {}", tell::path(path), in_words(error)))
            .help("the older file is unchanged; choose another place with -o")
    };
    // Through a symbolic link, the target is replaced and not the link.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (mut file, temporary) = temporary(&target).map_err(|error| failed(&error))?;
    let written = file
        .write_all(document.as_ref())
        .and_then(|()| match target.metadata() {
            Ok(old) => file.set_permissions(Permissions::from_mode(old.permissions().mode())),
            Err(_) => Ok(()),
        })
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&temporary, &target));
    written.map_err(|error| {
        // Best effort: the first failure is the one to report.
        let _ = std::fs::remove_file(&temporary);
        failed(&error)
    })
}

/// A new file in the same folder, so that renaming stays within one file system.
fn temporary(target: &Path) -> io::Result<(File, PathBuf)> {
    let name = target.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    for attempt in 0..100 {
        let mut new = std::ffi::OsString::from(".");
        new.push(name);
        new.push(format!(".{}-{attempt}", std::process::id()));
        let path = target.with_file_name(new);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (file, path)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_is_replaced_with_its_mode_and_through_its_link() {
        let folder = tempfile::tempdir().unwrap();
        let (old, link) = (folder.path().join("old.html"), folder.path().join("link.html"));
        std::fs::write(&old, "old").unwrap();
        std::fs::set_permissions(&old, Permissions::from_mode(0o604)).unwrap();
        std::os::unix::fs::symlink("old.html", &link).unwrap();
        file(&link, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "new");
        assert_eq!(old.metadata().unwrap().permissions().mode() & 0o777, 0o604);
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            2,
            "no temporary file is left"
        );
    }

    #[test]
    fn what_cannot_be_written_says_so_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let error = file(&folder.path().join("none/x.html"), "new").unwrap_err();
        assert!(
            error.message.ends_with("none/x.html\": no such file or directory"),
            "{}",
            error.message
        );
        let long = folder.path().join("x".repeat(255));
        assert!(file(&long, "new").is_err(), "the temporary file's name is too long");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_saved_run_and_what_is_no_file_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run.json");
        std::fs::write(&run, "{\"zc_run\":1,").unwrap();
        assert!(check(&run).unwrap_err().message.contains("is a saved run"));
        assert!(check(folder.path()).unwrap_err().message.ends_with("it is a directory"));
        assert!(
            check(Path::new("/dev/null"))
                .unwrap_err()
                .message
                .ends_with("it is not a regular file")
        );
        assert!(check(&folder.path().join("new.html")).is_ok());
    }
}
