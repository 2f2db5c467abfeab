//! Which report is printed, and how wide.

use super::resolve::Format;
use crate::estimate::{Estimates, estimate};
use crate::record::Run;
use crate::report;

/// The width where there is no terminal to ask.
const DEFAULT_COLUMNS: usize = 120;

/// A run as text in the wanted format.
pub(super) fn document(run: &Run, format: Format) -> String {
    documents(std::slice::from_ref(run), format)
}

/// Runs as one text in the wanted format.
pub(super) fn documents(runs: &[Run], format: Format) -> String {
    let estimates: Vec<Estimates> = runs.iter().map(estimate).collect();
    let both: Vec<(&Run, &Estimates)> = runs.iter().zip(&estimates).collect();
    match format {
        Format::Table => both.iter().map(|(run, estimates)| report::table(run, estimates, columns())).collect(),
        Format::Json => report::several::json(&both),
        Format::Csv => report::several::csv(&both),
        Format::Markdown => report::several::markdown(&both),
        Format::Html => report::html(&both),
        Format::OpenMetrics => report::openmetrics(&both),
        Format::VegaLite => report::vega_lite(&both),
    }
}

/// The columns of the terminal behind stdout; else what COLUMNS says; else a default.
pub(super) fn columns() -> usize {
    let asked = rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    let told = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    asked.filter(|columns| *columns > 0).or_else(told).unwrap_or(DEFAULT_COLUMNS).clamp(40, 1000)
}
