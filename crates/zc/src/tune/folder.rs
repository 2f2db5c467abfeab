//! The folder of a tuning: the files that are asked for, and the copies of the configuration with
//! all that their servers write. Everybody may read it, as workers may be another user's; it is
//! removed at the end, and by the process that keeps the copies where zc was killed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use zc_run::{Error, Result, in_words};

/// A folder that is removed with all that is in it.
pub(super) struct Folder(tempfile::TempDir);

impl Folder {
    /// Creates it below TMPDIR.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind): it cannot be created.
    pub(super) fn create() -> Result<Self> {
        let within = std::env::temp_dir();
        let cannot = |error: &std::io::Error| {
            let message =
                format!("cannot make a folder in \"{}\": {}", within.display(), in_words(error));
            Error::output("no-temporary-folder", message)
                .help("TMPDIR=FOLDER names one with room for the mix's files")
        };
        let folder = tempfile::Builder::new()
            .prefix("zc-tune-")
            .tempdir_in(&within)
            .map_err(|error| cannot(&error))?;
        let all_may_read = Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), all_may_read).map_err(|error| cannot(&error))?;
        let folder = Self(folder);
        folder.make("files")?;
        Ok(folder)
    }

    /// A folder in it, which everybody may write to: a server's workers write their temporary files
    /// there.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind): it cannot be made.
    pub(super) fn make(&self, name: &str) -> Result<PathBuf> {
        let path = self.0.path().join(name);
        fs::create_dir_all(&path)
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o777)))
            .map_err(|error| self.cannot_write(name, &error))?;
        Ok(path)
    }

    /// The folder of the files that are asked for.
    pub(super) fn files(&self) -> PathBuf {
        self.0.path().join("files")
    }

    /// It.
    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file in it, and returns its path.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind): it cannot be written.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.0.path().join(name);
        fs::write(&path, text).map_err(|error| self.cannot_write(name, &error))?;
        Ok(path)
    }

    fn cannot_write(&self, name: &str, error: &std::io::Error) -> Error {
        let place = self.0.path().join(name);
        let message = format!("cannot write \"{}\": {}", place.display(), in_words(error));
        Error::output("cannot-write", message)
            .help("TMPDIR=FOLDER names a folder with room for the mix's files")
    }
}
