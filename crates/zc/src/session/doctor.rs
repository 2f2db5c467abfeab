//! `zc doctor`: what this user can have on this machine, and how fit the machine is.

use crate::record::{Fault, Host, Result, SupportRow, Warning};

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
