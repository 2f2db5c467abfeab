//! The features of an archive's hosts, as the fleets had them whose runs were collected:
//! `hosts.json`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{replace, tell};
use zc_fleet::files::{self, Whose};
use zc_run::{Error, Result, in_words};

/// The largest file of features.
const LARGEST_BYTES: u64 = 64 << 20;

/// Features by host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HostFeatures(pub(crate) BTreeMap<String, BTreeMap<String, String>>);

impl HostFeatures {
    /// Reads the features of an archive's hosts; none if it has no such file.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): the file has no features.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        if is_absent(path) {
            return Ok(Self::default());
        }
        let wrong = |what: &str| {
            Error::input("cannot-read", format!("cannot read \"{}\": {what}", tell::path(path)))
                .help("zc fleet collect writes it: remove it, and collect again")
        };
        let (folder, name) = (path.parent().unwrap_or(Path::new("")), path.file_name());
        let folder = if folder == Path::new("") { Path::new(".") } else { folder };
        let name = Path::new(name.unwrap_or_default());
        let bytes = files::bytes(folder, name, Whose::Anybodys, LARGEST_BYTES)
            .map_err(|error| wrong(&in_words(&error)))?;
        serde_json::from_slice(&bytes).map(Self).map_err(|_| wrong("it has no features of hosts"))
    }

    /// Adds those of more hosts, in place of what was known of them, and writes the file if
    /// anything changed.
    ///
    /// # Errors
    /// [`ErrorKind::Output`](zc_run::ErrorKind).
    pub(super) fn write_with(mut self, more: Self, path: &Path) -> Result<()> {
        let before = self.clone();
        self.0.extend(more.0);
        if self == before && !is_absent(path) {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&self.0).unwrap_or_default();
        replace::own(path, &(text + "\n"))
    }

    /// The names of all features, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let names: std::collections::BTreeSet<&String> =
            self.0.values().flat_map(BTreeMap::keys).collect();
        names.into_iter().cloned().collect()
    }
}

/// Whether there is no such file. False if that cannot be found out.
fn is_absent(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}
