//! `zc run memory`: how fast this machine's memory is.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde_json::json;

use super::option_groups::{LengthArgs, SeedArgs, budget_of};
use super::{interrupt, read, tell};
use zc_analysis::memory::{memory as estimate, roofline};
use zc_measure::session::{self, MemoryOptions, MemoryOutcome};
use zc_run::{Experiment, MemoryRun, Result};

/// The options of `zc run memory`.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("budget", budget_of(Experiment::Memory.definition().budget)))]
pub(super) struct MemoryArgs {
    /// A saved run whose top speeds are compared with memcpy
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) with: Option<PathBuf>,
    #[command(flatten)]
    length: LengthArgs,
    #[command(flatten)]
    seed: SeedArgs,
    /// Print one JSON document instead of the table
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    /// Taken for the sake of other experiments that are named too: the table has only one form
    #[arg(short, long, hide = true)]
    verbose: bool,
}

/// Measures memory and prints the result.
///
/// # Errors
/// The run to compare with cannot be read, nothing was measured, or it was interrupted. In the last
/// case the result so far has been printed.
pub(super) fn run(args: &MemoryArgs) -> Result<()> {
    let options = MemoryOptions {
        budget_ns: args.length.budget_ns(),
        seed: args.seed.number,
        root: "/".into(),
    };
    // Before the measurement, which would be lost if this failed.
    let with = args.with.as_deref().map(read::run).transpose()?;
    let with = with.map(|run| zc_analysis::estimate(&run));
    let stop = interrupt::flag()?;
    args.length.quiet.wait(&stop)?;
    let mut begin = |seen: &MemoryRun| {
        let sets = seen.sets.len();
        let seconds = seen.budget_ns as f64 / 1e9;
        tell::note(&format!(
            "{sets} working sets on CPU {} for {seconds} s; Ctrl-C ends it with what is known",
            seen.cpu
        ));
    };
    let MemoryOutcome { seen, error } = session::memory(&options, &stop, &mut begin)?;
    let estimates = estimate(&seen);
    let roofline = with.and_then(|run| roofline(&seen, &estimates, &run));
    tell::result(&if args.json {
        format!("{}\n", json!({ "estimates": estimates, "roofline": roofline, "seen": seen }))
    } else {
        zc_report::memory::memory(&seen, &estimates, roofline.as_ref())
    })?;
    error.map_or(Ok(()), Err)
}
