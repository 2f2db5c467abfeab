//! What came of measuring a commit, and why it cannot be told.

use zc_analysis::bisect::Judged;
use zc_run::{Error, Run, Support, SupportRow};

/// What came of measuring a commit.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) judged: Judged,
    /// Why it cannot be told.
    pub(super) why: Option<String>,
    pub(super) elapsed_s: f64,
}

/// An error as a part of a sentence.
pub(super) fn sentence(error: Error) -> String {
    match error.help {
        Some(help) => format!("{} ({help})", error.message),
        None => error.message,
    }
}

/// Why a run has not the cell that is looked at; `None` where it has.
pub(super) fn unavailable(run: &Run, cell: &str) -> Option<String> {
    if run.header.plan.cells.iter().any(|it| it.label == cell) {
        return None;
    }
    let is_own = |row: &&SupportRow| cell.starts_with(&row.name);
    let row = run.header.unavailable.iter().find(is_own);
    match row.map(|row| &row.support) {
        Some(Support::No(no)) => Some(format!("\"{cell}\" cannot be measured here: {}", no.reason)),
        Some(Support::Yes) | None => None,
    }
}
