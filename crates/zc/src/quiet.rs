//! `--wait-until-quiet`: waits, before a run and outside of its budget, for a machine on which the
//! blocks of a run would be kept.

use std::io::IsTerminal as _;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::progress::Watcher;
use super::resolve;
use zc_analysis::rules::{FOREIGN_LIMIT, STEAL_LIMIT};
use zc_measure::session::{self, Quiet};
use zc_run::{Result, units};

const S: u64 = 1_000_000_000;

/// The longest time to wait, as it was typed.
///
/// # Errors
/// It is no duration.
pub(super) fn at_most(typed: Option<&str>) -> Result<Option<Duration>> {
    let duration = |text| units::duration(text, S..=7 * 24 * 3600 * S).map(Duration::from_nanos);
    typed.map(duration).transpose().map_err(|error| resolve::of("--wait-until-quiet", error))
}

/// Waits, if the user asked for it.
///
/// # Errors
/// The machine is not quiet after that time, or the wait was interrupted.
pub(super) fn wait(at_most: Option<Duration>, stop: &AtomicBool) -> Result<()> {
    let Some(at_most) = at_most else { return Ok(()) };
    let quiet = Quiet { at_most, others: FOREIGN_LIMIT, steal: STEAL_LIMIT };
    let mut watcher = Watcher::new(std::io::stderr().is_terminal(), at_most);
    let waited = session::wait_until_quiet(quiet, stop, &mut watcher);
    watcher.clear();
    waited
}
