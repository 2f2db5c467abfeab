//! The costs of `zc advise`: the run that they are from, which is named, found in this folder, or
//! measured. One of a server that is not zc's is always named.
//!
//! Measuring needs the rights of the user, and reading logs is to have none. So what is to be
//! measured is measured first, after the beginning of each log has been read in a process without
//! rights: a log of no known format is an error before a minute is spent. A child that reads logs
//! to their end before would have to hand over what it read, which is what this process should not
//! trust. Runs of others are read without rights too.

use std::path::PathBuf;

use clap::ValueHint;

use super::advise_tls::{self, TlsArgs, TlsSource};
use super::busy::nothing_kept;
use super::known::{duration, typed};
use super::option_groups::S;
use super::price::price;
use super::read::Saved;
use super::run::{Measured, measured};
use super::run_args::StreamArgs;
use super::saved_here::newest;
use super::{planned, resolve, tell};
use zc_analysis::advise::{Asked, Question as Asking, Unfit};
use zc_analysis::{Price, estimate};
use zc_report::advise::{Advice, Costs, Requests, machine_differences};
use zc_rig::meter::host;
use zc_run::nearest::unknown_among;
use zc_run::units::duration_text;
use zc_run::{Cipher, Error, ErrorKind, Experiment, Result, Run, escape, units};

/// The budget of a measurement: with the reading of the log, an answer within two minutes.
const BUDGET_NS: u64 = 90 * S;

/// The option of `zc run` that waits for a quiet machine.
const QUIET: &str = "--wait-until-quiet";
/// The option of `zc run` that chooses CPUs.
const CPUS: &str = "--cpus";

/// The options of `zc advise` about costs.
#[derive(Debug, clap::Args)]
pub(super) struct CostArgs {
    /// A saved run of zc run requests that costs are taken from; may be of another machine
    /// [default: one of this machine in this folder, else one that is measured and saved there]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Costs")]
    from_run: Option<PathBuf>,
    /// A saved run of zc run server that costs are taken from: states of it that ask one address
    /// are one configuration, at the lengths of their responses
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with = "from_run",
        help_heading = "Costs"
    )]
    server_run: Option<PathBuf>,
    /// The path that the server uses today, with which others are compared; with --server-run the
    /// configuration [default: read+send; the first configuration]
    #[arg(long, value_name = "PATH", help_heading = "Costs")]
    today: Option<String>,
    /// Also print the cores at this rate of such requests, as in 2000/s or 5Gbit/s
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = "Costs")]
    rate: Option<String>,
    /// Measure anew, for so long [default: 90s, where there is no run]
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        conflicts_with_all = ["from_run", "server_run"],
        help_heading = "Costs",
        value_parser = duration(S..=24 * 3600 * S),
    )]
    budget: Option<u64>,
    #[command(flatten)]
    tls: TlsArgs,
    /// The price of a core, as in 0.04/core-hour or "$0.04/core-hour", for a sum a month
    #[arg(long, value_name = "PRICE", allow_hyphen_values = true, value_parser = typed(price),
          help_heading = "Costs")]
    money: Option<Price>,
    /// Print only what the logs have, and measure nothing
    #[arg(long, conflicts_with_all = ["from_run", "server_run", "today", "rate", "budget", "money"],
          help_heading = "Costs")]
    pub(super) no_costs: bool,
}

/// The costs that were asked for.
pub(super) struct Question {
    today: Option<String>,
    asked: Option<Asked>,
    cipher: Option<Cipher>,
    /// The stated share of the bytes over TLS.
    over_tls: Option<f64>,
    price: Option<Price>,
}

/// The runs that costs are from: of responses, and of TLS where there is one.
pub(super) struct Sources {
    pub(super) responses: CostSource,
    pub(super) tls: Option<TlsSource>,
}

