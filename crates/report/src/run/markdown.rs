//! The report in Markdown: for issues and pages, or in few columns for reading as text.

use super::pivot::Pivot;
use super::{answer, notes_above, notes_below, pivot_tables, rough};
use crate::experiments;
use crate::figures::table as cells;
use crate::markdown::Width;
use crate::text::markdown_text;
use zc_analysis::Estimates;
use zc_run::Run;

/// The whole report in Markdown, with one line per paragraph, for rendering.
pub fn markdown(run: &Run, estimates: &Estimates) -> String {
    document(run, estimates, Width::Any)
}

/// The whole report in at most so many columns where possible.
pub(crate) fn narrow(run: &Run, estimates: &Estimates, columns: usize) -> String {
    document(run, estimates, Width::Columns(columns))
}

fn document(run: &Run, estimates: &Estimates, width: Width) -> String {
    if let Some(profile) = zc_analysis::profile::profile(run) {
        return crate::profile::markdown(run, estimates, &profile, width);
    }
    let mut out = format!("## zc {}\n\n", markdown_text(&run.header.plan.experiment));
    for note in notes_above::above(run, estimates) {
        out.push_str(&width.item(&format!("{}: {}", note.label, note.text)));
    }
    out.push('\n');
    let section = experiments::section(run, estimates);
    let (main, parts) = experiments::placed(run, section.parts);
    let pivot = Pivot::build(run, estimates);
    match &pivot {
        _ if !estimates.rough.is_empty() => {
            out.extend(rough::part(estimates).map(|rough| rough.markdown(width)));
        }
        None if main.is_empty() => out.push_str(&main_table(run, estimates, width)),
        None => {
            let main = main.iter().map(|part| part.markdown(width));
            out.push_str(&main.collect::<Vec<_>>().join("\n"));
        }
        Some(pivot) => {
            let grids: Vec<String> = pivot_tables::grids(run, estimates, pivot)
                .iter()
                .map(|part| part.markdown(width))
                .collect();
            out.push_str(&grids.join("\n"));
        }
    }
    let unavailable = notes_below::unavailable(run);
    if !unavailable.is_empty() {
        out.push_str("\nNot available here:\n\n");
        for (name, reason) in unavailable {
            out.push_str(&width.item(&format!("{name}: {reason}")));
        }
    }
    let footnotes = notes_below::footnotes(run, estimates);
    if !footnotes.is_empty() {
        out.push('\n');
        for footnote in footnotes {
            out.push_str(&width.item(&footnote));
        }
    }
    if estimates.blocks.kept > 0 && pivot.is_none() {
        out.push_str("\n### Traffic\n\n");
        out.push_str(&width.table(1, cells::grid(run, estimates, &cells::traffic())));
    }
    if !parts.is_empty() {
        out.push_str("\n### Then and now\n");
        for part in &parts {
            out.push('\n');
            out.push_str(&part.markdown(width));
        }
    }
    out.push_str("\n### Controls and conditions\n\n");
    for note in notes_below::below(run, estimates) {
        out.push_str(&width.item(&format!("{}: {}", note.label, note.text)));
    }
    out.push_str("\n### Verdict\n\n");
    for sentence in answer::in_full(run, estimates, section.conclusion) {
        out.push_str(&width.paragraph(&sentence));
    }
    out
}

/// The main table of a plan whose cells are the rows.
fn main_table(run: &Run, estimates: &Estimates, width: Width) -> String {
    match width {
        Width::Any => cells::grid(run, estimates, &cells::main_columns()).markdown(),
        // Related columns stay together.
        Width::Columns(_) => [cells::costs(), cells::sides()]
            .map(|fields| width.table(1, cells::grid(run, estimates, &fields)))
            .join("\n"),
    }
}
