//! Checks what readers of a run rely on and its types do not express: a run that has been edited
//! can contradict itself.

use std::collections::BTreeSet;

use super::{Error, Result, Run};

/// Checks a run.
///
/// # Errors
/// [`ErrorKind::Input`](super::ErrorKind): two cells have the same name.
pub(super) fn run(run: &Run) -> Result<()> {
    let mut labels = BTreeSet::new();
    // Trials name their cells, so cells must have different names.
    if let Some(twice) = run.header.plan.cells.iter().find(|cell| !labels.insert(&cell.label)) {
        return Err(Error::input(
            "duplicate-cell",
            format!("two cells of its plan are called \"{}\"", super::escape(&twice.label, 80)),
        )
        .help("was it edited by hand?"));
    }
    Ok(())
}