/// The run that costs are from.
pub(super) enum CostSource {
    /// A saved one, of which nothing has been read yet.
    Saved {
        saved: Saved,
        name: String,
        /// The option that named it, so that it may be of another machine; `None`: it was found.
        named: Option<NamedBy>,
    },
    /// A run that has just been measured.
    Measured { run: Box<Run>, name: String },
}

/// The option that names a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedBy {
    FromRun,
    ServerRun,
}

impl Question {
    /// # Errors
    /// [`ErrorKind::Usage`](zc_run::ErrorKind): the rate is none.
    pub(super) fn from_args(args: &CostArgs) -> Result<Self> {
        let asked = args.rate.as_deref().map(rate).transpose()?;
        let TlsArgs { cipher, tls: over_tls, .. } = args.tls;
        let (today, price) = (args.today.clone(), args.money.clone());
        Ok(Self { today, asked, cipher, over_tls, price })
    }

    /// Costs of the requests of logs.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): the run has no costs of responses, or the one that
    /// was named none of TLS; [`ErrorKind::Usage`](zc_run::ErrorKind): it has no such path or
    /// cipher.
    pub(super) fn costs(&self, sources: Sources, advice: &Advice) -> Result<Costs> {
        let Sources { responses, tls } = sources;
        let (run, name) = match responses {
            CostSource::Measured { run, name } => (*run, name),
            CostSource::Saved { saved, name, named } => {
                let run = saved.read()?;
                if let Some(named) = named {
                    check_kind(&run, &name, named)?;
                    warn_of_another_machine(&run, &name);
                }
                (run, name)
            }
        };
        let tls = tls.map(|tls| Ok((tls.saved.read()?, tls.name, tls.is_named))).transpose()?;
        // One that was found is of this machine, and is no help for a run of another one.
        let tls = tls.filter(|(of_tls, _, is_named)| {
            *is_named || machine_differences(&of_tls.header.host, &run.header.host).is_empty()
        });
        let requests =
            Requests { mix: &advice.mix, hosts: &advice.host_mixes, over_tls: self.over_tls };
        let today = self.today.as_deref();
        let (asked, price) = (self.asked, self.price.as_ref());
        let estimates = estimate(&run);
        let costs = |tls: Option<&(Run, String, bool)>| {
            let question =
                Asking { today, asked, price, tls: tls.map(|(run, ..)| (run, self.cipher)) };
            let file = tls.map_or("", |(_, name, _)| name);
            Costs::estimate(&run, &estimates, &name, requests, &question, file)
        };
        let found = match (costs(tls.as_ref()), &tls) {
            (Err(Unfit::Tls(unfit)), Some((_, of_tls, is_named))) => {
                let error = advise_tls::refused(unfit, of_tls, self.cipher);
                if *is_named || self.cipher.is_some() {
                    return Err(error);
                }
                tell::warning(&error.message, Some("encryption is in no cost"));
                costs(None)
            }
            (found, _) => found,
        };
        found.map_err(|unfit| refused(unfit, &run, &name, today))
    }
}

/// Requests per second, or bytes per second as for `zc run`.
fn rate(text: &str) -> Result<Asked> {
    let of_option = |error: Error| error.prefixed("--rate: ");
    let is_of_bytes = text.contains("B/s") || text.contains("bit");
    if !is_of_bytes {
        let of_requests = match text.contains("/s") {
            true => units::per_second(text),
            // A number alone would be one of two things.
            false => Err(Error::usage(
                "invalid-rate",
                format!("rate \"{}\" has no unit", escape(text, 40)),
            )),
        };
        return of_requests.map(Asked::Requests).map_err(|error| {
            of_option(error).help("requests or bits per second, as in 2000/s or 5Gbit/s")
        });
    }
    match units::rate(text).map_err(of_option)? {
        Some(bytes_per_s) => Ok(Asked::Bytes(bytes_per_s)),
        None => Err(of_option(Error::usage("invalid-rate", "\"auto\" is none"))),
    }
}

