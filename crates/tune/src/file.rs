//! Files of a configuration: as they were read, and how they are had.

use std::sync::Arc;

use zc_run::Result;

/// A file of a configuration, as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// As the server names it: absolute.
    pub path: Arc<str>,
    /// Its whole text.
    pub text: String,
}

/// Access to the files of a configuration.
pub trait Files {
    /// The text of a file.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&mut self, path: &str) -> Result<String>;

    /// The names in a folder, in any order; none if it cannot be read.
    fn names(&mut self, folder: &str) -> Vec<String>;

    /// Whether there is a file or a folder of this path.
    fn exists(&mut self, path: &str) -> bool {
        self.is_folder(path) || self.read(path).is_ok()
    }

    /// Whether a path is a folder.
    fn is_folder(&mut self, path: &str) -> bool {
        !self.names(path).is_empty()
    }
}
