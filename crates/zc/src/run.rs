//! `zc run`: measures, saves, prints. A run that was interrupted prints the results so far and
//! exits with 130. One that could not continue prints the results so far and the reason.

use std::path::PathBuf;

use super::busy::nothing_kept;
use super::experiment::{command, conduct_by};
use super::format::Format;
use super::interim::Planned;
use super::memory::{self, MemoryArgs};
use super::nfs_args::NfsArgs;
use super::run_args::{LinkChoice, OwnArgs, RunArgs, StreamArgs};
use super::server_args::ServerArgs;
use super::{earlier, kernels, like, nfs, planned, render, resolve, server, tell};
use zc_measure::plan::Spec;
use zc_measure::session::{self, Interim, Kind};
use zc_run::{Error, Experiment, Factor, Result, Run};

/// Runs experiments one after the other, up to the first that fails, and returns the exit code.
///
/// # Errors
/// An argument is not valid, the run cannot be saved, nothing could be measured, or a run ended
/// early.
pub(super) fn run(lines: Vec<RunArgs>) -> Result<u8> {
    if lines.len() > 1
        && let Some(option) = lines.iter().find_map(for_one)
    {
        let message = format!("\"{option}\" is for one experiment, and {} are named", lines.len());
        return Err(Error::usage("option-of-one-experiment", message).help("run them one by one"));
    }
    if let [line] = lines.as_slice()
        && let Some(kernels) = line.kernels()
    {
        // The machine that boots them is no far end of the run.
        let mut own = line.clone();
        let machine = own.take_machine();
        return kernels::run(line, kernels, &machine, || {
            let job = job(own)?;
            check(&job)?;
            is_on_a_wire(job)
        });
    }
    // Wrong options are found before the first minute is spent.
    let jobs = lines.into_iter().map(job).collect::<Result<Vec<Job>>>()?;
    jobs.iter().try_for_each(check)?;
    jobs.into_iter().try_for_each(|job| match job {
        Job::Plan(spec, args) => one(spec, args, |_| Ok(())),
        Job::Server(args) => server::run(&args),
        Job::Nfs(args) => nfs::run(&args),
        Job::Memory(args) => memory::run(&args),
    })?;
    Ok(0)
}

/// Checks the options of an experiment, of which nothing is measured.
///
/// # Errors
/// One is not valid.
fn check(job: &Job) -> Result<()> {
    let Job::Plan(spec, args) = job else { return Ok(()) };
    let (spec, args) = planned::merge_options(spec.clone(), args.clone())?;
    let options = resolve::run(&args, spec, Vec::new(), PathBuf::new())?;
    args.replay.check(&options.plan.name, options.responses.is_some())
}

/// Whether the link is that between two guests: typed, or held fixed by a plan.
///
/// # Errors
/// A parameter that the plan holds fixed is not valid.
fn is_on_a_wire(job: Job) -> Result<bool> {
    let Job::Plan(spec, args) = job else { return Ok(false) };
    let (_, args) = planned::merge_options(spec, args)?;
    Ok(args.transfer.link == Some(LinkChoice::Wire))
}

/// A run to make.
#[allow(clippy::large_enum_variant)] // there are few
enum Job {
    Plan(Spec, StreamArgs),
    Server(ServerArgs),
    Nfs(NfsArgs),
    Memory(MemoryArgs),
}

/// The job that a command line asks for.
fn job(args: RunArgs) -> Result<Job> {
    let experiment = args.experiment();
    Ok(match args {
        RunArgs { plan: Some(plan), stream, .. } => Job::Plan(planned::of_file(&plan)?, stream),
        RunArgs { like: Some(file), stream, .. } => {
            let (spec, args) = like::repeated(&file, stream)?;
            Job::Plan(spec, args)
        }
        RunArgs { own: Some(OwnArgs::Server(args)), .. } => Job::Server(args),
        RunArgs { own: Some(OwnArgs::Nfs(args)), .. } => Job::Nfs(args),
        RunArgs { own: Some(OwnArgs::Memory(args)), .. } => Job::Memory(args),
        RunArgs { own: Some(OwnArgs::Requests(args) | OwnArgs::Replay(args)), .. }
        | RunArgs { own: None, stream: args, .. } => {
            Job::Plan(planned::of_experiment(experiment)?, args)
        }
    })
}

/// The option that can be of one experiment only, if it was typed.
fn for_one(args: &RunArgs) -> Option<&'static str> {
    let measuring = match &args.own {
        None => &args.stream.measuring,
        Some(OwnArgs::Requests(args) | OwnArgs::Replay(args)) => &args.measuring,
        Some(OwnArgs::Server(args)) => &args.measuring,
        Some(OwnArgs::Nfs(args)) => &args.measuring,
        Some(OwnArgs::Memory(args)) => {
            return args.json.then_some("--json").or(args.with.as_ref().map(|_| "--with"));
        }
    };
    let kernel = args.kernels().map(|_| "--kernel");
    let out = measuring.out.as_ref().map(|_| "--out");
    kernel.or(out).or(measuring.format.json.then_some("--json"))
}

/// Runs one plan, and calls `also` with the run before it is printed.
///
/// # Errors
/// Same as for [`run`], or `also` failed.
pub(super) fn one(
    spec: Spec,
    args: StreamArgs,
    also: impl FnOnce(&Run) -> Result<()>,
) -> Result<()> {
    let format = args.measuring.format;
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
pub(super) fn measured(spec: Spec, args: StreamArgs, command: Vec<String>) -> Result<Measured> {
    measured_by(spec, args, command, &mut Planned::default())
}

/// The same, where `interim` says which blocks count, and when it may end.
///
/// # Errors
/// Same as for [`measured`].
pub(super) fn measured_by(
    spec: Spec,
    args: StreamArgs,
    command: Vec<String>,
    interim: &mut dyn Interim,
) -> Result<Measured> {
    let (spec, args) = planned::merge_options(spec, args)?;
    let mut options = resolve::run(&args, spec, command, args.measuring.out())?;
    args.replay.check(&options.plan.name, options.responses.is_some())?;
    args.measuring.check(&options.blocks.out)?;
    args.replay.draw_into(&mut options)?;
    // "--rate auto" chooses anew.
    if !args.factors.is_given(Factor::Rate) {
        options.blocks.earlier = earlier::rates(&options.blocks.out, &options.plan.name);
        if args.anonymise {
            options
                .blocks
                .earlier
                .iter_mut()
                .for_each(|run| run.file = session::LEFT_OUT.to_owned());
        }
    }
    let remote = options.remote.as_ref();
    let towards = args.remote.towards(remote, args.starts_commands(), options.realtime);
    let session::Outcome { run, error } =
        conduct_by(Kind::Plan(&options), &args.measuring.length.quiet, towards, interim)?;
    Ok(Measured { run, out: options.blocks.out, error })
}
