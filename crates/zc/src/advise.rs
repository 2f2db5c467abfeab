//! `zc advise LOG...`: what access logs have, and what their requests would cost here by each send
//! path.
//!
//! Logs hold what strangers asked for. They are opened here, and read in a process without rights.

use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use clap::ValueHint;

use super::advise_costs::{self, CostArgs, Question};
use super::apart::{self, Document};
use super::format::WidthArgs;
use super::known::typed;
use super::log_input::LogInput;
use super::{log_format, render, replace, tell};
use zc_access_log::{
    Collect, DurationUnit, Entry, Format, LogSummary, MixBuilder, Stamp, Unusable, read_log,
};
use zc_report::advise::{Advice, AdvisedLog, json, text};
use zc_report::{Layout, advice_page};
use zc_run::{Error, ErrorKind, Result, escape};

/// Prefix of its options about formats.
const OPTIONS: &str = "";

/// Arguments of `zc advise`.
#[derive(Debug, clap::Args)]
pub(super) struct AdviseArgs {
    /// Access logs, in any order, compressed with gzip or zstd or not; - is stdin
    #[arg(value_name = "LOG", required_unless_present = "hosts", value_hint = ValueHint::FilePath)]
    logs: Vec<PathBuf>,
    /// A log of this host, instead of LOG; again for its other logs, and for other hosts. Each host
    /// is a row, and all of them are added up
    #[arg(long = "host", value_name = "NAME=LOG", allow_hyphen_values = true,
          conflicts_with = "logs", value_parser = typed(host_log))]
    hosts: Vec<HostLog>,
    /// The format of all of them: a name, as combined or caddy, an nginx log_format
    /// ('$remote_addr ...') or an Apache LogFormat ('%h %l ...') [default: told by the first lines]
    #[arg(long, value_name = "FORMAT", allow_hyphen_values = true)]
    format: Option<String>,
    /// Of JSON lines, the key of something, as in bytes=resp_size or method=request.verb
    #[arg(long, value_name = "WHAT=KEY")]
    field: Vec<String>,
    #[command(flatten)]
    costs: CostArgs,
    /// Print one JSON document instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    width: WidthArgs,
    /// Write a page of HTML; an older file is replaced once it is complete
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath,
          conflicts_with = "json", help_heading = "Output")]
    out: Option<PathBuf>,
}

/// A log of a host that was named.
#[derive(Debug, Clone)]
struct HostLog {
    host: String,
    log: PathBuf,
}

/// `web1=access.log`.
fn host_log(text: &str) -> Result<HostLog> {
    /// Most characters of a name.
    const LONGEST: usize = 64;
    let wrong = |why: &str| {
        let message = format!("\"{}\" {why}", escape(text, 80));
        Error::usage("invalid-host", message)
            .help("a name and a log of that host, as in web1=/var/log/web1/access.log")
    };
    let (host, log) = text.split_once('=').ok_or_else(|| wrong("has no log"))?;
    if host.is_empty() || log.is_empty() {
        return Err(wrong(if host.is_empty() { "names no host" } else { "has no log" }));
    }
    if host.chars().count() > LONGEST || host.chars().any(|c| c.is_control() || c == '/') {
        return Err(wrong("has no name of a host before the ="));
    }
    Ok(HostLog { host: host.to_owned(), log: PathBuf::from(log) })
}

impl AdviseArgs {
    /// All logs, each with its host if hosts were named.
    fn named_logs(&self) -> impl Iterator<Item = (Option<&str>, &Path)> {
        let alone = self.logs.iter().map(|log| (None, log.as_path()));
        alone.chain(self.hosts.iter().map(|it| (Some(it.host.as_str()), it.log.as_path())))
    }
}

/// Reads the logs, and prints their requests and the costs.
///
/// # Errors
/// - [`ErrorKind::Usage`](zc_run::ErrorKind): an option is not valid.
/// - [`ErrorKind::Input`](zc_run::ErrorKind): a log cannot be read, is of no known format or not of
///   the one that was named, or all are empty; the run has no costs of responses.
/// - [`ErrorKind::Output`](zc_run::ErrorKind): the page cannot be written.
/// - What `zc run` fails with, where costs are measured.
pub(super) fn run(args: &AdviseArgs) -> Result<()> {
    let format = log_format::parse(args.format.as_deref(), &args.field, OPTIONS)?;
    let question = (!args.costs.no_costs).then(|| Question::from_args(&args.costs)).transpose()?;
    if args.named_logs().filter(|(_, log)| *log == Path::new("-")).count() > 1 {
        return Err(
            Error::usage("stdin-twice", "stdin (-) is named twice").help("it can be read once")
        );
    }
    if let Some(out) = &args.out {
        check(out, args)?;
    }
    let inputs: Vec<(Option<&str>, LogInput)> = args
        .named_logs()
        .map(|(host, log)| Ok((host, LogInput::open(log)?)))
        .collect::<Result<_>>()?;
    let mut without_costs = None;
    let costs = match question {
        None => None,
        Some(question) => {
            let begins_well = || begins_well(args, format.as_ref());
            match advise_costs::sources(&args.costs, begins_well) {
                Ok(sources) => Some((question, sources)),
                // The machine was too busy for costs. What the logs have can be told all the same.
                Err(error) if error.kind == ErrorKind::NothingKept => {
                    without_costs = Some(error);
                    None
                }
                Err(error) => return Err(error),
            }
        }
    };
    // Not in the process without rights, which may not see the terminal.
    let layout = Layout::plain(render::columns(args.width).min(100));
    let document = apart::document(|| {
        let mut advice = advice(inputs, format.as_ref())?;
        if let Some((question, sources)) = costs {
            advice.costs = Some(question.costs(sources, &advice)?);
        }
        Ok(Document::from(match args {
            AdviseArgs { out: Some(_), .. } => advice_page(&advice),
            AdviseArgs { json: true, .. } => json(&advice),
            _ => text(&advice, layout),
        }))
    })?;
    replace::or_stdout(args.out.as_deref(), &document.bytes)?;
    without_costs.map_or(Ok(()), Err)
}

