//! `--wait-until-quiet`: waits, before a run and outside of its budget, for a machine on which the
//! blocks of a run would be kept.

use std::io::IsTerminal as _;
use std::time::Duration;

use clap::Args;

use super::known::duration;
use super::progress::Watcher;
use zc_analysis::rules::{FOREIGN_LIMIT, STEAL_LIMIT};
use zc_kernel::stop::Stop;
use zc_measure::session::{self, Quiet};
use zc_run::Result;

const S: u64 = 1_000_000_000;

/// The option of the commands that may wait.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct QuietArgs {
    /// Wait for other programs to leave this machine alone before the run, at most this long
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        help_heading = "How long, how well",
        value_parser = duration(S..=7 * 24 * 3600 * S),
    )]
    wait_until_quiet: Option<u64>,
}

impl QuietArgs {
    /// Waits, if the user asked for it.
    ///
    /// # Errors
    /// The machine is not quiet after that time, or the wait was interrupted.
    pub(super) fn wait(&self, stop: &Stop) -> Result<()> {
        let Some(at_most) = self.wait_until_quiet.map(Duration::from_nanos) else { return Ok(()) };
        let quiet = Quiet { at_most, others: FOREIGN_LIMIT, steal: STEAL_LIMIT };
        let mut watcher = Watcher::new(std::io::stderr().is_terminal(), at_most);
        let waited = session::wait_until_quiet(quiet, stop, &mut watcher);
        watcher.clear();
        waited
    }
}
