//! `zc doctor`: what is available to this user on this machine, and how fit the machine is to
//! measure.

use super::{render, tell};
use zc_measure::session;
use zc_run::Result;

/// Examines the machine and prints the findings.
///
/// # Errors
/// The machine cannot be examined.
pub(super) fn doctor() -> Result<()> {
    let session::Findings { host, rows, warnings } = session::examine()?;
    tell::result(&zc_report::doctor(&host, &rows, &warnings, render::columns()))
}
