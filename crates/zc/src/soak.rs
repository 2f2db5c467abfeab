//! `zc soak`: the soakers alone. Live, around a command, for a running service, or checked with
//! known loads.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::ops::ControlFlow;

use clap::ValueHint;
use serde_json::json;

use super::soak_command::{self, OfCommandArgs, line, stood_still};
use super::soak_service::{self, OfServiceArgs};
use super::{interrupt, soak_meter, tell};
use zc_analysis::soak::{load, paces, taken_share, verified};
use zc_report::soak as report;
use zc_run::{Error, Result, SoakStart, SoakerKind, in_words, units};
use zc_soak::{Heard, LiveOptions, Soaked, VerifyOptions, live, verify};

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

/// Arguments of `zc soak`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("bounded").args(["command", "verify"]))]
#[command(group = clap::ArgGroup::new("running").args(["service", "container", "cgroup", "pid"]))]
#[command(group = clap::ArgGroup::new("lasting").args(["for_", "openmetrics"]))]
#[command(group = clap::ArgGroup::new("costing")
    .args(["command", "service", "container", "cgroup", "pid"]))]
pub(super) struct SoakArgs {
    /// A command and its arguments, after `--`: what it costs the whole machine
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
    #[command(flatten)]
    of_service: OfServiceArgs,
    /// Check the soakers with known loads
    #[arg(long, conflicts_with_all = ["command", "running"])]
    verify: bool,
    /// Length of a window of live load, or of a service
    #[arg(long, value_name = "DURATION", default_value = "1s", allow_hyphen_values = true,
          conflicts_with_all = ["command", "verify", "openmetrics"])]
    period: String,
    /// Stop after this many lines of live load [default: at Ctrl-C]
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        conflicts_with_all = ["command", "verify", "running"],
    )]
    count: Option<String>,
    /// Time for --verify [default: 35s], or in which a command is executed again [default: 30s]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, requires = "bounded")]
    budget: Option<String>,
    #[command(flatten)]
    of_command: OfCommandArgs,
    /// CPUs that get a soaker, as in 0,2-5 [default: all that may be used]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    cpus: Option<String>,
    /// What the soakers use: alu measures CPU time, cache also memory bandwidth
    #[arg(long, value_name = "KIND", default_value = "alu", allow_hyphen_values = true)]
    soaker: String,
    /// Print JSON: a document, or a line of it for each window of live load
    #[arg(long)]
    json: bool,
}

impl SoakArgs {
    /// Whether a command of the user is started.
    pub(super) fn starts_a_command(&self) -> bool {
        !self.command.is_empty()
    }
}

/// Soaks, and returns the exit code: 0, or that of the command.
///
/// # Errors
/// The soakers cannot be started, or a measurement failed. Around a command, errors are printed
/// there, and the exit code says what kind it was.
pub(super) fn run(args: &SoakArgs) -> Result<u8> {
    let soaked = Soaked {
        cpus: args.cpus.as_deref().map(cpu_list).transpose()?,
        kind: args.soaker.parse::<SoakerKind>().map_err(|unknown| {
            Error::usage("unknown-soaker", unknown.to_string())
                .help(format!("soakers are: {}", unknown.known.join(", ")))
        })?,
    };
    if !args.command.is_empty() {
        let shared = soak_command::Shared { budget: args.budget.as_deref(), json: args.json };
        return soak_command::run(&args.command, &args.of_command, shared, soaked);
    }
    if let Some(who) = args.of_service.who()? {
        let (status, typed) = (args.of_command.status_url()?, &args.of_service);
        let stop = interrupt::flag()?;
        if let Some(file) = &typed.openmetrics {
            return soak_meter::run(who, typed, file, status, soaked, &stop).map(|()| 0);
        }
        let shared = soak_service::Shared {
            period: &args.period,
            per: args.of_command.per(),
            json: args.json,
            raw: args.of_command.raw(),
            status,
        };
        return soak_service::run(who, typed, shared, soaked, &stop).map(|()| 0);
    }
    if args.verify {
        return hold_against_known_loads(args, soaked).map(|()| 0);
    }
    watch(args, soaked).map(|()| 0)
}

