//! Which report is printed, and how wide.

use super::resolve::Format;
use crate::estimate::estimate;
use crate::record::Run;
use crate::report;

/// The width where there is no terminal to ask.
const DEFAULT_COLUMNS: usize = 120;

/// A run as text in the wanted format.
pub(super) fn document(run: &Run, format: Format) -> String {
    let estimates = estimate(run);
    match format {
        Format::Table => report::table(run, &estimates, columns()),
        Format::Json => report::json(run, &estimates),
        Format::Csv => report::csv(run, &estimates),
        Format::Markdown => report::markdown(run, &estimates),
    }
}

/// The columns of the terminal behind stdout; else what COLUMNS says; else a default.
pub(super) fn columns() -> usize {
    let asked = rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    let told = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    asked.filter(|columns| *columns > 0).or_else(told).unwrap_or(DEFAULT_COLUMNS).clamp(40, 1000)
}
