//! `zc compare OLD NEW...`: compares runs, or cells of runs. With `--fail-if-worse` the exit code
//! is the answer (docs/exit-codes.md).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::apart::{self, Document};
use super::calibrate::{self, Runs};
use super::format::WidthArgs;
use super::read::Saved;
use super::{render, replace, tell};
use zc_analysis::compare::{Calibration, Compared, Impossible, Outcome, Selection, compare};
use zc_report::commit_message;
use zc_run::nearest::unknown_among;
use zc_run::{Error, ErrorKind, HostState, Result, Run, escape, units};

/// The exit code of `--fail-if-worse` where some cell is worse.
const WORSE: u8 = 1;

/// The exit code by which `git bisect run` skips a commit (git-bisect(1)).
const SKIP: u8 = 125;

/// The most labels that a hint lists.
const MOST_LABELS: usize = 24;

/// Arguments of `zc compare`.
#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// A saved run, or one cell of it, or one state of zc run --ab: run.json, run.json:sendfile,
    /// run.json:A
    #[arg(value_name = "OLD", value_hint = ValueHint::FilePath)]
    pub(super) old: OsString,
    /// What is compared with it: another run, or another cell, also of the same run
    #[arg(value_name = "NEW", value_hint = ValueHint::FilePath, required = true, num_args = 1..)]
    pub(super) new: Vec<OsString>,
    /// Exit with 1 if any cell costs more than this above the old, 10 if undecided, 12 if verdicts
    /// are withheld
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub(super) fail_if_worse: Option<String>,
    /// With --fail-if-worse: exit with 0, with 1, or with 125 for whatever else, which git bisect
    /// run skips
    #[arg(long, requires = "fail_if_worse", conflicts_with = "profile")]
    pub(super) bisect: bool,
    /// Measure by how much runs differ where nothing changed, from saved runs of one state. It
    /// takes all files after it, so give it last [default: what the compared runs wander]
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
    /// Print Markdown in 72 columns, for a pull request or a mailing list
    #[arg(long, help_heading = "Output", conflicts_with = "html")]
    pub(super) markdown: bool,
    /// Write a self-contained HTML page
    #[arg(long, help_heading = "Output", conflicts_with = "profile")]
    pub(super) html: bool,
    /// Print at most eight lines of 72 columns in ASCII, for the message of a commit: of one NEW
    #[arg(
        long,
        help_heading = "Output",
        conflicts_with_all = ["json", "markdown", "html", "profile"],
    )]
    pub(super) commit_message: bool,
    /// With --fail-if-worse: print a test for each cell in the form of kernel tests (KTAP)
    #[arg(
        long,
        requires = "fail_if_worse",
        help_heading = "Output",
        conflicts_with_all = ["json", "markdown", "html", "profile", "commit_message"],
    )]
    pub(super) tap: bool,
    #[command(flatten)]
    pub(super) width: WidthArgs,
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
    match answered(args) {
        answer if !args.bisect => answer,
        Ok(code) => Ok(if matches!(code, 0 | WORSE) { code } else { SKIP }),
        // To git every other code is a bad commit. A run that is missing is none.
        Err(error) => {
            tell::error(&error);
            Ok(SKIP)
        }
    }
}

fn answered(args: &CompareArgs) -> Result<u8> {
    let margin = args.fail_if_worse.as_deref().map(units::percent).transpose();
    let margin = margin.map_err(|error| error.prefixed("--fail-if-worse: "))?;
    if args.commit_message && args.new.len() > 1 {
        let message = format!("--commit-message is of one NEW, and {} are named", args.new.len());
        return Err(Error::usage("one-commit-message", message).help("zc compare each by itself"));
    }
    match &args.out {
        Some(out) => replace::check(out)?, // a saved run, and so each of these, is never replaced
        None if args.html => {
            render::no_page_to_a_terminal("zc compare without --html prints the table here")?
        }
        None => {}
    }
    let mut files = Files::default();
    let old = files.named(&args.old)?;
    let new = args.new.iter().map(|text| files.named(text)).collect::<Result<Vec<_>>>()?;
    let calibration = calibrate::open(&args.calibration)?;
    let document = apart::document(|| {
        let runs = files.read()?;
        let old = old.among(&runs)?;
        let new = new.into_iter().map(|named| named.among(&runs)).collect::<Result<Vec<_>>>()?;
        if args.profile {
            return Ok(profiles(args, &old, &new));
        }
        costs(args, &old, &new, margin, calibration)
    })?;
    replace::or_stdout(args.out.as_deref(), &document.bytes)?;
    Ok(document.code)
}

