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
    /// Whose files of the folder are read.
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

    /// Where it is.
    pub(crate) fn path(&self) -> PathBuf {
        self.root.join(&self.below)
    }
}

/// What was read of many files.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Of those that are of use, in the order of the files.
    pub(crate) runs: Vec<RunFigures>,
    /// The others.
    pub(crate) left_out: Vec<LeftOut>,
    /// The index of all, for the next time.
    pub(crate) index: String,
}
