//! Shared by all experiments that measure, whether they follow a plan or have options of their own.

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use super::busy::nothing_kept;
use super::format::FormatArgs;
use super::interim::Planned;
use super::progress::Watcher;
use super::quiet::QuietArgs;
use super::remote::Towards;
use super::{interrupt, render};
use zc_measure::session::{self, Interim, Kind, Outcome};
use zc_rig::privileges;
use zc_run::Result;

/// The command line as it was typed.
pub(super) fn command() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Waits as the arguments say, and measures with progress on stderr.
///
/// # Errors
/// Errors of `measure`; or what was waited for did not happen.
pub(super) fn conduct(
    kind: Kind<'_>,
    quiet: &QuietArgs,
    towards: Option<Towards>,
) -> Result<Outcome> {
    conduct_by(kind, quiet, towards, &mut Planned::default())
}

/// The same, where `interim` says which blocks count, and when it may end.
///
/// # Errors
/// Same as for [`conduct`].
pub(super) fn conduct_by(
    kind: Kind<'_>,
    quiet: &QuietArgs,
    towards: Option<Towards>,
    interim: &mut dyn Interim,
) -> Result<Outcome> {
    let stop = interrupt::flag()?;
    quiet.wait(&stop)?;
    if let Some(towards) = towards {
        privileges::keep_for(towards.work)?;
        towards.wait(&stop)?;
    }
    let budget = Duration::from_nanos(kind.blocks().budget_ns);
    let mut watcher = Watcher::new(std::io::stderr().is_terminal(), budget);
    let outcome = session::run(kind, interim, &stop, &mut watcher);
    watcher.clear();
    outcome
}

/// Prints what was measured, and where it is saved.
///
/// # Errors
/// stdout is closed, the run ended early, or none of its blocks counts.
pub(super) fn print_outcome(outcome: Outcome, out: &Path, format: FormatArgs) -> Result<()> {
    let Outcome { run, error } = outcome;
    render::saved(&run, out, format)?;
    error.or_else(|| nothing_kept(&run)).map_or(Ok(()), Err)
}
