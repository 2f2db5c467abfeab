//! `zc compare OLD NEW...`: compares runs, or cells of runs. With `--fail-if-worse` the exit code
//! is the answer (docs/exit-codes.md).

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::calibrate::Runs;
use super::{read, render, replace, resolve, tell};
use zc_analysis::compare::{Calibration, Compared, Impossible, Outcome, Selection, compare};
use zc_run::nearest::unknown_among;
use zc_run::{Error, ErrorKind, HostState, Result, Run, escape, units};

/// The exit code of `--fail-if-worse` where some cell is worse.
const WORSE: u8 = 1;

/// The most labels that a hint lists.
const MOST_LABELS: usize = 24;

/// Arguments of `zc compare`.
#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// A saved run, or one cell of it, or one state of zc run --ab: run.json, run.json:sendfile,
    /// run.json:A
    #[arg(value_name = "OLD", value_hint = ValueHint::FilePath)]
    pub(super) old: String,
    /// What is compared with it: another run, or another cell, also of the same run
    #[arg(value_name = "NEW", value_hint = ValueHint::FilePath, required = true, num_args = 1..)]
    pub(super) new: Vec<String>,
    /// Exit with 1 if any cell costs more than this above the old, 10 if undecided, 12 if verdicts
    /// are withheld
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub(super) fail_if_worse: Option<String>,
    /// Measure by how much runs differ where nothing changed, from saved runs of one state. It takes
    /// all files after it, so give it last [default: what the compared runs wander]
    #[arg(
        long,
        value_name = "RUN",
        value_hint = ValueHint::FilePath,
        num_args = 1..,
        conflicts_with = "profile",
    )]
    pub(super) calibration: Vec<PathBuf>,
    /// Compare the samples of zc profile: what each class of functions costs
    #[arg(long, conflicts_with = "fail_if_worse")]
    pub(super) profile: bool,
    /// Print one JSON document instead of the table
    #[arg(long, help_heading = "Output", conflicts_with_all = ["markdown", "html"])]
    pub(super) json: bool,
    /// Print Markdown in 80 columns, for a pull request or a mailing list
    #[arg(long, help_heading = "Output", conflicts_with = "html")]
    pub(super) markdown: bool,
    /// Write a self-contained HTML page
    #[arg(long, help_heading = "Output", conflicts_with = "profile")]
    pub(super) html: bool,
    /// Where it is written; an older file is replaced once it is complete [default: stdout]
    #[arg(
        short,
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        help_heading = "Output",
    )]
    pub(super) out: Option<PathBuf>,
}

/// Compares, and returns the exit code.
///
/// # Errors
/// [`ErrorKind::Usage`]: an argument is not valid; [`ErrorKind::UnknownCell`]: the run has no such
/// cell; [`ErrorKind::Input`]: a file cannot be read, or is not a run.
pub(super) fn run(args: &CompareArgs) -> Result<u8> {
    let margin = args.fail_if_worse.as_deref().map(units::percent).transpose();
    let margin = margin.map_err(|error| resolve::of("--fail-if-worse", error))?;
    match &args.out {
        Some(out) => replace::check(out)?, // a saved run, and so each of these, is never replaced
        None if args.html => {
            render::no_page_to_a_terminal("zc compare without --html prints the table here")?
        }
        None => {}
    }
    let mut files = Files::default();
    let old = files.part(&args.old)?;
    let new = args.new.iter().map(|text| files.part(text)).collect::<Result<Vec<_>>>()?;
    if args.profile {
        return profiles(args, &files, &old, &new);
    }
    let part = |named: &Named| Selection {
        name: named.text.clone(),
        run: &files.read[named.file].1,
        cell: named.cell.clone(),
        state: named.state,
    };
    let new: Vec<Selection<'_>> = new.iter().map(part).collect();
    let old = part(&old);
    let calibration = calibration(&args.calibration, &old, &new)?;
    let (compared, judgement) = compare(&old, &new, margin, calibration.as_ref());
    let text = match () {
        () if args.json => zc_report::compare::json(&compared, judgement.as_ref()),
        () if args.markdown => zc_report::compare::markdown(&compared, judgement.as_ref()),
        () if args.html => zc_report::compare::html(&compared, judgement.as_ref()),
        () => zc_report::compare::table(&compared, judgement.as_ref(), render::columns()),
    };
    replace::or_stdout(args.out.as_deref(), &text)?;
    Ok(exit_code(&compared, judgement.map(|judgement| judgement.outcome)))
}

