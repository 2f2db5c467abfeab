//! Which runs of a fleet's folder no report uses.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::apart;
use crate::archive::{self, RunFile};
use zc_analysis::fleet::unusable;
use zc_fleet::Folder;
use zc_run::{Error, Result};

/// The saved runs of a folder as files of an archive.
pub(super) fn files(folder: &Folder, runs: &[PathBuf]) -> Vec<RunFile> {
    let file = |run: &PathBuf| RunFile {
        root: folder.path().to_owned(),
        below: folder.below(run).to_owned(),
        whose: folder.whose(),
        name: run.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    };
    runs.iter().map(file).collect()
}

/// Why no report uses them, of those that none does. Runs are read once: the folder has an index.
///
/// # Errors
/// The process that reads them is gone.
pub(super) fn judge(folder: &Folder, runs: &[PathBuf]) -> Result<BTreeMap<PathBuf, String>> {
    if runs.is_empty() {
        return Ok(BTreeMap::new());
    }
    let document =
        archive::document(&files(folder, runs), folder.path(), folder.whose(), |read| {
            let left_out = read.left_out.into_iter().map(|left| (left.name, left.why));
            let withheld =
                read.runs.iter().filter_map(|run| Some((run.name.clone(), unusable(run)?)));
            let why: BTreeMap<String, String> = left_out.chain(withheld).collect();
            Ok(apart::Document::from(serde_json::to_string(&why).unwrap_or_default()))
        })?;
    let mut why: BTreeMap<String, String> =
        serde_json::from_slice(&document.bytes).map_err(|error| {
            Error::failed("reader-gone", format!("what was read of the runs is lost: {error}"))
        })?;
    let of_run = |run: &PathBuf| {
        let name = run.file_name().unwrap_or_default().to_string_lossy();
        Some((run.clone(), why.remove(name.as_ref())?))
    };
    Ok(runs.iter().filter_map(of_run).collect())
}
