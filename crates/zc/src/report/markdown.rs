//! The report in Markdown, for an issue or a page.

use super::cross::Cross;
use super::grid::markdown_text;
use super::part::Part;
use super::rows::{TRAFFIC, WHOLE};
use super::{experiments, grids, heading, notes, rows, words};
use crate::estimate::Estimates;
use crate::record::Run;

/// The whole report.
pub fn markdown(run: &Run, estimates: &Estimates) -> String {
    let mut out = format!("## zc {}\n\n", markdown_text(&run.header.plan.experiment));
    for note in heading::above(run, estimates) {
        out.push_str(&format!("- {}: {}\n", note.label, markdown_text(&note.text)));
    }
    out.push('\n');
    let section = experiments::section(run, estimates);
    let cross = Cross::of(run, estimates);
    match &cross {
        None => out.push_str(&rows::grid(run, estimates, WHOLE).markdown()),
        Some(cross) => {
            let grids: Vec<String> = grids::grids(run, estimates, cross).iter().map(Part::markdown).collect();
            out.push_str(&grids.join("\n"));
        }
    }
    let unavailable = notes::unavailable(run);
    if !unavailable.is_empty() {
        out.push_str("\nNot to be had here:\n\n");
        for (name, reason) in unavailable {
            out.push_str(&format!("- {}: {}\n", markdown_text(&name), markdown_text(&reason)));
        }
    }
    let footnotes = notes::footnotes(run, estimates);
    if !footnotes.is_empty() {
        out.push('\n');
        for footnote in footnotes {
            out.push_str(&format!("- {}\n", markdown_text(&footnote)));
        }
    }
    if estimates.blocks.kept > 0 && cross.is_none() {
        out.push_str("\n### Traffic\n\n");
        out.push_str(&rows::grid(run, estimates, TRAFFIC).markdown());
    }
    if !section.parts.is_empty() {
        out.push_str("\n### Then and now\n");
        for part in &section.parts {
            out.push('\n');
            out.push_str(&part.markdown());
        }
    }
    out.push_str("\n### Why to believe it\n\n");
    for note in notes::below(run, estimates) {
        out.push_str(&format!("- {}: {}\n", note.label, markdown_text(&note.text)));
    }
    out.push_str("\n### Verdict\n\n");
    for sentence in words::verdict(run, estimates).iter().chain(&section.says) {
        out.push_str(&markdown_text(sentence));
        out.push('\n');
    }
    out
}
