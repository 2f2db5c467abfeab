//! `zc advise LOG...`: what access logs have, and what their requests would cost here by each send
//! path.
//!
//! Logs hold what strangers asked for. They are opened here, and read in a process without rights.

use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use clap::ValueHint;

use super::advise_costs::{self, CostArgs, Question};
use super::apart::{self, Document};
use super::log_input::{LogInput, cannot_read};
use super::{render, replace, tell};
use zc_access_log::{
    Fields, Format, KNOWN, LogSummary, MixBuilder, UnreadableLine, Unusable, read_log,
};
use zc_report::advise::{Advice, AdvisedLog, json, text};
use zc_report::{Layout, advice_page};
use zc_run::nearest::unknown_among;
use zc_run::{Error, ErrorKind, Result, escape, in_words};

/// The share of lines that may be unreadable without a warning.
const MOST_UNREADABLE: f64 = 0.01;

/// How much is shown of a line, in characters.
const SHOWN: usize = 80;

/// Arguments of `zc advise`.
#[derive(Debug, clap::Args)]
pub(super) struct AdviseArgs {
    /// Access logs, in any order, compressed with gzip or zstd or not; - is stdin
    #[arg(value_name = "LOG", required = true, value_hint = ValueHint::FilePath)]
    logs: Vec<PathBuf>,
    /// The format of all of them: a name, as combined or caddy, an nginx log_format
    /// ('$remote_addr ...') or an Apache LogFormat ('%h %l ...') [default: told by the first lines]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Of JSON lines, the key of something, as in bytes=resp_size or method=request.verb
    #[arg(long, value_name = "WHAT=KEY")]
    field: Vec<String>,
    #[command(flatten)]
    costs: CostArgs,
    /// Print one JSON document instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Write a page of HTML; an older file is replaced once it is complete
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath,
          conflicts_with = "json", help_heading = "Output")]
    out: Option<PathBuf>,
}

