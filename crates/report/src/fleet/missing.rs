//! Measurements that were planned and have not been made.

use schemars::JsonSchema;
use serde::Serialize;

/// A measurement that was planned and has no run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Missing {
    /// The measurement: `n03 to n07, paths`.
    pub cell: String,
    /// Why there is no run, as the end of a sentence: `the job was cancelled`.
    pub why: String,
}
