//! What tests of `zc run` from outside have in common.

use std::path::Path;

use zc_run::Run;

/// The run that must have been saved whole, as `run.json`.
#[track_caller]
pub(crate) fn saved(folder: &Path) -> Run {
    let text = std::fs::read_to_string(folder.join("run.json")).unwrap();
    let (run, broken) = zc_run::parse(&text).unwrap();
    assert_eq!(broken, 0, "the file is a whole document");
    run
}
