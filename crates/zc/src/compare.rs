//! `zc compare OLD NEW...`: runs, or cells of runs, held against one another; with `--fail-if-worse` the answer is the exit code
//! (docs/exit-codes.md).

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::{read, render, replace, resolve, tell};
use zc_analysis::compare::{Compared, Outcome, Part, compare};
use zc_run::nearest::unknown_among;
use zc_run::{Fault, FaultKind, HostState, Result, Run, escape, units};

/// The exit code where nothing can be compared.
const INCOMPARABLE: u8 = 3;

/// More labels than that are no hint.
const MOST_LABELS: usize = 24;

/// Arguments of `zc compare`.
#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// A saved run, or one cell of it, or one state of zc run --ab: run.json, run.json:sendfile, run.json:A
    #[arg(value_name = "OLD", value_hint = ValueHint::FilePath)]
    pub(super) old: String,
    /// What is held against it: another run, or another cell, also of the same run
    #[arg(value_name = "NEW", value_hint = ValueHint::FilePath, required = true, num_args = 1..)]
    pub(super) new: Vec<String>,
    /// Exit with 1 if any cell is dearer by more than this, with 2 if that cannot be told, with 3 if nothing can be compared
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub(super) fail_if_worse: Option<String>,
    /// Hold the samples of zc profile against one another: what each class of functions costs
    #[arg(long, conflicts_with = "fail_if_worse")]
    pub(super) profile: bool,
    /// Print one JSON document instead of the table
    #[arg(long, help_heading = "Output", conflicts_with_all = ["markdown", "html"])]
    pub(super) json: bool,
    /// Print Markdown in 80 columns, for a pull request or a mailing list
    #[arg(long, help_heading = "Output", conflicts_with = "html")]
    pub(super) markdown: bool,
    /// Write a page that needs nothing beside itself
    #[arg(long, help_heading = "Output", conflicts_with = "profile")]
    pub(super) html: bool,
    /// Where it is written, in place of what is there; only when it is whole [default: stdout]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(super) out: Option<PathBuf>,
}

/// Compares, and gives the exit code.
///
/// # Errors
/// [`FaultKind::Usage`]: what was typed has no meaning, or names a cell that is not in its run; [`FaultKind::Input`]: a file cannot be
/// read, or holds no run.
pub(super) fn run(args: &CompareArgs) -> Result<u8> {
    let margin = args.fail_if_worse.as_deref().map(units::percent).transpose();
    let margin = margin.map_err(|fault| resolve::of("--fail-if-worse", fault))?;
    match &args.out {
        Some(out) => replace::check(out)?, // a saved run, and so each of these, is never replaced
        None if args.html => render::no_page_to_a_terminal("zc compare without --html prints the table here")?,
        None => {}
    }
    let mut files = Files::default();
    let old = files.part(&args.old)?;
    let new = args.new.iter().map(|text| files.part(text)).collect::<Result<Vec<_>>>()?;
    if args.profile {
        return profiles(args, &files, &old, &new);
    }
    let part = |named: &Named| Part {
        name: named.text.clone(),
        run: &files.read[named.file].1,
        cell: named.cell.clone(),
        state: named.state,
    };
    let new: Vec<Part<'_>> = new.iter().map(part).collect();
    let (compared, judgement) = compare(&part(&old), &new, margin);
    let text = match () {
        () if args.json => zc_report::compare::json(&compared, judgement.as_ref()),
        () if args.markdown => zc_report::compare::markdown(&compared, judgement.as_ref()),
        () if args.html => zc_report::compare::html(&compared, judgement.as_ref()),
        () => zc_report::compare::table(&compared, judgement.as_ref(), render::columns()),
    };
    replace::or_stdout(args.out.as_deref(), &text)?;
    let impossible = |compared: &Compared| !compared.impossible.is_empty();
    Ok(match judgement.map(|judgement| judgement.outcome) {
        Some(Outcome::NoneWorse) => 0,
        Some(Outcome::Worse) => 1,
        Some(Outcome::Undecided) => 2,
        Some(Outcome::Incomparable) => INCOMPARABLE,
        None if compared.iter().all(impossible) => INCOMPARABLE,
        None => 0,
    })
}

