//! What every reader of a run may rely on, beside its types: a run that has been edited can contradict itself.

use std::collections::BTreeSet;

use super::{Error, Result, Run};

/// Holds a run to it.
///
/// # Errors
/// [`ErrorKind::Input`](super::ErrorKind): two cells of one name.
pub(super) fn run(run: &Run) -> Result<()> {
    let mut labels = BTreeSet::new();
    // Trials name their cells, so no two of these may have one name.
    if let Some(twice) = run.header.plan.cells.iter().find(|cell| !labels.insert(&cell.label)) {
        return Err(Error::input(format!(
            "two cells of its plan are called \"{}\"",
            super::escape(&twice.label, 80)
        ))
        .help("was it edited by hand?"));
    }
    Ok(())
}
