//! `zc report RUN...`: writes a document about saved runs, as a page or for other programs, to
//! stdout or a file.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::format::{Format, ReportFormatArgs, WidthArgs};
use super::read::Saved;
use super::{apart, render, replace, tell};
use zc_run::{Error, Result, Run};

/// Arguments of `zc report`.
#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// Runs that `zc run` has saved
    #[arg(value_name = "RUN", value_hint = ValueHint::FilePath, required = true, num_args = 1..)]
    pub(super) runs: Vec<PathBuf>,
    /// Where it is written; an older file is replaced once it is complete [default: stdout]
    #[arg(
        short,
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        help_heading = "Output",
    )]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) format: ReportFormatArgs,
    #[command(flatten)]
    pub(super) width: WidthArgs,
}

/// Writes the report.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): a file cannot be read, or is not a run;
/// [`ErrorKind::Usage`](zc_run::ErrorKind): the output is one of the runs, or HTML would go to a
/// terminal; [`ErrorKind::Output`](zc_run::ErrorKind): it cannot be written.
pub(super) fn report(args: &ReportArgs) -> Result<()> {
    let format = Format::from(args.format);
    match &args.out {
        Some(out) => check(out, args)?,
        None if format == Format::Html => {
            render::no_page_to_a_terminal("zc show FILE prints a run here")?
        }
        None => {}
    }
    let saved = args.runs.iter().map(|path| Saved::open(path)).collect::<Result<Vec<_>>>()?;
    let document = apart::document(|| {
        let runs = saved.into_iter().map(Saved::read).collect::<Result<Vec<Run>>>()?;
        let text = render::documents(&runs, format, args.width);
        // The process ends soon: freeing millions of allocations would take longer than writing.
        std::mem::forget(runs);
        Ok(text.into())
    })?;
    replace::or_stdout(args.out.as_deref(), &document.bytes)
}

/// Checks that the report may replace what is at `out`, before anything is read.
fn check(out: &Path, args: &ReportArgs) -> Result<()> {
    let name = tell::path(out);
    if let Some(run) = args.runs.iter().find(|run| replace::is_same(run, out)) {
        return Err(Error::usage(
            "output-is-input",
            format!(
                "\"{name}\" is one of the runs (\"{}\"): the report would take its place",
                tell::path(run)
            ),
        )
        .help("choose another name with -o"));
    }
    replace::check(out)
}
