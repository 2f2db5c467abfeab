//! Versions of the saved run: the one that this program writes, those that it reads, and the errors
//! for others.
//!
//! docs/format.md has the policy. A minor version adds fields and values. A major version renames,
//! removes, or changes a meaning.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Error, Result, escape};

/// The major version that this program writes.
pub const MAJOR: u32 = 4;
/// The minor version that this program writes.
pub const MINOR: u32 = 0;
/// The oldest major version that this program reads.
pub const OLDEST_MAJOR: u32 = 2;
/// The major versions that were one JSON document with differences in it.
const DOCUMENTS: std::ops::RangeInclusive<u64> = 2..=3;
/// The first version of zc that reads all of [`MAJOR`].[`MINOR`]. Raised together with either of
/// them.
pub const READ_BY: &str = "0.2.0";

/// The version of a saved run's format. It is at the beginning of the file, in the same form in all
/// future versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormatVersion {
    /// The major version. The first key of the file, so that a saved run is recognised by its first
    /// bytes.
    #[serde(rename = "zc_run")]
    #[schemars(extend("const" = MAJOR))]
    pub major: u32,
    /// The minor version; 0 if it is absent.
    #[serde(rename = "zc_run_minor", default)]
    pub minor: u32,
    /// The first version of zc that reads all of this file. A program that finds the file too new
    /// names it.
    #[serde(default)]
    pub read_by: String,
}

impl FormatVersion {
    /// The one that this program writes.
    pub fn current() -> Self {
        Self { major: MAJOR, minor: MINOR, read_by: READ_BY.to_owned() }
    }

    /// Whether the file may contain more than this program knows.
    pub fn is_newer(&self) -> bool {
        (self.major, self.minor) > (MAJOR, MINOR)
    }

    /// The hint that names the zc that reads all of the file.
    pub fn readers(&self) -> String {
        readers(&self.read_by, "")
    }
}

/// The fields that give a file's version, whatever it is.
#[derive(Deserialize)]
pub(super) struct Found {
    zc_run: Option<u64>,
    #[serde(default)]
    zc_run_minor: u64,
    #[serde(default)]
    read_by: String,
    #[serde(default)]
    zc_version: String,
}

impl Found {
    /// Whether it is a run of a format that is not one JSON document with differences in it.
    pub(super) fn has_lines(&self) -> bool {
        self.zc_run.is_some_and(|major| !DOCUMENTS.contains(&major))
    }

    /// Whether this program reads the file's version; `None` if it is not a saved run.
    pub(super) fn check(&self) -> Option<Result<()>> {
        let major = self.zc_run?;
        if (u64::from(OLDEST_MAJOR)..=u64::from(MAJOR)).contains(&major) {
            return Some(Ok(()));
        }
        let message = format!(
            "it is a saved run of format {major}.{}, and this zc reads formats {OLDEST_MAJOR} to \
             {MAJOR}",
            self.zc_run_minor
        );
        Some(
            Err(Error::input("run-format", message).help(readers(&self.read_by, &self.zc_version))),
        )
    }

    /// The help for a file that could not be read to its end: if it is newer than this program,
    /// that is the likely reason.
    pub(super) fn explain(&self, error: Error) -> Error {
        let minor = self.zc_run_minor;
        if self.zc_run == Some(u64::from(MAJOR)) && minor > u64::from(MINOR) {
            let readers = readers(&self.read_by, &self.zc_version);
            return error.help(format!(
                "its format {MAJOR}.{minor} is newer than {MAJOR}.{MINOR}, which this zc knows; \
                 {readers}"
            ));
        }
        error
    }
}

/// The name of the zc that reads a file, from the file's own fields.
fn readers(read_by: &str, zc_version: &str) -> String {
    match (read_by, zc_version) {
        ("", "") => "the zc that wrote it reads it".to_owned(),
        ("", wrote) => format!("zc {} wrote it and reads it", escape(wrote, 40)),
        (read_by, _) => format!("zc {} and later read it", escape(read_by, 40)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(version: &str) -> Vec<u32> {
        version.split('.').map(|part| part.parse().unwrap()).collect()
    }

    #[test]
    fn this_zc_is_among_those_that_read_what_it_writes() {
        assert!(number(READ_BY) <= number(env!("CARGO_PKG_VERSION")), "{READ_BY} is not there yet");
    }
}
