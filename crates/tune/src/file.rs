//! Files of a configuration: as they were read, and how they are had.

use std::collections::BTreeMap;
use std::sync::Arc;

use zc_run::{Error, Result, escape};

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

/// Files in memory, by their absolute paths.
impl Files for BTreeMap<&str, &str> {
    fn read(&mut self, path: &str) -> Result<String> {
        let text = self.get(path).map(|text| (*text).to_owned());
        text.ok_or_else(|| {
            let message = format!("no file \"{}\"", escape(path, 300));
            Error::input("cannot-read-configuration", message)
        })
    }

    fn names(&mut self, folder: &str) -> Vec<String> {
        let folder = format!("{}/", folder.trim_end_matches('/'));
        let below = self.keys().filter_map(|path| path.strip_prefix(&folder)?.split('/').next());
        let mut names: Vec<String> = below.map(str::to_owned).collect();
        names.dedup();
        names
    }
}

/// The folder of a file.
pub(crate) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path that a file names, which is below `folder` if it is not absolute.
pub(crate) fn completed(path: &str, folder: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") }
}

/// Gives files the paths that `path_of` has for theirs: those that links lead to, for a diff.
pub(crate) fn rename(files: &mut [File], path_of: &dyn Fn(&str) -> String) {
    for file in files {
        file.path = Arc::from(path_of(&file.path));
    }
}
