//! The programs that `zc fleet` starts on this machine: ssh and kubectl. A saved plan never names
//! them: whoever wrote it would choose what the one who reads it runs. They are taken from the
//! fleet's own file at each call, if that is still as it was when the fleet was planned, and are
//! else found on the PATH.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::{self, Whose};

/// The commands, each split at spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// Command that reaches a host, before the host's name.
    pub ssh: String,
    /// Command that queries Kubernetes.
    pub kubectl: String,
}

impl Default for Programs {
    fn default() -> Self {
        Self { ssh: "ssh -o BatchMode=yes".to_owned(), kubectl: "kubectl".to_owned() }
    }
}

/// The file of a fleet that names other programs than the default ones, as it was when the fleet
/// was planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedBy {
    /// Its absolute path.
    pub path: PathBuf,
    /// When its inode last changed, in ns since 1970 (`st_ctim` of stat(2)). Nobody can choose
    /// that, so a plan that came from elsewhere names no file that did.
    pub changed_ns: i64,
}

impl NamedBy {
    /// The file as it is now.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn now(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let changed_ns = changed_ns(&path.metadata()?);
        Ok(Self { path, changed_ns })
    }

    /// Its content, at most so many bytes.
    ///
    /// # Errors
    /// It cannot be read, is another user's, or has changed.
    pub fn bytes(&self, most: u64) -> io::Result<Vec<u8>> {
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Err(io::Error::other("it is no name of a file"));
        };
        let name = Path::new(name);
        let bytes = files::bytes(folder, name, Whose::Own, most)?;
        // After it was read: a file that changes meanwhile is not the one that was planned.
        let now = files::open(folder, name, Whose::Own)?.metadata()?;
        match changed_ns(&now) == self.changed_ns {
            true => Ok(bytes),
            false => Err(io::Error::other("it has changed since the fleet was planned")),
        }
    }
}

fn changed_ns(metadata: &std::fs::Metadata) -> i64 {
    metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_has_changed_or_is_another_one_names_no_programs() {
        let at = tempfile::tempdir().unwrap();
        let path = at.path().join("fleet.toml");
        std::fs::write(&path, "name").unwrap();
        let named = NamedBy::now(&path).unwrap();
        assert_eq!(named.bytes(16).unwrap(), b"name");
        assert!(named.bytes(3).unwrap_err().to_string().contains("more than 3 bytes"));
        let other = NamedBy { changed_ns: named.changed_ns - 1, ..named.clone() };
        assert!(other.bytes(16).unwrap_err().to_string().contains("has changed"));
        std::fs::rename(&path, at.path().join("x")).unwrap();
        std::os::unix::fs::symlink("x", &path).unwrap();
        assert_eq!(named.bytes(16).unwrap_err().to_string(), "it is a symbolic link");
    }
}
