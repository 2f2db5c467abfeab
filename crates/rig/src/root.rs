//! Files of /proc and /sys, read below a root, so that tests can supply those of other machines.

use std::path::Path;

/// A file's text without the white space around it.
pub fn read(root: &Path, path: &str) -> Option<String> {
    Some(std::fs::read_to_string(root.join(path)).ok()?.trim().to_owned())
}

/// The numbers that have folders in a folder: processes in /proc, threads in its `task` folders.
/// Empty if it cannot be read, as when a process has just ended.
pub fn numbered(root: &Path, folder: &str) -> Vec<i32> {
    let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A folder to be used as `/`, with the files of another machine, given as paths below it and
/// texts.
#[cfg(test)]
pub(crate) fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    root
}