/// The runs that costs are from: see [`source`] and [`advise_tls::source`].
///
/// # Errors
/// One cannot be opened, measured or saved.
pub(super) fn sources(args: &CostArgs, check: impl FnOnce() -> Result<()>) -> Result<Sources> {
    // A file that cannot be opened is found before a minute is spent. A server has its own TLS.
    let tls = if args.server_run.is_some() { None } else { advise_tls::source(&args.tls)? };
    Ok(Sources { responses: source(args, check)?, tls })
}

/// The run that was named, else one of this machine in this folder, else one that is measured now.
/// `check` reads the beginning of the logs before a measurement.
///
/// # Errors
/// The run cannot be opened; or it cannot be measured or saved, as for `zc run`.
fn source(args: &CostArgs, check: impl FnOnce() -> Result<()>) -> Result<CostSource> {
    let from_run = args.from_run.as_ref().map(|path| (path, NamedBy::FromRun));
    let server_run = args.server_run.as_ref().map(|path| (path, NamedBy::ServerRun));
    if let Some((path, by)) = from_run.or(server_run) {
        let saved = Saved::open(path)?;
        return Ok(CostSource::Saved { saved, name: tell::path(path), named: Some(by) });
    }
    let (spec, run_args, command) = measurement(args)?;
    if args.budget.is_none()
        && let Some(path) = newest(fits)?
    {
        let name = tell::path(&path);
        tell::note(&format!("costs are from \"{name}\"; --budget measures anew"));
        return Ok(CostSource::Saved { saved: Saved::open(&path)?, name, named: None });
    }
    check()?;
    tell::note(&format!(
        "measuring what a response costs here ({}); --no-costs leaves it out",
        duration_text(run_args.measuring.length.budget_ns())
    ));
    let Measured { run, out, error } =
        measured(spec, run_args, command).map_err(|error| match error.kind {
            ErrorKind::Output => error.help(
                "the run would be saved in this folder: change to another one, or leave costs out \
                 with --no-costs",
            ),
            _ => error,
        })?;
    let name = tell::path(&out);
    if !run.blocks.is_empty() {
        tell::note(&format!("saved: \"{name}\""));
    }
    match error.or_else(|| nothing_kept(&run)) {
        // Its option is one of zc run.
        Some(error) if error.help.as_deref().is_some_and(|help| help.contains(QUIET)) => {
            Err(error.help(
            "zc run requests --wait-until-quiet 10min measures once the machine is quiet, and zc \
             advise takes that run",
            ))
        }
        Some(error) if error.help.as_deref().is_some_and(|help| help.contains(CPUS)) => Err(error
            .help("zc run requests --cpus S,R measures on other CPUs, and zc advise takes that \
                   run")),
        Some(error) => Err(error),
        None => Ok(CostSource::Measured { run: Box::new(run), name }),
    }
}

/// The plan, options and command of a measurement. The command is that of `zc run`, by which the
/// run can be repeated, and has no name of a log in it.
fn measurement(args: &CostArgs) -> Result<(zc_measure::plan::Spec, StreamArgs, Vec<String>)> {
    let experiment = Experiment::Requests;
    let budget_ns = args.budget.unwrap_or(BUDGET_NS);
    let mut run_args = StreamArgs::default();
    run_args.measuring.length.budget = Some(budget_ns);
    let budget = duration_text(budget_ns);
    let command = ["zc", "run", experiment.name(), "--budget", &budget].map(str::to_owned);
    let spec = planned::of_experiment(experiment)?;
    // A wrong budget is found before anything is read.
    let (spec, run_args) = planned::merge_options(spec, run_args)?;
    resolve::run(&run_args, spec.clone(), Vec::new(), PathBuf::new())?;
    Ok((spec, run_args, command.to_vec()))
}

