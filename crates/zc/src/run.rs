//! `zc run`: measure, save, print. Ends with the run's own outcome: one that was interrupted prints what it knows and
//! exits with 130, one that could not go on prints what it knows and says why.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;

use super::args::RunArgs;
use super::interim::Planned;
use super::progress::Watcher;
use super::resolve::{self, Format};
use super::{interrupt, memory, planned, render, tell};
use zc_measure::plan::Spec;
use zc_measure::session;
use zc_run::nearest::unknown;
use zc_run::{Error, Experiment, Result, Run};

/// Runs what was named, one after the other; the first that fails is the last.
///
/// # Errors
/// What was typed has no meaning, nothing can be saved, nothing could be measured, or a run ended before its time.
pub(super) fn run(args: RunArgs, given: &[String]) -> Result<()> {
    if let Some(path) = &args.plan {
        let spec = planned::of_file(path)?;
        return one(spec, args, |_| Ok(()));
    }
    let names = args
        .names
        .iter()
        .map(|name| name.parse().map_err(unknown))
        .collect::<Result<Vec<Experiment>>>()?;
    let names = if names.is_empty() { vec![Experiment::Paths] } else { names };
    if names.len() > 1
        && let Some(option) =
            given.iter().find(|option| ["--out", "--json", "--with"].contains(&option.as_str()))
    {
        return Err(Error::usage(format!(
            "\"{option}\" is for one experiment, and {} are named",
            names.len()
        ))
        .help("run them one by one"));
    }
    // Wrong names and options are found before the first minute is spent.
    for &name in names.iter().filter(|name| **name != Experiment::Memory) {
        let (spec, args) = planned::worked_in(planned::of_experiment(name)?, args.clone())?;
        resolve::run(&args, spec, Vec::new(), PathBuf::new)?;
    }
    for name in names {
        match name {
            Experiment::Memory => {
                // It has one form of its table, and takes no other options of a run.
                let given: Vec<String> =
                    given.iter().filter(|option| *option != "--verbose").cloned().collect();
                memory::run(&args, &given)?;
            }
            name => one(planned::of_experiment(name)?, args.clone(), |_| Ok(()))?,
        }
    }
    Ok(())
}

/// Runs one plan, and does something with what came of it before it is printed.
///
/// # Errors
/// As for [`run`]; and what was to be done failed.
pub(super) fn one(spec: Spec, args: RunArgs, also: impl FnOnce(&Run) -> Result<()>) -> Result<()> {
    if args.with.is_some() {
        return Err(Error::usage(format!(
            "\"--with\" is no option of the experiment \"{}\"",
            spec.name
        ))
        .help("zc run memory --with FILE"));
    }
    let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let (spec, args) = planned::worked_in(spec, args)?;
    let options = resolve::run(&args, spec, command, || resolve::default_out(&jiff::Zoned::now()))?;
    resolve::check_out(&options.out, args.out.is_some())?;

    let mut watcher =
        Watcher::new(std::io::stderr().is_terminal(), Duration::from_nanos(options.budget_ns));
    let stop = interrupt::flag()?;
    let outcome = session::run(&options, &mut Planned::default(), &stop, &mut watcher);
    watcher.clear();
    let session::Outcome { run, error } = outcome?;

    let done = also(&run);
    let format = Format::from(args.format);
    let printed = tell::result(&render::document(&run, format, args.format.verbose));
    tell::note(&format!("saved: \"{}\"", tell::path(&options.out)));
    printed?;
    if format == Format::Table && !args.format.verbose {
        let is_paths = run.header.plan.experiment == Experiment::Paths.name();
        let further = ("zc run sizes", "from which message size on each path needs less CPU");
        tell::next(&options.out, is_paths.then_some(further));
    }
    done?;
    error.map_or(Ok(()), Err)
}
