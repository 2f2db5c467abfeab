//! Files of /proc and /sys, read below a root, so that tests can supply those of other machines.

use std::path::Path;

/// A file's text without the white space around it.
pub(super) fn read(root: &Path, path: &str) -> Option<String> {
    Some(std::fs::read_to_string(root.join(path)).ok()?.trim().to_owned())
}
