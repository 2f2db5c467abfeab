//! `zc doctor`: what this user can have on this machine, and how fit it is to measure.

use super::{render, tell};
use crate::record::Result;
use crate::{report, session};

/// Looks and prints.
///
/// # Errors
/// The machine cannot be looked at.
pub(super) fn doctor() -> Result<()> {
    let session::Findings { host, rows, warnings } = session::examine()?;
    tell::result(&report::doctor(&host, &rows, &warnings, render::columns()))
}
