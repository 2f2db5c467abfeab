//! `zc report RUN...`: a document about saved runs, as a page or for other programs, on stdout or in a file.

use std::path::Path;

use super::args::ReportArgs;
use super::resolve::Format;
use super::{read, render, replace, tell};
use zc_run::{Error, Result, Run};

/// Writes it.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): a file cannot be read, or holds no run; [`ErrorKind::Usage`](zc_run::ErrorKind): the
/// output is one of the runs, or a page was to go to a terminal; [`ErrorKind::Output`](zc_run::ErrorKind): it cannot be written.
pub(super) fn report(args: &ReportArgs) -> Result<()> {
    let format = Format::from(args.format);
    match &args.out {
        Some(out) => check(out, args)?,
        None if format == Format::Html => {
            render::no_page_to_a_terminal("zc show FILE prints a run here")?
        }
        None => {}
    }
    let runs = args.runs.iter().map(|path| read::run(path)).collect::<Result<Vec<Run>>>()?;
    let text = render::documents(&runs, format);
    // The program ends here: to give millions of pieces of memory back one by one would take longer than to write.
    std::mem::forget(runs);
    replace::or_stdout(args.out.as_deref(), &text)
}

/// Whether the report may take the place of what is at `out`, before anything is read.
fn check(out: &Path, args: &ReportArgs) -> Result<()> {
    let name = tell::path(out);
    if let Some(run) = args.runs.iter().find(|run| replace::is_same(run, out)) {
        return Err(Error::usage(format!(
            "\"{name}\" is one of the runs (\"{}\"): the report would take its place",
            tell::path(run)
        ))
        .help("choose another name with -o"));
    }
    replace::check(out)
}