/// Checks that a page may replace what is at `out`, before anything is read.
fn check(out: &Path, args: &AdviseArgs) -> Result<()> {
    if let Some(log) = args.named_logs().map(|(_, log)| log).find(|log| replace::is_same(log, out))
    {
        return Err(Error::usage(
            "output-is-input",
            format!(
                "\"{}\" is one of the logs (\"{}\"): the page would take its place",
                tell::path(out),
                tell::path(log)
            ),
        )
        .help("choose another name with -o"));
    }
    replace::check(out)
}

/// Reads the beginning of logs that are files, before a minute is spent on measuring: what cannot
/// be read at all is found now.
fn begins_well(args: &AdviseArgs, format: Option<&Format>) -> Result<()> {
    /// Enough to tell the format by.
    const BEGINNING_BYTES: u64 = 1 << 20;
    /// With fewer lines, a named format may fit what comes later.
    const LINES: u64 = 100;
    // A pipe can be read once.
    let files = args.named_logs().map(|(_, log)| log).filter(|log| log.is_file());
    let inputs = files.map(LogInput::open).collect::<Result<Vec<_>>>()?;
    let read = || {
        for input in inputs {
            let name = input.name.clone();
            let beginning = BufReader::new(input.read()?.0.take(BEGINNING_BYTES));
            match read_log(beginning, format.cloned(), &mut MixBuilder::default()) {
                Err(Unusable::DoesNotFit(summary)) if summary.lines < LINES => {}
                Ok(_) | Err(Unusable::Empty) => {}
                Err(unusable) => return Err(log_format::refused(&name, unusable, OPTIONS)),
            }
        }
        Ok(Document::from(String::new()))
    };
    apart::document(read).map(|_| ())
}

/// Counts the entries of a log in all of them, and in those of its host.
struct Both<'m> {
    all: &'m mut MixBuilder,
    of_host: Option<&'m mut MixBuilder>,
}

impl Collect for Both<'_> {
    fn add(&mut self, entry: &Entry, stamp: Stamp) {
        self.all.add(entry, stamp);
        if let Some(host) = &mut self.of_host {
            host.add(entry, stamp);
        }
    }
}

/// Reads the logs, and says on stderr what was wrong with them.
fn advice(inputs: Vec<(Option<&str>, LogInput)>, format: Option<&Format>) -> Result<Advice> {
    let mut mix = MixBuilder::default();
    let mut hosts: Vec<(&str, MixBuilder)> = Vec::new();
    let mut logs = Vec::new();
    let mut empty = None;
    for (host, input) in inputs {
        let name = input.name.clone();
        let (text, compression) = input.read()?;
        let of_host = host.map(|host| {
            let place = hosts.iter().position(|(known, _)| *known == host).unwrap_or(hosts.len());
            if place == hosts.len() {
                hosts.push((host, MixBuilder::default()));
            }
            &mut hosts[place].1
        });
        match read_log(text, format.cloned(), &mut Both { all: &mut mix, of_host }) {
            Ok(summary) => {
                log_format::say(&name, &summary, OPTIONS);
                let LogSummary {
                    format,
                    lines,
                    requests,
                    unreadable,
                    is_cut,
                    broken,
                    durations,
                    ..
                } = summary;
                logs.push(AdvisedLog {
                    log: name,
                    host: host.map(str::to_owned),
                    format,
                    compression: compression.map(|compression| compression.name()),
                    lines,
                    requests,
                    unreadable,
                    is_cut: is_cut || broken.is_some(),
                    duration_unit: match durations {
                        DurationUnit::Found(unit) => Some(unit),
                        DurationUnit::OfFormat | DurationUnit::Doubtful => None,
                    },
                    has_doubtful_durations: durations == DurationUnit::Doubtful,
                });
            }
            // A log that was rotated a moment ago is no reason to refuse the others.
            Err(Unusable::Empty) => empty = empty.or(Some(name)),
            Err(unusable) => return Err(log_format::refused(&name, unusable, OPTIONS)),
        }
    }
    match (mix.finish(), empty) {
        (Some(mix), empty) => {
            if let Some(empty) = empty {
                tell::warning(&format!("the log \"{empty}\" has no requests"), None);
            }
            let mut host_mixes = Vec::new();
            for (host, mix) in hosts {
                match mix.finish() {
                    Some(mix) => host_mixes.push((host.to_owned(), mix)),
                    None => {
                        let host = escape(host, 64);
                        tell::warning(&format!("the host \"{host}\" has no requests"), None);
                    }
                }
            }
            Ok(Advice { logs, mix, host_mixes, costs: None })
        }
        (None, empty) => Err(Error::input(
            "empty-log",
            format!("the log \"{}\" has no requests", empty.unwrap_or_default()),
        )
        .help("is it the one that the server writes? it may have been rotated a moment ago")),
    }
}
