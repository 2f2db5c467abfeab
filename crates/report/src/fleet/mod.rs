//! The report of a fleet as text, JSON, CSV, metrics and a page: the cost of each path in each
//! group of hosts, odd hosts and pairs, effects of conditions, and missing measurements.

mod cheapest;
pub(crate) mod csv;
mod export;
mod findings;
mod group_choices;
mod missing;
pub(crate) mod names;
pub(crate) mod openmetrics;
mod page;
pub(crate) mod parts;
pub(crate) mod tables;
pub(crate) mod words;

pub use csv::csv;
pub use export::{csv as export_csv, parquet as export_parquet};
pub use missing::Missing;
pub use openmetrics::openmetrics;
pub use page::html;

use schemars::JsonSchema;
use serde::Serialize;

use crate::terminal::layout::Layout;
use crate::terminal::note;
use crate::text::wrap;
use zc_analysis::fleet::Fleet;

/// Output of `zc fleet report --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Output of zc fleet report --json")]
struct Document<'a> {
    /// Combined result of the runs.
    #[serde(flatten)]
    fleet: &'a Fleet,
    /// Measurements that were planned and have no run.
    missing: &'a [Missing],
}

/// Renders for a terminal, in at most `columns` columns where that is possible.
pub fn text(fleet: &Fleet, missing: &[Missing], columns: usize) -> String {
    let layout = Layout::plain(columns);
    let mut out = note::terminal(&words::heading(fleet), layout);
    out.push('\n');
    for sentence in words::answer(fleet, missing) {
        out.push_str(&wrap("", &sentence, 0, columns));
    }
    for part in tables::costs(fleet).iter().chain(&tables::spreads(fleet)) {
        out.push('\n');
        out.push_str(&part.terminal(layout));
    }
    out.push('\n');
    let below =
        [words::odd(fleet), words::missing_runs(fleet, missing), words::method(fleet)].concat();
    out.push_str(&note::terminal(&note::remove_repeated_labels(below), layout));
    out
}

/// Returns one JSON document, indented, with a line feed at its end.
pub fn json(fleet: &Fleet, missing: &[Missing]) -> String {
    crate::json::text(&Document { fleet, missing })
}

/// The JSON Schema (draft 2020-12) of [`json`].
pub fn json_schema() -> String {
    crate::json::schema_of::<Document<'static>>()
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