/// Compares what the cells cost.
///
/// # Errors
/// A run of the calibration cannot be read, or is not like what is compared.
fn costs(
    args: &CompareArgs,
    old: &Selection<'_>,
    new: &[Selection<'_>],
    margin: Option<f64>,
    calibration: Vec<(String, Saved)>,
) -> Result<Document> {
    let calibration = calibrated(calibration, old, new)?;
    let (compared, judgement) = compare(old, new, margin, calibration.as_ref());
    let text = match () {
        () if args.json => zc_report::compare::json(&compared, judgement.as_ref()),
        () if args.markdown => {
            let columns = render::markdown_columns(args.width);
            zc_report::compare::markdown(&compared, judgement.as_ref(), columns)
        }
        () if args.html => zc_report::compare::html(&compared, judgement.as_ref()),
        () if args.commit_message => std::iter::zip(new, &compared)
            .map(|(new, compared)| commit_message::comparison(old.run, new.run, compared))
            .collect(),
        () if args.tap => judgement
            .as_ref()
            .map_or_else(String::new, |judgement| zc_report::compare::tap(&compared, judgement)),
        () => zc_report::compare::table(&compared, judgement.as_ref(), render::columns(args.width)),
    };
    Ok(Document::with_code(
        text,
        exit_code(&compared, judgement.map(|judgement| judgement.outcome)),
    ))
}

/// Calibration from the runs given with `--calibration`, without those compared as new.
fn calibrated(
    saved: Vec<(String, Saved)>,
    old: &Selection<'_>,
    new: &[Selection<'_>],
) -> Result<Option<Calibration>> {
    if saved.is_empty() {
        return Ok(None);
    }
    Runs::read(saved)?.calibration(Some(old), new).map(Some)
}

/// The answer as an exit code; docs/exit-codes.md lists them.
fn exit_code(compared: &[Compared], answer: Option<Outcome>) -> u8 {
    match answer {
        Some(answer) => code_of(answer),
        None if compared.iter().any(|compared| compared.impossible.is_empty()) => 0,
        None if compared.iter().flat_map(|compared| &compared.impossible).all(is_empty) => {
            ErrorKind::NothingKept.exit_code()
        }
        None => ErrorKind::Incomparable.exit_code(),
    }
}

/// The exit code of an answer.
pub(super) fn code_of(answer: Outcome) -> u8 {
    match answer {
        Outcome::NoneWorse => 0,
        Outcome::Worse => WORSE,
        Outcome::Undecided => ErrorKind::Undecided.exit_code(),
        Outcome::Withheld => ErrorKind::Withheld.exit_code(),
        Outcome::Incomparable => ErrorKind::Incomparable.exit_code(),
        Outcome::NothingKept => ErrorKind::NothingKept.exit_code(),
    }
}

/// Whether a comparison is impossible because a run has no block that counts.
fn is_empty(why: &Impossible) -> bool {
    matches!(why, Impossible::NoKeptBlocks { .. })
}

/// Compares what each class of functions costs.
fn profiles(args: &CompareArgs, old: &Selection<'_>, new: &[Selection<'_>]) -> Document {
    let mut pairs = Vec::new();
    for each in new {
        let found = zc_report::profile::differences(
            (old.run, old.cell.as_deref()),
            (each.run, each.cell.as_deref()),
        );
        pairs.push((
            format!(
                "{} against {}",
                tell::path(Path::new(&each.name)),
                tell::path(Path::new(&old.name))
            ),
            found,
        ));
    }
    let text = match () {
        () if args.json => zc_report::profile::compared_json(&pairs),
        () if args.markdown => {
            zc_report::profile::compared_markdown(&pairs, render::markdown_columns(args.width))
        }
        () => zc_report::profile::compared(&pairs, render::columns(args.width)),
    };
    let nothing = pairs.iter().all(|(_, found)| found.is_empty());
    Document::with_code(text, if nothing { ErrorKind::Incomparable.exit_code() } else { 0 })
}

/// The files that the arguments name, each opened once.
#[derive(Default)]
struct Files {
    opened: Vec<(PathBuf, Saved)>,
}

/// An argument: the index of its file, and the name of a cell or state after it.
struct Named {
    text: OsString,
    file: usize,
    part: Option<String>,
}

impl Files {
    /// Splits `run.json:sendfile`, and opens the file. If a file has the whole name, it is that
    /// file. Otherwise the argument is split at the last colon that follows a file's name, as
    /// labels and names of files may contain colons.
    fn named(&mut self, text: &OsStr) -> Result<Named> {
        if !is_there(text) {
            let split = splits(text).find(|(file, _)| is_there(file));
            if let Some((file, part)) = split {
                let file = self.file(Path::new(file))?;
                let part = Some(part.to_string_lossy().into_owned());
                return Ok(Named { text: text.to_owned(), file, part });
            }
        }
        let file = self.file(Path::new(text)).map_err(|error| without_file(text, error))?;
        Ok(Named { text: text.to_owned(), file, part: None })
    }

    fn file(&mut self, path: &Path) -> Result<usize> {
        if let Some(place) = self.opened.iter().position(|(known, _)| known == path) {
            return Ok(place);
        }
        self.opened.push((path.to_owned(), Saved::open(path)?));
        Ok(self.opened.len() - 1)
    }

    /// The runs, in the order in which their files were opened.
    fn read(self) -> Result<Vec<Run>> {
        self.opened.into_iter().map(|(_, saved)| saved.read()).collect()
    }
}

impl Named {
    /// Selects the named part of the runs.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownCell`]: its run has no such cell.
    fn among(self, runs: &[Run]) -> Result<Selection<'_>> {
        let run = &runs[self.file];
        let state = self.part.as_deref().and_then(|part| part.parse().ok());
        let state: Option<HostState> = state.filter(|state| has_state(run, state));
        let cell = self.part.filter(|_| state.is_none());
        let cell = cell.map(|cell| cell_of(run, &cell)).transpose()?;
        Ok(Selection { name: self.text.to_string_lossy().into_owned(), run, cell, state })
    }
}

