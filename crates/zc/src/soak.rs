//! `zc soak`: the soakers alone. Live, around a command, or checked with known loads.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::ValueHint;
use serde_json::json;

use super::result_file::ResultFile;
use super::{interrupt, tell};
use zc_analysis::soak::{command_cost, load, not_quiet, paces, taken_share, verified};
use zc_measure::session::soak::{
    CommandFault, CommandOptions, Heard, LiveOptions, Soaked, VerifyOptions, command, live, verify,
};
use zc_report::soak as report;
use zc_run::{CommandEnd, Error, Result, SoakCommand, SoakStart, SoakerKind, in_words, units};

/// The exit codes of env(1), nohup(1) and timeout(1): zc itself failed, the command cannot be run,
/// there is no such command.
pub(super) const OWN_FAILURE: u8 = 125;
pub(super) const NOT_EXECUTABLE: u8 = 126;
pub(super) const NOT_FOUND: u8 = 127;

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

/// Arguments of `zc soak`.
#[derive(Debug, clap::Args)]
pub(super) struct SoakArgs {
    /// A command and its arguments, after `--`: what it costs the whole machine
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
    /// Check the soakers with known loads
    #[arg(long, conflicts_with = "command")]
    verify: bool,
    /// Length of a window of live load
    #[arg(long, value_name = "DURATION", default_value = "1s", allow_hyphen_values = true,
          conflicts_with_all = ["command", "verify"])]
    period: String,
    /// Stop after this many lines of live load [default: at Ctrl-C]
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        conflicts_with_all = ["command", "verify"],
    )]
    count: Option<String>,
    /// Time for --verify
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "35s",
        allow_hyphen_values = true,
        requires = "verify"
    )]
    budget: String,
    /// CPUs that get a soaker, as in 0,2-5 [default: all that may be used]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    cpus: Option<String>,
    /// What the soakers use: alu measures CPU time, cache also memory bandwidth
    #[arg(long, value_name = "KIND", default_value = "alu", allow_hyphen_values = true)]
    soaker: String,
    /// Print JSON: a document, or a line of it for each window of live load
    #[arg(long)]
    json: bool,
    /// Write the result of a command to this file, which must not exist, instead of stderr
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "command")]
    output: Option<PathBuf>,
}

/// Soaks, and returns the exit code: 0, or that of the command.
///
/// # Errors
/// The soakers cannot be started, or a measurement failed. Around a command, errors are printed
/// here and the exit code is [`OWN_FAILURE`].
pub(super) fn run(args: &SoakArgs) -> Result<u8> {
    let soaked = Soaked {
        cpus: args.cpus.as_deref().map(cpu_list).transpose()?,
        kind: args.soaker.parse::<SoakerKind>().map_err(|unknown| {
            Error::usage(unknown.to_string())
                .help(format!("soakers are: {}", unknown.known.join(", ")))
        })?,
    };
    if !args.command.is_empty() {
        return Ok(around_command(args, soaked).unwrap_or_else(|error| {
            tell::error(&error);
            OWN_FAILURE
        }));
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
                    failed = Some(stood_still());
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
                failed =
                    Some(Error::output(format!("cannot write to stdout: {}", in_words(&error))));
                ControlFlow::Break(())
            }
        }
    };
    live(&options, &stop, &mut hear)?;
    failed.map_or(Ok(()), Err)
}

fn around_command(args: &SoakArgs, soaked: Soaked) -> Result<u8> {
    // Checked before the command runs.
    let output = args.output.as_deref().map(ResultFile::create).transpose()?;
    let seen = match command(&CommandOptions { soaked, command: args.command.clone() }) {
        Ok(seen) => seen,
        Err(CommandFault::NotRun { found, error }) => {
            tell::error(&error);
            return Ok(if found { NOT_EXECUTABLE } else { NOT_FOUND });
        }
        Err(CommandFault::NotStarted(error)) => return Err(error),
        Err(CommandFault::NotMeasured { end, error }) => {
            return Ok(unmeasured(end, &error));
        }
    };
    let told = cost_of(args, &seen).and_then(|text| match output {
        Some(file) => file.write(&text),
        None => {
            tell::note(text.trim_end());
            Ok(())
        }
    });
    Ok(told.map_or_else(|error| unmeasured(seen.end, &error), |()| exit_code(seen.end)))
}

/// The exit code of a command whose result is missing: its own, unless that means success.
fn unmeasured(end: CommandEnd, error: &Error) -> u8 {
    tell::error(error);
    match exit_code(end) {
        0 => OWN_FAILURE,
        code => code,
    }
}

/// The result of a command as text.
fn cost_of(args: &SoakArgs, seen: &SoakCommand) -> Result<String> {
    let rates = paces(&seen.start).ok_or_else(stood_still)?;
    let cost = command_cost(seen).ok_or_else(stood_still)?;
    let taken = seen.start.taken.as_ref().and_then(|taken| taken_share(taken, &rates));
    let warning = not_quiet(&seen.start);
    if args.json {
        return Ok(line(
            &json!({ "cost": cost, "taken": taken, "warnings": warning, "seen": seen }),
        ));
    }
    if let Some(warning) = warning {
        tell::warning(&warning.text, warning.remedy.as_deref());
    }
    Ok(report::command(seen, &cost) + &report::start(&seen.start, taken))
}

fn hold_against_known_loads(args: &SoakArgs, soaked: Soaked) -> Result<()> {
    let options = VerifyOptions { soaked, budget_ns: units::duration(&args.budget, S..=3600 * S)? };
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

/// What is known before the first window, on stderr.
fn begin(start: &SoakStart, rates: &[f64]) {
    let taken = start.taken.as_ref().and_then(|taken| taken_share(taken, rates));
    tell::note(report::start(start, taken).trim_end());
}

fn stood_still() -> Error {
    Error::failed("a soaker got no CPU time while its rate was taken")
        .help("something of higher rank keeps its CPU busy; choose other CPUs with --cpus")
}

fn line(document: &serde_json::Value) -> String {
    format!("{document}\n")
}

fn exit_code(end: CommandEnd) -> u8 {
    match end {
        CommandEnd::Exited { code } => code as u8, // wait(2) has no more than these 8 bits
        CommandEnd::Killed { signal } => 128_u8.wrapping_add(signal as u8), // signals go to 64
    }
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
                    return Err(Error::usage(format!(
                        "the CPUs \"{part}\" are in the wrong order"
                    ))
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

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!(exit_code(CommandEnd::Exited { code: 255 }), 255);
        assert_eq!(exit_code(CommandEnd::Killed { signal: 9 }), 137);
    }
}
