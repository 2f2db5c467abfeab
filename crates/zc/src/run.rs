//! `zc run`: measures, saves, prints. A run that was interrupted prints the results so far and
//! exits with 130. One that could not continue prints the results so far and the reason.

use std::path::PathBuf;

use super::busy::nothing_kept;
use super::experiment::{command, watched};
use super::format::Format;
use super::run_args::RunArgs;
use super::{
    anonymise, earlier, interrupt, like, memory, nfs, planned, quiet, render, resolve, server, tell,
};
use zc_measure::plan::Spec;
use zc_measure::session;
use zc_rig::privileges::{self, Work};
use zc_run::nearest::unknown;
use zc_run::{Error, Experiment, Factor, Result, Run};

/// Runs the named experiments one after the other, up to the first that fails.
///
/// # Errors
/// An argument is not valid, the run cannot be saved, nothing could be measured, or a run ended
/// early.
pub(super) fn run(args: RunArgs, given: &[String]) -> Result<()> {
    if let Some(path) = &args.plan {
        let spec = planned::of_file(path)?;
        return one(spec, args, |_| Ok(()));
    }
    if let Some(path) = &args.like {
        let (spec, args) = like::repeated(path, args.clone())?;
        return one(spec, args, |_| Ok(()));
    }
    let names = args
        .names
        .iter()
        .map(|name| name.parse().map_err(unknown))
        .collect::<Result<Vec<Experiment>>>()?;
    let names = if names.is_empty() { vec![Experiment::DEFAULT] } else { names };
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
    if args.server.is_given() && names != [Experiment::Server] {
        return Err(Error::usage(
            "--state, --serve, a load generator and so on are for \"zc run server\"",
        )
        .help("zc run server --state A=URL --state B=URL --serve COMMAND"));
    }
    if args.nfs.is_given() && names != [Experiment::Nfs] {
        return Err(Error::usage("--vers, --rsize, --nfs-server and so on are for \"zc run nfs\"")
            .help(nfs::EXAMPLE));
    }
    if args.anonymise {
        names.iter().try_for_each(|name| anonymise::check(name.name()))?;
    }
    let sends = |name: &&Experiment| name.definition().plan.is_ok();
    for &name in names.iter().filter(sends) {
        let (spec, args) = planned::merge_options(planned::of_experiment(name)?, args.clone())?;
        let options = resolve::run(&args, spec, Vec::new(), PathBuf::new)?;
        args.replay.check(name.name(), options.responses.is_some())?;
        args.quiet.at_most()?;
    }
    for name in names {
        match name {
            Experiment::Memory => {
                // It has only one form of its table.
                let given: Vec<String> =
                    given.iter().filter(|option| *option != "--verbose").cloned().collect();
                memory::run(&args, &given)?;
            }
            Experiment::Server => server::run(&args, given)?,
            Experiment::Nfs => nfs::run(&args, given)?,
            name => one(planned::of_experiment(name)?, args.clone(), |_| Ok(()))?,
        }
    }
    Ok(())
}

/// Runs one plan, and calls `also` with the run before it is printed.
///
/// # Errors
/// Same as for [`run`], or `also` failed.
pub(super) fn one(spec: Spec, args: RunArgs, also: impl FnOnce(&Run) -> Result<()>) -> Result<()> {
    if args.with.is_some() {
        return Err(Error::usage(format!(
            "\"--with\" is no option of the experiment \"{}\"",
            spec.name
        ))
        .help("zc run memory --with FILE"));
    }
    let format = args.format;
    let Measured { run, out, error } = measured(spec, args, command())?;

    let done = also(&run);
    render::saved(&run, &out, format)?;
    if Format::from(format) == Format::Table && !format.verbose {
        let is_paths = run.header.plan.experiment == Experiment::DEFAULT.name();
        let further = ("zc run sizes", "from which message size on each path needs less CPU");
        tell::next(&out, is_paths.then_some(further));
    }
    done?;
    error.or_else(|| nothing_kept(&run)).map_or(Ok(()), Err)
}

/// A run that was measured, and saved.
pub(super) struct Measured {
    pub(super) run: Run,
    /// File of the saved run.
    pub(super) out: PathBuf,
    /// Why it ended early.
    pub(super) error: Option<Error>,
}

/// Measures a plan and saves the run, with progress on stderr. `command` is saved in it.
///
/// # Errors
/// An argument is not valid, the run cannot be saved, or nothing could be measured.
pub(super) fn measured(spec: Spec, args: RunArgs, command: Vec<String>) -> Result<Measured> {
    let (spec, args) = planned::merge_options(spec, args)?;
    let mut options =
        resolve::run(&args, spec, command, || resolve::default_out(&jiff::Zoned::now()))?;
    args.replay.check(&options.plan.name, options.responses.is_some())?;
    resolve::check_out(&options.out, args.out.is_some(), args.format)?;
    args.replay.draw_into(&mut options)?;
    // "--rate auto" chooses anew.
    if args.factors.text(Factor::Rate).is_none() {
        options.earlier = earlier::rates(&options.out, &options.plan.name);
        if args.anonymise {
            options.earlier.iter_mut().for_each(|run| run.file = session::LEFT_OUT.to_owned());
        }
    }

    let at_most = args.quiet.at_most()?;
    let stop = interrupt::flag()?;
    let far_end = args.remote.awaited()?;
    quiet::wait(at_most, &stop)?;
    if args.remote.is_given() {
        let starts_commands = args.starts_commands();
        let realtime = options.realtime;
        privileges::keep_for(Work::TowardsFarEnd { starts_commands, realtime })?;
    }
    far_end.wait(&stop)?;
    let session::Outcome { run, error } =
        watched(options.budget_ns, &stop, |interim, stop, watcher| {
            session::run(&options, interim, stop, watcher)
        })?;
    Ok(Measured { run, out: options.out, error })
}