/// Whether cells of the run are in this state.
fn has_state(run: &Run, state: &HostState) -> bool {
    run.header.plan.cells.iter().any(|cell| cell.levels.state.as_ref() == Some(state))
}

/// Splits the text at each colon, the last one first.
fn splits(text: &OsStr) -> impl Iterator<Item = (&OsStr, &OsStr)> {
    let bytes = text.as_bytes();
    let colons = (0..bytes.len()).rev().filter(|at| bytes[*at] == b':');
    colons.map(|at| (OsStr::from_bytes(&bytes[..at]), OsStr::from_bytes(&bytes[at + 1..])))
}

fn is_there(file: &OsStr) -> bool {
    !file.is_empty() && Path::new(file).symlink_metadata().is_ok()
}

/// Adds a hint if the argument looks like a cell of a file that is missing.
fn without_file(text: &OsStr, error: Error) -> Error {
    match splits(text).next() {
        Some((file, _))
            if error.kind == ErrorKind::Input && error.help.is_none() && !is_there(text) =>
        {
            error.help(format!(
                "for a cell of a run, \"{}\" must be a file",
                tell::path(Path::new(file))
            ))
        }
        _ => error,
    }
}

/// Checks that the run has a cell of this label.
///
/// # Errors
/// [`ErrorKind::UnknownCell`]: it has none, or could not measure it.
pub(super) fn cell_of(run: &Run, given: &str) -> Result<String> {
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
            "cell-not-measured",
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
