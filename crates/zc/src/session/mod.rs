//! session

mod options;
mod progress;

pub use options::{CpuPair, RunOptions};
pub use progress::{Next, Progress, Silent};

use crate::record::{Fault, Host, Result, Run, SupportRow, Warning};

/// Measures what was asked for and saves it after every block.
///
/// # Errors
/// Nothing could be measured. A run that ended early with blocks in it is `Ok`, and says why in its `end`.
pub fn run(_options: &RunOptions, _progress: &mut dyn Progress) -> Result<Run> {
    Err(Fault::failed("measuring is not written yet"))
}

/// What `zc doctor` found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// The machine.
    pub host: Host,
    /// Every send path, receive path, link and meter, in the order of the documentation.
    pub rows: Vec<SupportRow>,
    /// What makes this machine less fit to measure.
    pub warnings: Vec<Warning>,
}

/// Finds out what this user can have on this machine, and how fit the machine is, without measuring anything.
///
/// # Errors
/// /proc cannot be read.
pub fn examine() -> Result<Findings> {
    Err(Fault::failed("the doctor is not written yet"))
}
