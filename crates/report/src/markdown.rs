//! The report in Markdown: for an issue or a page, or in lines of 80 columns for whoever reads it as it is.

use super::grid::{Grid, markdown_text, wrap};
use super::pivot::Cross;
use super::rows::{COSTS, SIDES, TRAFFIC, WHOLE};
use super::{experiments, grids, heading, notes, prose, rows};
use zc_analysis::Estimates;
use zc_run::Run;

/// How wide it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// A paragraph to a line, a table as wide as it is: what is read when it has been laid out.
    Any,
    /// At most so many columns, where that is possible; the columns of tables line up.
    Columns(usize),
}

/// The whole report.
pub fn markdown(run: &Run, estimates: &Estimates) -> String {
    document(run, estimates, Width::Any)
}

/// The whole report in 80 columns.
pub(super) fn narrow(run: &Run, estimates: &Estimates) -> String {
    document(run, estimates, Width::Columns(80))
}

fn document(run: &Run, estimates: &Estimates, width: Width) -> String {
    if let Some(profile) = zc_analysis::profile::profile(run) {
        return super::profile::markdown(run, estimates, &profile, width);
    }
    let mut out = format!("## zc {}\n\n", markdown_text(&run.header.plan.experiment));
    for note in heading::above(run, estimates) {
        out.push_str(&width.item(&format!("{}: {}", note.label, note.text)));
    }
    out.push('\n');
    let section = experiments::section(run, estimates);
    let cross = Cross::of(run, estimates);
    match &cross {
        None => out.push_str(&cells(run, estimates, width)),
        Some(cross) => {
            let grids: Vec<String> =
                grids::grids(run, estimates, cross).iter().map(|part| part.markdown(width)).collect();
            out.push_str(&grids.join("\n"));
        }
    }
    let unavailable = notes::unavailable(run);
    if !unavailable.is_empty() {
        out.push_str("\nNot to be had here:\n\n");
        for (name, reason) in unavailable {
            out.push_str(&width.item(&format!("{name}: {reason}")));
        }
    }
    let footnotes = notes::footnotes(run, estimates);
    if !footnotes.is_empty() {
        out.push('\n');
        for footnote in footnotes {
            out.push_str(&width.item(&footnote));
        }
    }
    if estimates.blocks.kept > 0 && cross.is_none() {
        out.push_str("\n### Traffic\n\n");
        out.push_str(&width.table(1, rows::grid(run, estimates, TRAFFIC)));
    }
    if !section.parts.is_empty() {
        out.push_str("\n### Then and now\n");
        for part in &section.parts {
            out.push('\n');
            out.push_str(&part.markdown(width));
        }
    }
    out.push_str("\n### Why to believe it\n\n");
    for note in notes::below(run, estimates) {
        out.push_str(&width.item(&format!("{}: {}", note.label, note.text)));
    }
    out.push_str("\n### Verdict\n\n");
    for sentence in prose::verdict(run, estimates).iter().chain(&section.says) {
        out.push_str(&width.paragraph(sentence));
    }
    out
}

/// The main table of a plan whose cells are the rows.
fn cells(run: &Run, estimates: &Estimates, width: Width) -> String {
    match width {
        Width::Any => rows::grid(run, estimates, WHOLE).markdown(),
        // What belongs together stays together.
        Width::Columns(_) => [COSTS, SIDES].map(|fields| width.table(1, rows::grid(run, estimates, fields))).join("\n"),
    }
}

impl Width {
    /// An item of a list.
    pub(super) fn item(self, text: &str) -> String {
        match self {
            Self::Any => format!("- {}\n", markdown_text(text)),
            Self::Columns(columns) => inert(&wrap("- ", &markdown_text(text), 2, columns - 1), 2),
        }
    }

    /// A sentence or several.
    pub(super) fn paragraph(self, text: &str) -> String {
        match self {
            Self::Any => markdown_text(text) + "\n",
            Self::Columns(columns) => inert(&wrap("", &markdown_text(text), 0, columns - 1), 0),
        }
    }

    /// A table, its first columns in each of the tables that it takes.
    pub(super) fn table(self, keys: usize, grid: Grid) -> String {
        match self {
            Self::Any => grid.markdown(),
            Self::Columns(columns) => {
                let tables = grid.split_markdown(keys, columns).into_iter().map(|grid| grid.markdown_in_line());
                tables.collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// Lines that were broken anew, without one that Markdown would take for the beginning of something: a list, a quotation, a rule.
fn inert(text: &str, indent: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for (place, line) in text.lines().enumerate() {
        let (margin, words) = line.split_at(line.len() - line.trim_start().len());
        let digits = words.chars().take_while(char::is_ascii_digit).count();
        out.push_str(margin);
        if place == 0 && indent > 0 {
            out.push_str(words); // the item's own mark
        } else if words.starts_with(['-', '+', '>', '=']) {
            out.push('\\');
            out.push_str(words);
        } else if digits > 0 && words[digits..].starts_with(['.', ')']) {
            out.push_str(&words[..digits]);
            out.push('\\');
            out.push_str(&words[digits..]);
        } else {
            out.push_str(words);
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_begins_something_new() {
        let text = "- where there is nothing to say - and 12. of May 7) is > than = or + a\n";
        assert_eq!(
            inert("a\n- b\n12. c\n3) d\n> e\n+ f\n=== g\n12.5 h\n", 0),
            "a\n\\- b\n12\\. c\n3\\) d\n\\> e\n\\+ f\n\\=== g\n12\\.5 h\n"
        );
        let item = Width::Columns(24).item(text.trim_end());
        assert!(item.starts_with("- \\- ") || item.starts_with("- - "), "{item}");
        assert!(item.lines().skip(1).all(|line| !line.trim_start().starts_with("- ")), "{item}");
        assert!(item.lines().all(|line| line.len() <= 24), "{item}");
    }
}
