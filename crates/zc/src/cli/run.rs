//! `zc run`: measure, save, print. Ends with the run's own outcome: one that was interrupted prints what it knows and
//! exits with 130, one that could not go on prints what it knows and says why.

use std::io::IsTerminal as _;
use std::time::Duration;

use super::args::RunArgs;
use super::progress::Watcher;
use super::resolve::{self, Format};
use super::{interrupt, render, tell};
use crate::record::{Experiment, Fault, Result};
use crate::session;

/// What is to be found out.
///
/// # Errors
/// [`FaultKind::Usage`](crate::record::FaultKind): there is no experiment of that name.
pub(super) fn experiment(args: &RunArgs) -> Result<Experiment> {
    args.name.as_deref().map_or(Ok(Experiment::Paths), |name| name.parse().map_err(crate::record::nearest::unknown))
}

/// Runs it.
///
/// # Errors
/// What was typed has no meaning, nothing can be saved, nothing could be measured, or the run ended before its time.
pub(super) fn run(args: &RunArgs) -> Result<()> {
    if args.with.is_some() {
        return Err(
            Fault::usage("\"--with\" is no option of the experiment \"paths\"").hint("zc run memory --with FILE")
        );
    }
    let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let options = resolve::run(args, command, || resolve::default_out(&jiff::Zoned::now()))?;
    resolve::check_out(&options.out, args.out.is_some())?;

    let mut watcher = Watcher::new(std::io::stderr().is_terminal(), Duration::from_nanos(options.budget_ns));
    let stop = interrupt::flag()?;
    let outcome = session::run(&options, &stop, &mut watcher);
    watcher.clear();
    let session::Outcome { run, fault } = outcome?;

    let printed = tell::result(&render::document(&run, Format::from(args.format)));
    tell::note(&format!("saved: \"{}\"", tell::path(&options.out)));
    printed?;
    fault.map_or(Ok(()), Err)
}
