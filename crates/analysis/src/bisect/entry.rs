//! What was seen at a commit: a line of the log of a bisection.

use serde::{Deserialize, Serialize};

/// One commit that was measured, or could not be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Version of this form: 1.
    pub zc_bisect: u32,
    /// The bisection that it belongs to: when that began.
    pub bisection: String,
    /// When the commit was told, RFC 3339.
    pub at: String,
    /// The commit's name.
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
    /// The cell whose cost was measured.
    pub cell: String,
    /// What its cost was compared with.
    pub reference: Against,
    /// Share of the reference's cost from which on a commit is bad.
    pub worse: f64,
    /// What git was told.
    pub answer: Told,
    /// Why it could not be told; `None` where it could.
    pub why: Option<String>,
    /// The error that the answer may have.
    pub error: f64,
    /// Cost divided by the reference's.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Confidence of the interval.
    pub confidence: f64,
    /// Number of log ratios, each of a block or of a round of boots, or of blocks of the run that
    /// was compared with a saved one.
    pub values: usize,
    /// Time that measuring took, in seconds; without the command that builds.
    pub elapsed_s: f64,
}

/// The answer to git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// Exit code 0.
    Good,
    /// Exit code 1.
    Bad,
    /// Exit code 125: it cannot be told.
    Skip,
}

/// What the cost of a commit is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// A saved run of a good commit.
    SavedRun,
    /// The state A of the host, in the same blocks.
    StateA,
    /// The good kernel, booted in the same rounds.
    GoodKernel,
}

/// The errors that all answers of these entries may have together: the probability that any of them
/// was wrong is at most that.
pub fn error_spent(entries: &[Entry]) -> f64 {
    let told = entries.iter().filter(|entry| entry.answer != Told::Skip);
    // The sum of none is -0.
    told.fold(0.0, |sum, entry| sum + entry.error)
}
