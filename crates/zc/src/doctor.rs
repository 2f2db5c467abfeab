//! `zc doctor`: what this user can have on this machine, and how fit it is to measure.

use super::{render, tell};
use zc_measure::session;
use zc_run::Result;

/// Looks and prints.
///
/// # Errors
/// The machine cannot be looked at.
pub(super) fn doctor() -> Result<()> {
    let session::Findings { host, rows, warnings } = session::examine()?;
    tell::result(&zc_report::doctor(&host, &rows, &warnings, render::columns()))
}
