//! `zc trend DIR`: the same measurements over nights, from an archive of saved runs. With
//! `--fail-if-worse` the exit code is the answer (docs/exit-codes.md).

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::fleet::{FleetForm, Form, archive_found};
use super::grouping::{GroupingArgs, of_one_experiment, refused};
use super::{apart, archive, read, tell};
use zc_analysis::fleet::{Event, Trend, trend};
use zc_fleet::files::Whose;
use zc_run::{Error, ErrorKind, Result, escape, units};

/// The exit code of `--fail-if-worse` where a line is worse.
const WORSE: u8 = 1;

/// The largest file of events.
const LARGEST_BYTES: u64 = 1 << 20;

/// Arguments of `zc trend`.
#[derive(Debug, Args)]
pub(super) struct TrendArgs {
    /// An archive: a folder of saved runs, as zc fleet collect fills it
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    archive: PathBuf,
    /// What happened when: lines of a day and a few words, as in "2026-11-24 kernel 6.12.1"
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    events: Option<PathBuf>,
    /// Exit with 1 if the latest level of any line is above the one before it by more than this,
    /// and 10 if that cannot be told
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    fail_if_worse: Option<String>,
    #[command(flatten)]
    grouping: GroupingArgs,
    #[command(flatten)]
    form: FleetForm,
}

/// Prints the trend, and returns the exit code.
///
/// # Errors
/// [`ErrorKind::Input`]: it is no archive, or the file of events is none;
/// [`ErrorKind::NothingKept`]: none of its runs is of use; [`ErrorKind::Incomparable`]: they are of
/// several experiments.
pub(super) fn run(args: &TrendArgs) -> Result<u8> {
    let form = args.form.checked()?;
    let margin = args.fail_if_worse.as_deref().map(units::percent).transpose();
    let margin = margin.map_err(|error| error.prefixed("--fail-if-worse: "))?;
    let events = args.events.as_deref().map(events).transpose()?.unwrap_or_default();
    let (files, grouping) = archive_found(&args.archive, &args.grouping)?;
    let columns = args.form.columns();
    let document = archive::document(&files, &args.archive, Whose::Anybodys, |read| {
        let runs = of_one_experiment(read.runs, &args.grouping)?;
        let mut trend = trend(&runs, &grouping, &events, margin).map_err(refused)?;
        trend.shared_runs = archive::shared(&runs);
        trend.left_out.extend(read.left_out);
        let text = match form {
            Form::Text => zc_report::trend::text(&trend, &events, columns),
            Form::Json => zc_report::trend::json(&trend, &events),
            Form::Csv => zc_report::trend::csv(&trend),
            Form::OpenMetrics => zc_report::trend::openmetrics(&trend),
            Form::Html => zc_report::trend::html(&trend, &events),
        };
        Ok(apart::Document::with_code(text, exit_code(&trend)))
    })?;
    args.form.write(&document.bytes)?;
    Ok(document.code)
}

/// The answer as an exit code.
fn exit_code(trend: &Trend) -> u8 {
    match &trend.judgement {
        None => 0,
        Some(answer) if !answer.worse.is_empty() => WORSE,
        Some(answer) if !answer.undecided.is_empty() || answer.not_worse == 0 => {
            ErrorKind::Undecided.exit_code()
        }
        Some(_) => 0,
    }
}

/// The events of a file: a day and some words on each line; `#` begins a remark.
///
/// # Errors
/// A line is none.
fn events(path: &Path) -> Result<Vec<Event>> {
    let wrong = |what: &str| {
        Error::input(
            "cannot-read-events",
            format!("cannot read the events \"{}\": {what}", tell::path(path)),
        )
        .help("lines of a day and a few words, as in: 2026-11-24 kernel 6.12.1")
    };
    let text = read::text(path, LARGEST_BYTES, wrong)?.ok_or_else(|| wrong("it is too large"))?;
    let mut events = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (day, what) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let is_day = day.len() == 10 && day.parse::<jiff::civil::Date>().is_ok();
        if !is_day || what.trim().is_empty() {
            return Err(wrong(&format!("line {}: \"{}\"", number + 1, escape(line, 60))));
        }
        events.push(Event { day: day.to_owned(), what: what.trim().to_owned() });
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_days_with_words_and_what_is_none_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events");
        std::fs::write(&path, "# ours\n\n2026-11-24 kernel 6.12.1\n2026-12-01\tfirmware\n")
            .unwrap();
        let read = events(&path).unwrap();
        assert_eq!(
            read[0],
            Event { day: "2026-11-24".to_owned(), what: "kernel 6.12.1".to_owned() }
        );
        assert_eq!(read[1].what, "firmware");
        std::fs::write(&path, "\u{feff}2026-11-24 kernel 6.12.1\r\n").unwrap();
        assert_eq!(events(&path).unwrap(), read[..1], "after a byte order mark");
        for line in ["2026-11-31 x", "yesterday x", "2026-11-24", "20261124 x"] {
            std::fs::write(&path, format!("\n{line}\n")).unwrap();
            let message = events(&path).unwrap_err().message;
            assert!(message.contains(&format!("line 2: \"{line}\"")), "{message}");
        }
    }
}
