//! The path of a module in its crate.

use std::fmt;
use std::path::Path;

/// The names that lead from the crate's root to a module; none for the root itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Module(Vec<String>);

impl Module {
    /// The module of a source file, by its path below `src`.
    pub(super) fn from_path(path: &Path) -> Self {
        let mut names: Vec<String> = path
            .with_extension("")
            .components()
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect();
        let is_root = names.len() == 1 && (names[0] == "lib" || names[0] == "main");
        if is_root || names.last().is_some_and(|last| last == "mod") {
            names.pop();
        }
        Self(names)
    }

    /// The module of this name inside this one.
    pub(super) fn child(&self, name: &str) -> Self {
        Self(self.0.iter().cloned().chain([name.to_owned()]).collect())
    }

    /// The module that this one is in; the root is in itself.
    pub(super) fn parent(&self) -> Self {
        Self(self.0[..self.0.len().saturating_sub(1)].to_vec())
    }

    /// Whether this is the crate's root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The first name on the way from the root; `None` for the root itself.
    pub fn first(&self) -> Option<&str> {
        self.0.first().map(String::as_str)
    }

    /// Whether `other` is this module or inside it.
    pub fn contains(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&if self.is_root() { "crate".to_owned() } else { self.0.join("::") })
    }
}
