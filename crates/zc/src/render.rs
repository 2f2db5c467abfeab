//! The report that is printed, and its width.

use std::io::IsTerminal as _;
use std::path::Path;

use super::format::{Format, FormatArgs, WidthArgs};
use super::tell;
use zc_analysis::{Estimates, estimate};
use zc_measure::session::is_stdout;
use zc_report::{Layout, Per, TEXT_COLUMNS, commit_message};
use zc_run::{Error, Result, Run};

/// A run as text in the wanted format. A table is the short one unless it is to be verbose.
/// Markdown has a line for each paragraph, to be rendered, unless a width was asked for.
pub(super) fn document(run: &Run, args: FormatArgs) -> String {
    match Format::from(args) {
        Format::Table => zc_report::table(run, &estimate(run), layout(args.verbose, args.width)),
        Format::Markdown if args.width.columns.is_none() => {
            zc_report::markdown(run, &estimate(run))
        }
        format => documents(std::slice::from_ref(run), format, args.width),
    }
}

/// Prints a run that was saved at `out`, and says where it is; nothing if stdout has the run
/// itself.
///
/// # Errors
/// stdout is closed.
pub(super) fn saved(run: &Run, out: &Path, args: FormatArgs) -> Result<()> {
    if is_stdout(out) {
        return Ok(());
    }
    let printed = tell::result(&document(run, args));
    tell::note(&format!("saved: \"{}\"", tell::path(out)));
    printed
}

/// The table of costs with so many ns for each fragment of a packet.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): no fragments were counted in the run, from `file`.
pub(super) fn dma(
    run: &Run,
    ns_per_fragment: f64,
    file: &Path,
    width: WidthArgs,
) -> Result<String> {
    zc_report::dma(&estimate(run), ns_per_fragment, layout(true, width)).ok_or_else(|| {
        Error::input(
            "run-without-fragments",
            format!("the run in \"{}\" has no count of fragments", tell::path(file)),
        )
        .help("they are counted over the link null: as root, zc run --link null")
    })
}

/// The table of costs by what was counted.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): nothing of it was counted in the run, from `file`.
pub(super) fn per(run: &Run, by: &[Per], file: &Path, args: FormatArgs) -> Result<String> {
    let layout = layout(args.verbose, args.width);
    zc_report::per(run, &estimate(run), by, layout).ok_or_else(|| {
        Error::input(
            "run-without-counts",
            format!("the run in \"{}\" has no cost by any of these counts", tell::path(file)),
        )
        .help("packets are counted over veth, null and --remote, calls and acknowledgements of TCP")
    })
}

/// Runs as one text in the wanted format; tables are the full ones.
pub(super) fn documents(runs: &[Run], format: Format, width: WidthArgs) -> String {
    let estimates: Vec<Estimates> = runs.iter().map(estimate).collect();
    let both: Vec<(&Run, &Estimates)> = runs.iter().zip(&estimates).collect();
    match format {
        Format::Table => both
            .iter()
            .map(|(run, estimates)| zc_report::table(run, estimates, layout(true, width)))
            .collect(),
        Format::Json => zc_report::multi::json(&both),
        Format::Csv => zc_report::multi::csv(&both),
        Format::Markdown => zc_report::multi::markdown(&both, markdown_columns(width)),
        Format::Html => zc_report::html(&both),
        Format::OpenMetrics => zc_report::openmetrics(&both),
        Format::CommitMessage => {
            let messages = both.iter().map(|(run, estimates)| commit_message::run(run, estimates));
            messages.collect::<Vec<_>>().join("\n")
        }
    }
}

/// The layout of a table on stdout.
fn layout(verbose: bool, width: WidthArgs) -> Layout {
    Layout { columns: columns(width), verbose, colour: colour() }
}

/// Whether stdout shows colours: it is a terminal, and neither NO_COLOR (<https://no-color.org>)
/// nor TERM=dumb is set.
fn colour() -> bool {
    let stdout = std::io::stdout();
    stdout.is_terminal() && anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never
}

/// Refuses to print a page of HTML on a terminal; `instead` is the command that prints the same
/// there.
///
/// # Errors
/// [`ErrorKind::Usage`](zc_run::ErrorKind): stdout is a terminal.
pub(super) fn no_page_to_a_terminal(instead: &str) -> Result<()> {
    if std::io::stdout().is_terminal() {
        return Err(Error::usage(
            "html-to-terminal",
            "a page of HTML cannot be read on a terminal",
        )
        .help(format!("-o report.html writes it to a file; {instead}")));
    }
    Ok(())
}

/// The width of Markdown: it is for others to read, whatever this terminal's width is.
pub(super) fn markdown_columns(asked: WidthArgs) -> usize {
    asked.columns.map_or(TEXT_COLUMNS, usize::from)
}

/// The width that was asked for; otherwise that of stdout's terminal; otherwise that of COLUMNS;
/// otherwise what mail and commit messages have room for.
pub(super) fn columns(asked: WidthArgs) -> usize {
    if let Some(columns) = asked.columns {
        return columns.into();
    }
    let terminal =
        rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    let variable = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    terminal
        .filter(|columns| *columns > 0)
        .or_else(variable)
        .unwrap_or(TEXT_COLUMNS)
        .clamp(40, 1000)
}
