//! The report of a run that was sampled: what each path spends its CPU time on, and in whose context, in place of the table of paths.

mod compared;
mod folded;
mod grids;
mod summary;

pub use compared::{Named, Told, compared, compared_json, compared_markdown, differences};
pub use folded::folded;

pub(super) use grids::cells;

use super::block::Part;
use super::note::{Note, note};
use super::text::{markdown_text, wrap};
use super::width::Width;
use super::{heading, notes, prose};
use zc_analysis::Estimates;
use zc_analysis::profile::ProfileEstimates;
use zc_run::Run;

/// Where the text of notes begins.
const INDENT: usize = 14;

/// For a terminal.
pub(super) fn table(run: &Run, estimates: &Estimates, profile: &ProfileEstimates, columns: usize) -> String {
    let mut out = String::new();
    let told = |notes: Vec<Note>| -> String {
        notes.into_iter().map(|note| wrap(note.label, &note.text, INDENT, columns)).collect()
    };
    out.push_str(&told(above(run, estimates, profile)));
    out.push('\n');
    for part in parts(run, profile) {
        out.push_str(&part.terminal(columns));
        out.push('\n');
    }
    out.push_str(&told(below(run, estimates, profile)));
    out.push('\n');
    for sentence in sentences(run, estimates, profile) {
        out.push_str(&wrap("", &sentence, 0, columns));
    }
    out
}

/// In Markdown.
pub(super) fn markdown(run: &Run, estimates: &Estimates, profile: &ProfileEstimates, width: Width) -> String {
    let listed = |notes: Vec<Note>| -> String {
        notes.into_iter().map(|note| width.item(&format!("{}: {}", note.label, note.text))).collect()
    };
    let mut out = format!("## zc {}\n\n", markdown_text(&run.header.plan.experiment));
    out.push_str(&listed(above(run, estimates, profile)));
    for part in parts(run, profile) {
        out.push('\n');
        out.push_str(&part.markdown(width));
    }
    out.push_str(&format!("\n### Why to believe it\n\n{}", listed(below(run, estimates, profile))));
    out.push_str("\n### Verdict\n\n");
    for sentence in sentences(run, estimates, profile) {
        out.push_str(&width.paragraph(&sentence));
    }
    out
}

pub(super) fn above(run: &Run, estimates: &Estimates, profile: &ProfileEstimates) -> Vec<Note> {
    let mut notes = heading::above(run, estimates);
    notes.retain(|note| note.label != "figures");
    notes.push(note("sampled", summary::sampled(run, profile)));
    notes.push(note("figures", summary::figures(estimates, profile)));
    notes
}

pub(super) fn parts(run: &Run, profile: &ProfileEstimates) -> Vec<Part> {
    if grids::cells(profile).next().is_none() {
        return Vec::new();
    }
    let beside = grids::beside(run, profile);
    let mut parts = vec![grids::classes(profile, beside.as_ref()), grids::contexts(profile, beside.as_ref())];
    parts.extend(grids::functions(profile));
    parts
}

pub(super) fn below(run: &Run, estimates: &Estimates, profile: &ProfileEstimates) -> Vec<Note> {
    let mut all = summary::believe(run, profile);
    all.extend(notes::below(run, estimates));
    all
}

pub(super) fn sentences(run: &Run, estimates: &Estimates, profile: &ProfileEstimates) -> Vec<String> {
    let mut said = prose::verdict(run, estimates);
    if estimates.verdict.stands() {
        said.extend(summary::where_it_went(run, profile));
    }
    said
}

#[cfg(test)]
mod tests;
