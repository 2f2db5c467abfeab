//! Additions of an experiment to the report of its run.

use crate::terminal::part::Part;

/// The additions of an experiment.
#[derive(Default)]
pub(crate) struct Section {
    /// Parts under the grids.
    pub(crate) parts: Vec<Part>,
    /// The conclusion, under the verdict. `None` where verdicts are withheld.
    pub(crate) conclusion: Option<String>,
}