/// What the runs given with `--calibration` say, without what is compared as new.
fn calibration(
    files: &[PathBuf],
    old: &Selection<'_>,
    new: &[Selection<'_>],
) -> Result<Option<Calibration>> {
    if files.is_empty() {
        return Ok(None);
    }
    Runs::read(files)?.calibration(Some(old), new).map(Some)
}

/// The answer as an exit code; docs/exit-codes.md lists them.
fn exit_code(compared: &[Compared], answer: Option<Outcome>) -> u8 {
    match answer {
        Some(Outcome::NoneWorse) => 0,
        Some(Outcome::Worse) => WORSE,
        Some(Outcome::Undecided) => ErrorKind::Undecided.exit_code(),
        Some(Outcome::Withheld) => ErrorKind::Withheld.exit_code(),
        Some(Outcome::Incomparable) => ErrorKind::Incomparable.exit_code(),
        Some(Outcome::NothingKept) => ErrorKind::NothingKept.exit_code(),
        None if compared.iter().any(|compared| compared.impossible.is_empty()) => 0,
        None if compared.iter().flat_map(|compared| &compared.impossible).all(is_empty) => {
            ErrorKind::NothingKept.exit_code()
        }
        None => ErrorKind::Incomparable.exit_code(),
    }
}

/// Whether a comparison is impossible because a run has no block that counts.
fn is_empty(why: &Impossible) -> bool {
    matches!(why, Impossible::NoKeptBlocks { .. })
}

/// Compares what each class of functions costs.
fn profiles(args: &CompareArgs, files: &Files, old: &Named, new: &[Named]) -> Result<u8> {
    let named = |named: &Named| (&files.read[named.file].1, named.cell.clone());
    let (old_run, old_cell) = named(old);
    let mut pairs = Vec::new();
    for each in new {
        let (run, cell) = named(each);
        let found =
            zc_report::profile::differences((old_run, old_cell.as_deref()), (run, cell.as_deref()));
        pairs.push((
            format!(
                "{} against {}",
                tell::path(Path::new(&each.text)),
                tell::path(Path::new(&old.text))
            ),
            found,
        ));
    }
    let text = match () {
        () if args.json => zc_report::profile::compared_json(&pairs),
        () if args.markdown => zc_report::profile::compared_markdown(&pairs),
        () => zc_report::profile::compared(&pairs, render::columns()),
    };
    replace::or_stdout(args.out.as_deref(), &text)?;
    Ok(if pairs.iter().all(|(_, found)| found.is_empty()) {
        ErrorKind::Incomparable.exit_code()
    } else {
        0
    })
}

/// The runs that were read, each file once.
#[derive(Default)]
struct Files {
    read: Vec<(PathBuf, Run)>,
}

/// A parsed argument: the index of its run, and the cell or state.
struct Named {
    text: String,
    file: usize,
    cell: Option<String>,
    state: Option<HostState>,
}

impl Files {
    /// Parses `run.json` or `run.json:sendfile`. If a file has the whole name, it is that file.
    /// Otherwise the argument is split at the last colon that follows a file's name, as labels and
    /// names of files may contain colons.
    fn part(&mut self, text: &str) -> Result<Named> {
        if !is_there(text) {
            let colons = text.match_indices(':').rev();
            let split = colons
                .map(|(at, _)| (&text[..at], &text[at + 1..]))
                .find(|(file, _)| is_there(file));
            if let Some((file, cell)) = split {
                let file = self.file(Path::new(file))?;
                let run = &self.read[file].1;
                let state = cell.parse().ok().filter(|_| run.header.plan.states.is_some());
                let cell = if state.is_some() { None } else { Some(cell_of(run, cell)?) };
                return Ok(Named { text: text.to_owned(), file, cell, state });
            }
        }
        let file = self.file(Path::new(text)).map_err(|error| without_file(text, error))?;
        Ok(Named { text: text.to_owned(), file, cell: None, state: None })
    }

    fn file(&mut self, path: &Path) -> Result<usize> {
        if let Some(place) = self.read.iter().position(|(known, _)| known == path) {
            return Ok(place);
        }
        self.read.push((path.to_owned(), read::run(path)?));
        Ok(self.read.len() - 1)
    }
}

fn is_there(file: &str) -> bool {
    !file.is_empty() && Path::new(file).symlink_metadata().is_ok()
}

/// Adds a hint if the argument looks like a cell of a file that is missing.
fn without_file(text: &str, error: Error) -> Error {
    match text.rsplit_once(':') {
        Some((file, _))
            if error.kind == ErrorKind::Input && error.help.is_none() && !is_there(text) =>
        {
            error.help(format!("for a cell of a run, \"{}\" must be a file", escape(file, 200)))
        }
        _ => error,
    }
}

/// Checks that the run has a cell of this label.
fn cell_of(run: &Run, given: &str) -> Result<String> {
    let labels: Vec<&str> = run.header.plan.cells.iter().map(|cell| cell.label.as_str()).collect();
    if let Some(label) = labels.iter().find(|label| **label == given) {
        return Ok((*label).to_owned());
    }
    if let Some(row) = run.header.unavailable.iter().find(|row| row.name == given) {
        let reason = match &row.support {
            zc_run::Support::No(no) => no.reason.clone(),
            zc_run::Support::Yes => "it was left out".to_owned(),
        };
        return Err(Error::new(
            ErrorKind::UnknownCell,
            format!("the cell \"{}\" could not be measured in that run", escape(given, 60)),
        )
        .help(escape(&reason, 300)));
    }
    let error = unknown_among("cell", given, &labels).kind(ErrorKind::UnknownCell);
    if labels.len() <= MOST_LABELS {
        return Err(error);
    }
    // The labels of a large plan are too many for a hint.
    let meant =
        zc_run::nearest::nearest(given, &labels).map(|label| format!("did you mean \"{label}\"? "));
    let some = labels[..MOST_LABELS].join(", ");
    Err(error.help(format!(
        "{}known: {some} and {} more",
        meant.unwrap_or_default(),
        labels.len() - MOST_LABELS
    )))
}
