//! A file of an archive, and what is read of many.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use zc_analysis::fleet::{LeftOut, RunFigures};
use zc_fleet::files::{self, Whose};

/// A file that may be a saved run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunFile {
    /// The folder that was named, and the file below it.
    pub(crate) root: PathBuf,
    /// See `root`.
    pub(crate) below: PathBuf,
    /// Owner that a file of the folder must have to be read.
    pub(crate) whose: Whose,
    /// Its name in what is printed, and in the index.
    pub(crate) name: String,
}

impl RunFile {
    /// Opens it: another user may have put anything in its place.
    ///
    /// # Errors
    /// Same as for [`files::open`].
    pub(crate) fn open(&self) -> io::Result<File> {
        files::open(&self.root, &self.below, self.whose)
    }

    /// Path of the file.
    pub(crate) fn path(&self) -> PathBuf {
        self.root.join(&self.below)
    }
}

/// Figures read from many files.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Figures of the usable files, in the order of the files.
    pub(crate) runs: Vec<RunFigures>,
    /// The files that are not usable.
    pub(crate) left_out: Vec<LeftOut>,
    /// The index of all, for the next time.
    pub(crate) index: String,
}