/// What each class of functions costs in the one and in the others.
fn profiles(args: &CompareArgs, files: &Files, old: &Named, new: &[Named]) -> Result<u8> {
    let named = |named: &Named| (&files.read[named.file].1, named.cell.clone());
    let (old_run, old_cell) = named(old);
    let mut told = Vec::new();
    for each in new {
        let (run, cell) = named(each);
        let found = zc_report::profile::differences((old_run, old_cell.as_deref()), (run, cell.as_deref()));
        told.push((
            format!("{} against {}", tell::path(Path::new(&each.text)), tell::path(Path::new(&old.text))),
            found,
        ));
    }
    let text = match () {
        () if args.json => zc_report::profile::compared_json(&told),
        () if args.markdown => zc_report::profile::compared_markdown(&told),
        () => zc_report::profile::compared(&told, render::columns()),
    };
    replace::or_stdout(args.out.as_deref(), &text)?;
    Ok(if told.iter().all(|(_, found)| found.is_empty()) { INCOMPARABLE } else { 0 })
}

/// The runs that were read, each file once.
#[derive(Default)]
struct Files {
    read: Vec<(PathBuf, Run)>,
}

/// What was named: the place of its run, and the cell.
struct Named {
    text: String,
    file: usize,
    cell: Option<String>,
    state: Option<HostState>,
}

impl Files {
    /// `run.json` or `run.json:sendfile`. A file of just that name goes before a cell; else the last colon with a file's name before it
    /// is the one that counts, for labels may hold colons and so may names of files.
    fn part(&mut self, text: &str) -> Result<Named> {
        if !is_there(text) {
            let colons = text.match_indices(':').rev();
            let split = colons.map(|(at, _)| (&text[..at], &text[at + 1..])).find(|(file, _)| is_there(file));
            if let Some((file, cell)) = split {
                let file = self.file(Path::new(file))?;
                let run = &self.read[file].1;
                let state = cell.parse().ok().filter(|_| run.header.plan.states.is_some());
                let cell = if state.is_some() { None } else { Some(cell_of(run, cell)?) };
                return Ok(Named { text: text.to_owned(), file, cell, state });
            }
        }
        let file = self.file(Path::new(text)).map_err(|fault| without_file(text, fault))?;
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

/// Where a cell seems to be named, the file is what is missing.
fn without_file(text: &str, fault: Fault) -> Fault {
    match text.rsplit_once(':') {
        Some((file, _)) if fault.kind == FaultKind::Input && fault.hint.is_none() && !is_there(text) => {
            fault.hint(format!("for a cell of a run, \"{}\" would have to be a file", escape(file, 200)))
        }
        _ => fault,
    }
}

/// The label of a cell of the run.
fn cell_of(run: &Run, given: &str) -> Result<String> {
    let labels: Vec<&str> = run.header.plan.cells.iter().map(|cell| cell.label.as_str()).collect();
    if let Some(label) = labels.iter().find(|label| **label == given) {
        return Ok((*label).to_owned());
    }
    if let Some(row) = run.header.unavailable.iter().find(|row| row.name == given) {
        let reason = match &row.support {
            zc_run::Support::No(no) => no.reason().to_owned(),
            zc_run::Support::Yes => "it was left out".to_owned(),
        };
        return Err(Fault::usage(format!("the cell \"{}\" could not be measured in that run", escape(given, 60)))
            .hint(escape(&reason, 300)));
    }
    let fault = unknown_among("cell", given, &labels);
    if labels.len() <= MOST_LABELS {
        return Err(fault);
    }
    // All labels of a large plan are no hint.
    let meant = zc_run::nearest::nearest(given, &labels).map(|label| format!("did you mean \"{label}\"? "));
    let some = labels[..MOST_LABELS].join(", ");
    Err(fault.hint(format!("{}known: {some} and {} more", meant.unwrap_or_default(), labels.len() - MOST_LABELS)))
}
