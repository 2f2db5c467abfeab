//! `zc run memory`: how fast this machine's memory is. It takes few of the options of `zc run`, and
//! refuses the others instead of ignoring them.

use serde_json::json;

use super::experiment::takes_no_other;
use super::run_args::RunArgs;
use super::{interrupt, quiet, read, resolve, tell};
use zc_analysis::memory::{memory as estimate, roofline};
use zc_measure::session::{self, MemoryOptions, MemoryOutcome};
use zc_run::{Experiment, MemoryRun, Result};

/// The options that it takes.
pub(super) const TAKES: [&str; 5] =
    ["--budget", "--wait-until-quiet", "--seed", "--with", "--json"];

/// Measures memory and prints the result; `given` are the options that were typed.
///
/// # Errors
/// The experiment does not take an option, the run to compare with cannot be read, nothing was
/// measured, or it was interrupted. In the last case the result so far has been printed.
pub(super) fn run(args: &RunArgs, given: &[String]) -> Result<()> {
    let help = format!("it takes {}", TAKES.join(", "));
    takes_no_other(Experiment::Memory, &[&TAKES], given, &help)?;
    let options = MemoryOptions {
        budget_ns: resolve::budget(args.budget.as_deref(), Experiment::Memory.definition().budget)?,
        seed: resolve::seed(args.seed.as_deref())?,
        root: "/".into(),
    };
    // Before the measurement, which would be lost if this failed.
    let with = args.with.as_deref().map(read::run).transpose()?;
    let with = with.map(|run| zc_analysis::estimate(&run));
    let at_most = args.quiet.at_most()?;
    let stop = interrupt::flag()?;
    quiet::wait(at_most, &stop)?;
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
    tell::result(&if args.format.json {
        format!("{}\n", json!({ "estimates": estimates, "roofline": roofline, "seen": seen }))
    } else {
        zc_report::memory::memory(&seen, &estimates, roofline.as_ref())
    })?;
    error.map_or(Ok(()), Err)
}
