//! A file of an archive, and what is read of many.

use std::path::PathBuf;

use zc_analysis::fleet::{LeftOut, RunFigures};

/// A file that may be a saved run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunFile {
    /// The file.
    pub(crate) path: PathBuf,
    /// Its name in what is printed, and in the index.
    pub(crate) name: String,
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