/// Whether it is a run of `zc run requests`.
fn fits(run: &Run) -> bool {
    run.header.plan.traffic.responses().is_some()
        && run.header.plan.experiment == Experiment::Requests.name()
}

fn warn_of_another_machine(run: &Run, name: &str) {
    let differences = machine_differences(&run.header.host, &host());
    if !differences.is_empty() {
        let message = format!("the run \"{name}\" is of another machine or kernel than this one");
        tell::warning(&message, Some(&differences.join("; ")));
    }
}

/// Checks that a run is of the kind that its option is for: the costs of zc's own server and those
/// of another one are not taken for each other.
fn check_kind(run: &Run, name: &str, named: NamedBy) -> Result<()> {
    let plan = &run.header.plan;
    match named {
        NamedBy::FromRun if plan.traffic.server().is_some() => Err(Error::input(
            "run-of-another-kind",
            format!("the run \"{name}\" is of a server that is not zc's, in states of it"),
        )
        .help("--server-run takes its costs")),
        NamedBy::ServerRun if plan.traffic.responses().is_some() => Err(Error::input(
            "run-of-another-kind",
            format!("the run \"{name}\" is of zc's own server, by its send paths"),
        )
        .help("--from-run takes its costs")),
        NamedBy::ServerRun if plan.traffic.server().is_none() => {
            Err(Error::input("run-of-another-kind", format!("the run \"{name}\" is of no server"))
                .help(MEASURES_A_SERVER))
        }
        NamedBy::FromRun | NamedBy::ServerRun => Ok(()),
    }
}

const MEASURES: &str = "zc run requests measures them";

/// Hint where a run of a server is needed.
const MEASURES_A_SERVER: &str = "zc run server measures them, with a state for each length and \
                                 configuration: --state off-4k=http://localhost:8001/4k --state \
                                 off-64k=http://localhost:8001/64k ...";

fn refused(unfit: Unfit, run: &Run, name: &str, today: Option<&str>) -> Error {
    let is_server = run.header.plan.traffic.server().is_some();
    match unfit {
        Unfit::NoResponses => {
            Error::input("run-of-another-kind", format!("the run \"{name}\" has no costs of responses")).help(MEASURES)
        }
        Unfit::OneLength if is_server => Error::input("run-lengths-missing", format!(
            "no configuration of the run \"{name}\" has responses of several lengths, and requests \
             are of many"
        ))
        .help(MEASURES_A_SERVER),
        Unfit::OneLength => Error::input("run-lengths-missing", format!(
            "the run \"{name}\" has responses of one length only, and requests are of many"
        ))
        .help(MEASURES),
        Unfit::SameLength([one, other]) => Error::input("states-ask-the-same", format!(
            "states {} and {} of the run \"{name}\" ask one address for responses of the same \
             length",
            zc_run::escape(&one, 40),
            zc_run::escape(&other, 40)
        ))
        .help(
            "states that ask one address are lengths of one configuration of the server: measure \
             another configuration at another host or port",
        ),
        Unfit::NoCosts => Error::input("run-without-cost", format!(
            "the run \"{name}\" has no cost of the {} that is used today: none of its blocks \
             counts, or a length is missing",
            if is_server { "configuration" } else { "path" }
        ))
        .help(match is_server {
            true => "zc show prints what it has; zc run server measures again",
            false => "zc show prints what it has; zc run requests measures again",
        }),
        Unfit::NoSuchPath(paths) => {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let what = if is_server { "configuration" } else { "path" };
            let mut error = unknown_among(what, today.unwrap_or_default(), &paths);
            error.message = format!("--today: {}", error.message);
            error
        }
        Unfit::Tls(unfit) => advise_tls::refused(unfit, name, None),
        Unfit::NoBytes => Error::usage(
            "rate-in-bits",
            "--rate: no response of the log has a byte, so bits per \
                                        second are no rate of its requests",
        )
        .help("requests per second, as in 2000/s"),
    }
}
