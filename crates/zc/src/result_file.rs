//! A file for a result that is yet to be measured. It is created before the work, so that a name
//! that cannot be written is an error at once, and removed unless the whole result is written: an
//! empty file or half a result is not to be taken for one.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::tell;
use zc_kernel::new_file::NewFile;
use zc_run::{Error, Result, in_words};

/// A file that is still empty.
pub(super) struct ResultFile {
    path: PathBuf,
    new: NewFile,
    is_written: bool,
}

impl ResultFile {
    /// Creates it.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind): it exists, or cannot be created.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let new = NewFile::claim(path).map_err(|error| unwritten(path, &error))?;
        Ok(Self { path: path.to_owned(), new, is_written: false })
    }

    /// Writes the result.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind): not all of it could be written; the file is gone.
    pub(super) fn write(mut self, text: &str) -> Result<()> {
        // Some file systems report a full disk only when the data is on it.
        let file = &mut self.new.file;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        self.is_written = written.is_ok();
        written.map_err(|error| unwritten(&self.path, &error))
    }
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        if !self.is_written {
            // It may have been removed by others.
            drop(self.new.remove());
        }
    }
}

fn unwritten(path: &Path, error: &io::Error) -> Error {
    Error::output(
        "cannot-write",
        format!("cannot write \"{}\": {}", tell::path(path), in_words(error)),
    )
    .help("choose another file with --output")
}