/// Reads the logs, and prints what they have and what it costs.
///
/// # Errors
/// - [`ErrorKind::Usage`](zc_run::ErrorKind): an option is not valid.
/// - [`ErrorKind::Input`](zc_run::ErrorKind): a log cannot be read, is of no known format or not of
///   the one that was named, or all are empty; the run has no costs of responses.
/// - [`ErrorKind::Output`](zc_run::ErrorKind): the page cannot be written.
/// - What `zc run` fails with, where costs are measured.
pub(super) fn run(args: &AdviseArgs) -> Result<()> {
    let format = format(args)?;
    let question = (!args.costs.no_costs).then(|| Question::of(&args.costs)).transpose()?;
    if args.logs.iter().filter(|log| *log == Path::new("-")).count() > 1 {
        return Err(Error::usage("stdin (-) is named twice").help("it can be read once"));
    }
    if let Some(out) = &args.out {
        check(out, args)?;
    }
    let inputs = args.logs.iter().map(|log| LogInput::open(log)).collect::<Result<Vec<_>>>()?;
    let mut without_costs = None;
    let costs = match question {
        None => None,
        Some(question) => {
            let begins_well = || begins_well(args, format.as_ref());
            match advise_costs::source(&args.costs, begins_well) {
                Ok(source) => Some((question, source)),
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
    let layout = Layout::plain(render::columns().min(100));
    let document = apart::document(|| {
        let mut advice = advice(inputs, format.as_ref())?;
        if let Some((question, source)) = costs {
            advice.costs = Some(question.costs(source, &advice.mix)?);
        }
        Ok(Document::from(match args {
            AdviseArgs { out: Some(_), .. } => advice_page(&advice),
            AdviseArgs { json: true, .. } => json(&advice),
            _ => text(&advice, layout),
        }))
    })?;
    replace::or_stdout(args.out.as_deref(), &document.text)?;
    without_costs.map_or(Ok(()), Err)
}

/// Checks that a page may replace what is at `out`, before anything is read.
fn check(out: &Path, args: &AdviseArgs) -> Result<()> {
    if let Some(log) = args.logs.iter().find(|log| replace::is_same(log, out)) {
        return Err(Error::usage(format!(
            "\"{}\" is one of the logs (\"{}\"): the page would take its place",
            tell::path(out),
            tell::path(log)
        ))
        .help("choose another name with -o"));
    }
    replace::check(out)
}

/// Reads the beginning of logs that are files, before a minute is spent on measuring: what cannot be
/// read at all is found now.
fn begins_well(args: &AdviseArgs, format: Option<&Format>) -> Result<()> {
    /// Enough to tell the format by.
    const BEGINNING_BYTES: u64 = 1 << 20;
    /// With fewer lines, a named format may fit what comes later.
    const LINES: u64 = 100;
    // A pipe can be read once.
    let files = args.logs.iter().filter(|log| log.is_file());
    let inputs = files.map(|log| LogInput::open(log)).collect::<Result<Vec<_>>>()?;
    let read = || {
        for input in inputs {
            let name = input.name.clone();
            let beginning = BufReader::new(input.read()?.0.take(BEGINNING_BYTES));
            match read_log(beginning, format.cloned(), &mut MixBuilder::default()) {
                Err(Unusable::DoesNotFit(summary)) if summary.lines < LINES => {}
                Ok(_) | Err(Unusable::Empty) => {}
                Err(unusable) => return Err(refused(&name, unusable)),
            }
        }
        Ok(Document::from(String::new()))
    };
    apart::document(read).map(|_| ())
}

/// The format that was named; `None` if it is to be told by the first lines.
fn format(args: &AdviseArgs) -> Result<Option<Format>> {
    let mut fields = Fields::default();
    for field in &args.field {
        if !fields.add(field) {
            let words: Vec<_> = Fields::words().collect();
            let message = format!("--field: \"{}\" is not of the form WHAT=KEY", escape(field, 80));
            return Err(Error::usage(message).help(format!("WHAT is one of {}", words.join(", "))));
        }
    }
    let format = args.format.as_deref().map(named).transpose()?;
    if fields.is_empty() {
        return Ok(format);
    }
    let format = format.or_else(|| Format::named("json"));
    let Some(format) = format.and_then(|format| format.with_fields(&fields)) else {
        return Err(Error::usage("--field is for JSON lines, and --format is something else")
            .help("a log_format or LogFormat names its fields itself"));
    };
    Ok(Some(format))
}

/// A name, or a description of a format.
fn named(text: &str) -> Result<Format> {
    if let Some(format) = Format::named(text) {
        return Ok(format);
    }
    match Format::described(text) {
        Some(Ok(format)) => Ok(format),
        Some(Err(error)) => {
            let message = format!("--format: the format \"{}\" {error}", escape(text, 200));
            Err(Error::usage(message).help(
                "it is what stands behind the name in nginx's log_format, or what Apache's \
                 LogFormat has; time, request, status and bytes must be in it",
            ))
        }
        None => {
            let names: Vec<_> = KNOWN.iter().map(|known| known.name).collect();
            Err(unknown_among("format", text, &names))
        }
    }
}

/// Reads the logs, and says on stderr what was wrong with them.
fn advice(inputs: Vec<LogInput>, format: Option<&Format>) -> Result<Advice> {
    let mut mix = MixBuilder::default();
    let mut logs = Vec::new();
    let mut empty = None;
    for input in inputs {
        let name = input.name.clone();
        let (text, compression) = input.read()?;
        match read_log(text, format.cloned(), &mut mix) {
            Ok(summary) => {
                say(&name, &summary);
                let LogSummary { format, lines, requests, unreadable, is_cut, broken, .. } =
                    summary;
                logs.push(AdvisedLog {
                    log: name,
                    format,
                    compression: compression.map(|compression| compression.name()),
                    lines,
                    requests,
                    unreadable,
                    is_cut: is_cut || broken.is_some(),
                });
            }
            // A log that was rotated a moment ago is no reason to refuse the others.
            Err(Unusable::Empty) => empty = empty.or(Some(name)),
            Err(unusable) => return Err(refused(&name, unusable)),
        }
    }
    match (mix.finish(), empty) {
        (Some(mix), empty) => {
            if let Some(empty) = empty {
                tell::warning(&format!("the log \"{empty}\" has no requests"), None);
            }
            Ok(Advice { logs, mix, costs: None })
        }
        (None, empty) => {
            Err(Error::input(format!("the log \"{}\" has no requests", empty.unwrap_or_default()))
                .help(
                    "is it the one that the server writes? it may have been rotated a moment ago",
                ))
        }
    }
}

/// Says what could not be read of a log.
fn say(name: &str, summary: &LogSummary) {
    let LogSummary { format, lines, unreadable, is_cut, broken, .. } = summary;
    if *unreadable > 0 {
        let share = *unreadable as f64 / *lines as f64;
        let message = format!(
            "{unreadable} of {lines} lines of \"{name}\" ({:.2} %) cannot be read as {format}",
            100.0 * share
        );
        if share > MOST_UNREADABLE {
            tell::warning(&message, Some("is it of another format? --format names it"));
        } else {
            tell::note(&message);
        }
        show(name, &summary.first_unreadable);
    }
    if let Some(error) = broken {
        let message = format!("the log \"{name}\" cannot be read to its end: {}", in_words(error));
        tell::warning(&message, Some("what comes before is counted"));
    } else if *is_cut {
        let message = format!("the last line of \"{name}\" has no end, and is not counted");
        tell::note(&message);
    }
}

/// The first lines that could not be read. They may have what is personal, so they are shown to whoever
/// reads the log and are in no document.
fn show(name: &str, lines: &[UnreadableLine]) {
    for UnreadableLine { number, text } in lines {
        tell::note(&format!("{name}:{number}: {}", escape(text, SHOWN)));
    }
}

fn refused(name: &str, unusable: Unusable) -> Error {
    match unusable {
        Unusable::Io(error) => cannot_read(name, &in_words(&error)),
        Unusable::Empty => cannot_read(name, "it is empty"),
        Unusable::Unknown => {
            let names: Vec<_> = KNOWN.iter().map(|known| known.name).collect();
            Error::input(format!("the log \"{name}\" is of no format that zc knows")).help(format!(
                "--format takes a log_format of nginx or a LogFormat of Apache, --field a key of \
                 JSON lines; known are {}",
                names.join(", ")
            ))
        }
        Unusable::DoesNotFit(summary) => {
            show(name, &summary.first_unreadable);
            let message = format!(
                "no line of the log \"{name}\" can be read as {}: {} were tried",
                summary.format, summary.lines
            );
            Error::input(message).help("without --format it is told by the first lines")
        }
        Unusable::Ambiguous(names) => {
            Error::input(format!("the log \"{name}\" could be {}", names.join(" or ")))
                .help(format!("name it: --format {}", names.first().unwrap_or(&"FORMAT")))
        }
        Unusable::Lacks { format, column } => Error::input(format!(
            "the log \"{name}\" ({format}) has no column {column}"
        ))
        .help("add it to the fields that the server logs; what it has sent is not known without"),
    }
}
