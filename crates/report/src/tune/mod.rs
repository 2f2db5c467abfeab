//! `zc tune` as text, as a page and as JSON: which lines of a server's configuration to change, what
//! each is worth, and by what that is known.

mod about;
mod basis;
mod controls;
mod document;
mod lines;
mod page;
mod sentences;
mod tables;

pub use about::About;
pub use controls::PhaseControls;
pub use document::TuneReport;
pub use page::html;

use crate::terminal::layout::Layout;
use crate::terminal::note;
use crate::text::wrap;
use zc_run::escape;

/// Returns one JSON document, indented, with a line feed at its end.
pub fn json(report: &TuneReport) -> String {
    crate::json::text(report)
}

/// The JSON Schema (draft 2020-12) of [`json`].
pub fn json_schema() -> String {
    crate::json::schema_of::<TuneReport>()
}

/// Renders for a terminal: the answer, the table of lines, the difference that makes the change,
/// what was not compared and why, the mix, and the controls of each run.
pub fn text(report: &TuneReport, layout: Layout) -> String {
    let mut out = String::new();
    for sentence in &report.sentences {
        out.push_str(&wrap("", sentence, 0, layout.columns));
    }
    if let Some(table) = tables::compared(&report.answer, false) {
        out.push('\n');
        out.push_str(&table.terminal(layout));
    }
    if let Some(table) = tables::steps(&report.answer) {
        out.push('\n');
        out.push_str(&table.terminal(layout));
    }
    if !report.diff.is_empty() {
        out.push('\n');
        // As it is, tabs too: who applies it copies it from here.
        for line in report.diff.lines() {
            let parts: Vec<String> =
                line.split('\t').map(|part| escape(part, usize::MAX)).collect();
            out.push_str(&parts.join("\t"));
            out.push('\n');
        }
    }
    let notes = [tables::not_compared(&report.answer), basis::notes(report)].concat();
    out.push('\n');
    out.push_str(&note::terminal(&note::remove_repeated_labels(notes), layout));
    out
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
