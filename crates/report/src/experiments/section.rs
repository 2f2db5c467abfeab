//! What an experiment adds to the report of its run.

use crate::block::Part;

/// What an experiment has to add.
#[derive(Default)]
pub(crate) struct Section {
    /// Under the grids.
    pub(crate) parts: Vec<Part>,
    /// Under the verdict: what it means for someone who decides. Empty where nothing may be said.
    pub(crate) says: Option<String>,
}
