//! Writes results to files and replaces older ones atomically. A result is written to a temporary
//! file in the same folder, synced, and renamed (rename(2) is atomic), so that a full disk, a crash
//! and a Ctrl-C leave the older file as it was. Links are followed by `OpenFolder`.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::decompress::decompressed;
use super::tell;
use zc_kernel::open_folder::OpenFolder;
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
        return Err(Error::usage("file-name-empty", "-o: the file name is empty").help("-o FILE"));
    }
    match path.metadata() {
        Ok(found) if found.is_dir() => {
            return Err(Error::output(
                "cannot-write",
                format!("cannot write \"{name}\": it is a directory"),
            )
            .help("name a file in it with -o"));
        }
        Ok(found) if !found.is_file() => {
            return Err(Error::output(
                "cannot-write",
                format!("cannot write \"{name}\": it is not a regular file"),
            )
            .help("without -o the result goes to stdout"));
        }
        _ => {}
    }
    let found = OpenFolder::parent_of_target(path).and_then(|(folder, file)| {
        folder.check_owner(&file)?;
        Ok(folder.open_file(&file, false))
    });
    let mut start = Vec::new();
    // What cannot be read is no run of this user.
    if let Ok(file) = found.map_err(|error| unwritten(path, &error))?
        && let Ok((text, _)) = decompressed(file)
        && text.take(A_RUN.len() as u64).read_to_end(&mut start).is_ok()
        && start == A_RUN
    {
        return Err(Error::output(
            "file-is-a-run",
            format!("file \"{name}\" is a saved run, and zc does not write over those"),
        )
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

/// Writes a document to the file that the user has named, replacing an older one. Through a
/// symbolic link its target is replaced, and not the link.
///
/// # Errors
/// [`ErrorKind::Output`](zc_run::ErrorKind): the older file is unchanged.
pub(super) fn file(path: &Path, document: &(impl AsRef<[u8]> + ?Sized)) -> Result<()> {
    at(OpenFolder::parent_of_target(path), document.as_ref()).map_err(|error| {
        unwritten(path, &error).help("the older file is unchanged; choose another place with -o")
    })
}

/// Writes a document to a file whose name is zc's own, replacing an older one or a link.
///
/// # Errors
/// [`ErrorKind::Output`](zc_run::ErrorKind): the older file is unchanged.
pub(super) fn own(path: &Path, document: &(impl AsRef<[u8]> + ?Sized)) -> Result<()> {
    at(OpenFolder::parent_of(path), document.as_ref()).map_err(|error| unwritten(path, &error))
}

fn at(place: io::Result<(OpenFolder, OsString)>, document: &[u8]) -> io::Result<()> {
    let (folder, name) = place?;
    folder.replace(&name, |file| file.write_all(document).and_then(|()| file.sync_all()))
}

/// The error that a file cannot be written.
fn unwritten(path: &Path, error: &io::Error) -> Error {
    let words = match error.kind() {
        ErrorKind::InvalidInput => "it is no name of a file".to_owned(),
        _ => in_words(error),
    };
    Error::output("cannot-write", format!("cannot write \"{}\": {words}", tell::path(path)))
        .help("choose another place with -o")
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

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
        assert_eq!(error.id, "cannot-write");
        assert!(error.message.contains("none/x.html\""), "{error}");
        let long = folder.path().join("x".repeat(256));
        assert!(file(&long, "new").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_saved_run_and_what_is_no_file_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run.json");
        std::fs::write(&run, "{\"zc_run\":1,").unwrap();
        assert_eq!(check(&run).unwrap_err().id, "file-is-a-run");
        let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
        compressed.write_all(b"{\"zc_run\":1,").unwrap();
        std::fs::write(&run, compressed.finish().unwrap()).unwrap();
        assert_eq!(check(&run).unwrap_err().id, "file-is-a-run");
        assert_eq!(check(folder.path()).unwrap_err().id, "cannot-write");
        assert_eq!(check(Path::new("/dev/null")).unwrap_err().id, "cannot-write");
        assert!(check(&folder.path().join("new.html")).is_ok());
    }
}
