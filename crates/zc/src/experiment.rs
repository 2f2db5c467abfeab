//! Shared by all experiments that measure, whether they follow a plan or have options of their own.

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use super::busy::nothing_kept;
use super::format::FormatArgs;
use super::interim::Planned;
use super::progress::Watcher;
use super::render;
use zc_kernel::stop::Stop;
use zc_measure::session::Outcome;
use zc_run::{Error, Experiment, Result};

/// The options of an experiment that measures in blocks and has no plan, besides its own.
pub(super) const OF_BLOCKS: [&str; 18] = [
    "--cpus",
    "--window",
    "--idle",
    "--warmup",
    "--budget",
    "--wait-until-quiet",
    "--strict",
    "--target",
    "--seed",
    "--soaker",
    "--out",
    "--json",
    "--csv",
    "--markdown",
    "--verbose",
    "--columns",
    "--cells",
    "--width",
];

/// Checks that only options were given that the experiment takes.
///
/// # Errors
/// One of them is another, with this help.
pub(super) fn takes_no_other(
    experiment: Experiment,
    takes: &[&[&str]],
    given: &[String],
    help: &str,
) -> Result<()> {
    let is_taken = |option: &String| takes.iter().any(|each| each.contains(&option.as_str()));
    match given.iter().find(|option| !is_taken(option)) {
        None => Ok(()),
        Some(other) => {
            let message = format!("\"{other}\" is no option of the experiment \"{experiment}\"");
            Err(Error::usage(message).help(help))
        }
    }
}

/// The command line as it was typed.
pub(super) fn command() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Measures with progress on stderr.
///
/// # Errors
/// Errors of `measure`.
pub(super) fn watched(
    budget_ns: u64,
    stop: &Stop,
    measure: impl FnOnce(&mut Planned, &Stop, &mut Watcher) -> Result<Outcome>,
) -> Result<Outcome> {
    let mut watcher =
        Watcher::new(std::io::stderr().is_terminal(), Duration::from_nanos(budget_ns));
    let outcome = measure(&mut Planned::default(), stop, &mut watcher);
    watcher.clear();
    outcome
}

/// Prints what was measured, and where it is saved.
///
/// # Errors
/// stdout is closed, the run ended early, or none of its blocks counts.
pub(super) fn told(outcome: Outcome, out: &Path, format: FormatArgs) -> Result<()> {
    let Outcome { run, error } = outcome;
    render::saved(&run, out, format)?;
    error.or_else(|| nothing_kept(&run)).map_or(Ok(()), Err)
}