fn watch(args: &SoakArgs, soaked: Soaked) -> Result<()> {
    let options = LiveOptions {
        soaked,
        period_ns: units::duration(&args.period, 10 * MS..=3600 * S)?,
        count: args
            .count
            .as_deref()
            .map(|count| units::count("count", count, 1..=u64::MAX))
            .transpose()?,
    };
    let stop = interrupt::flag()?;
    // The windows before the first one, which show how fast the soakers count when idle.
    let mut known: Option<(SoakStart, Vec<f64>)> = None;
    let mut failed = None;
    let mut hear = |heard: Heard<'_>| {
        let text = match heard {
            Heard::Start(start) => {
                let Some(rates) = paces(start) else {
                    failed = Some(stood_still(start));
                    return ControlFlow::Break(());
                };
                begin(start, &rates);
                known = Some((start.clone(), rates.clone()));
                if args.json {
                    let taken = start.taken.as_ref().and_then(|taken| taken_share(taken, &rates));
                    line(&json!({ "start": start, "taken": taken }))
                } else {
                    report::live_heading(start)
                }
            }
            Heard::Window(window) => {
                let Some((start, rates)) = &known else { return ControlFlow::Break(()) };
                let Some(load) = load(window, rates) else { return ControlFlow::Continue(()) };
                let calibrated_ns = start.idle.last().map_or(0, |last| last.closed.soak.at_ns);
                let age_ns = window.closed.soak.at_ns.saturating_sub(calibrated_ns);
                if args.json {
                    line(&json!({ "calibrated_ns_ago": age_ns, "load": load, "window": window }))
                } else {
                    report::live_line(start, &load, age_ns)
                }
            }
        };
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) => ControlFlow::Continue(()),
            // The reader of stdout has gone, which is not an error.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ControlFlow::Break(()),
            Err(error) => {
                failed = Some(Error::output(
                    "cannot-write-stdout",
                    format!("cannot write to stdout: {}", in_words(&error)),
                ));
                ControlFlow::Break(())
            }
        }
    };
    live(&options, &stop, &mut hear)?;
    failed.map_or(Ok(()), Err)
}

fn hold_against_known_loads(args: &SoakArgs, soaked: Soaked) -> Result<()> {
    let budget = args.budget.as_deref().unwrap_or("35s");
    let options = VerifyOptions { soaked, budget_ns: units::duration(budget, S..=3600 * S)? };
    let stop = interrupt::flag()?;
    let mut round = |done: usize, of: usize| tell::note(&format!("round {done} of {of}"));
    let seen = verify(&options, &stop, &mut round)?;
    let verified = verified(&seen);
    tell::result(&if args.json {
        line(&json!({ "verified": verified, "seen": seen }))
    } else {
        report::verify(&seen, &verified)
    })
}

/// Prints what is known before the first window, on stderr.
fn begin(start: &SoakStart, rates: &[f64]) {
    let taken = start.taken.as_ref().and_then(|taken| taken_share(taken, rates));
    tell::note(report::start(start, taken).trim_end());
}

/// Parses a list of CPUs: `0,2-5`.
fn cpu_list(text: &str) -> Result<Vec<usize>> {
    let cpu = |text: &str| units::count("CPU", text, 0..=1_000_000).map(|cpu| cpu as usize);
    let mut cpus = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            Some((first, last)) if !first.is_empty() => {
                let (first, last) = (cpu(first)?, cpu(last)?);
                if first > last {
                    return Err(Error::usage(
                        "invalid-cpus",
                        format!("the CPUs \"{part}\" are in the wrong order"),
                    )
                    .help(format!("write {last}-{first}")));
                }
                cpus.extend(first..=last);
            }
            _ => cpus.push(cpu(part)?),
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::ErrorKind;

    #[test]
    fn lists_of_cpus_are_read_as_the_kernel_writes_them() {
        assert_eq!(cpu_list("0").unwrap(), [0]);
        assert_eq!(cpu_list("4-6,0,5").unwrap(), [0, 4, 5, 6]);
        for wrong in ["", "-1", "1-", "3-2", "a", "0,,1", "1.5", "99999999999"] {
            let error = cpu_list(wrong).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Usage, "{wrong}");
            assert!(error.help.is_some(), "{wrong}");
        }
    }
}
