//! The report of a trend as text, JSON, CSV, metrics and a page: the night from which on a path has
//! another cost, by how much, what changed with it, and what did not.

mod charts;
mod csv;
mod openmetrics;
mod page;
mod tables;
mod words;

pub use csv::csv;
pub use openmetrics::openmetrics;
pub use page::html;

use schemars::JsonSchema;
use serde::Serialize;

use crate::terminal::layout::Layout;
use crate::terminal::note;
use crate::text::wrap;
use zc_analysis::fleet::{Event, Trend};

/// Output of `zc trend --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Output of zc trend --json")]
struct Document<'a> {
    /// Combined result of the runs of all nights.
    #[serde(flatten)]
    trend: &'a Trend,
    /// The user's notes.
    events: &'a [Event],
}

/// Renders for a terminal, in at most `columns` columns where that is possible.
pub fn text(trend: &Trend, events: &[Event], columns: usize) -> String {
    let layout = Layout::plain(columns);
    let mut out = note::terminal(&words::heading(trend), layout);
    out.push('\n');
    for sentence in words::answer(trend) {
        out.push_str(&wrap("", &sentence, 0, columns));
    }
    for occasion in words::occasions(trend) {
        out.push('\n');
        let when = format!("{}.", words::when(trend, &occasion));
        for sentence in [vec![when], words::why(&occasion)].concat() {
            out.push_str(&wrap("", &sentence, 0, columns));
        }
        out.push_str(&tables::terminal(
            tables::changes(trend, &occasion),
            layout,
            tables::keys(trend),
        ));
    }
    if let Some(grid) = tables::unchanged(trend) {
        out.push('\n');
        out.push_str(&wrap("", tables::UNCHANGED, 0, columns));
        out.push_str(&tables::terminal(grid, layout, tables::keys(trend)));
    }
    out.push('\n');
    let below = [words::events(events), words::left_out(trend), words::method(trend)].concat();
    out.push_str(&note::terminal(&note::remove_repeated_labels(below), layout));
    out
}

/// Returns one JSON document, indented, with a line feed at its end.
pub fn json(trend: &Trend, events: &[Event]) -> String {
    crate::json::text(&Document { trend, events })
}

/// The JSON Schema (draft 2020-12) of [`json`].
pub fn json_schema() -> String {
    crate::json::schema_of::<Document<'static>>()
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
