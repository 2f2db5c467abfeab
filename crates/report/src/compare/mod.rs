//! A comparison of two runs as text: what else differs, a row per cell, and the method. For the
//! terminal, in Markdown of few columns for mailing lists and pull requests, as JSON, as a page,
//! and as the results of tests.

pub(crate) mod aspects;
pub mod calibration;
mod page;
pub(crate) mod rows;
pub(crate) mod sentences;
mod tap;

pub use page::html;
pub(crate) use sentences::gross;
pub use tap::tap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::json::text;
use crate::markdown::Width;
use crate::terminal::layout::Layout;
use crate::text::{markdown_text, wrap};
use zc_analysis::Withheld;
use zc_analysis::compare::{Compared, Judgement, Reason};

/// Why the run of this name is not to be judged.
pub(crate) fn reason_in_words(name: &str, why: &Withheld) -> String {
    sentences::reason(&Reason { name: name.to_owned(), why: why.clone() })
}

/// Column in which the text of notes begins.
const INDENT: usize = 14;

/// Output of `zc compare --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Output of zc compare --json")]
struct Document<'a> {
    /// The old run and each of the new ones.
    comparisons: &'a [Compared],
    /// The result of `--fail-if-worse`; null where it was not given.
    judgement: Option<&'a Judgement>,
}

/// Why there is no verdict at all; `None` where there may be one.
pub fn no_verdict(compared: &Compared) -> Option<String> {
    match (compared.impossible.is_empty(), compared.withheld.is_empty()) {
        (false, _) => Some(sentences::impossible(compared)),
        (true, false) => Some(sentences::withheld(compared)),
        (true, true) => None,
    }
}

/// Renders for a terminal, in at most `columns` columns where that is possible.
pub fn table(compared: &[Compared], judgement: Option<&Judgement>, columns: usize) -> String {
    let mut parts: Vec<String> = compared.iter().map(|compared| one(compared, columns)).collect();
    if let Some(judgement) = judgement {
        parts.push(wrap("", &sentences::judgement(judgement), 0, columns));
    }
    parts.join("\n")
}

fn one(compared: &Compared, columns: usize) -> String {
    let mut out = String::new();
    let mut last = "";
    for note in sentences::above(compared) {
        // Repeated labels are printed once.
        let label = if note.label == last { "" } else { note.label };
        last = note.label;
        out.push_str(&wrap(label, &note.text, INDENT, columns));
    }
    if !compared.cells.is_empty() {
        out.push('\n');
        for grid in rows::grids(compared) {
            let grids = grid
                .split(1, columns)
                .into_iter()
                .map(|grid| grid.terminal(Layout::plain(columns)));
            out.push_str(&grids.collect::<Vec<_>>().join("\n"));
            out.push('\n');
        }
    }
    for note in sentences::below(compared) {
        out.push_str(&wrap(note.label, &note.text, INDENT, columns));
    }
    if !compared.cells.is_empty() {
        out.push('\n');
    }
    for sentence in sentences::verdict(compared) {
        out.push_str(&wrap("", &sentence, 0, columns));
    }
    out
}

/// The comparisons in Markdown of at most `columns` columns, except for unbreakable names.
pub fn markdown(compared: &[Compared], judgement: Option<&Judgement>, columns: usize) -> String {
    let width = Width::Columns(columns);
    let mut out = String::new();
    for compared in compared {
        let title = format!("{} against {}", compared.new.name, compared.old.name);
        out.push_str(&format!("## {}\n\n", markdown_text(&title)));
        for note in sentences::above(compared) {
            out.push_str(&width.item(&format!("{}: {}", note.label, note.text)));
        }
        for grid in rows::grids(compared).into_iter().filter(|_| !compared.cells.is_empty()) {
            out.push('\n');
            out.push_str(&width.table(1, grid));
        }
        out.push('\n');
        for note in sentences::below(compared) {
            out.push_str(&width.item(&format!("{}: {}", note.label, note.text)));
        }
        out.push('\n');
        for sentence in sentences::verdict(compared) {
            out.push_str(&width.paragraph(&sentence));
        }
        out.push('\n');
    }
    if let Some(judgement) = judgement {
        out.push_str(&width.paragraph(&sentences::judgement(judgement)));
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Returns one JSON document, indented, with a line feed at its end.
pub fn json(compared: &[Compared], judgement: Option<&Judgement>) -> String {
    text(&Document { comparisons: compared, judgement })
}

/// The JSON Schema (draft 2020-12) of [`json`].
pub fn json_schema() -> String {
    crate::json::schema_of::<Document<'static>>()
}

#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod tests_tap;
