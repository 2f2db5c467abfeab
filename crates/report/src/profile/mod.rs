//! The report of a sampled run: what each path spends its CPU time on, and in which context,
//! instead of the table of paths.

mod compared;
mod folded;
mod sentences;
mod tables;

pub use compared::{ComparedCells, Named, compared, compared_json, compared_markdown, differences};
pub use folded::folded;

pub(super) use tables::cells;

use crate::markdown::Width;
use crate::run::{answer, notes_above, notes_below, short, verdict};
use crate::terminal::layout::Layout;
use crate::terminal::note::{self, Note};
use crate::terminal::part::Part;
use crate::text::{markdown_text, wrap};
use zc_analysis::Estimates;
use zc_analysis::profile::ProfileEstimates;
use zc_run::Run;

/// Renders for a terminal, in full.
pub(super) fn table(
    run: &Run,
    estimates: &Estimates,
    profile: &ProfileEstimates,
    layout: Layout,
) -> String {
    let mut out = note::terminal(&above(run, estimates, profile), layout);
    out.push('\n');
    for part in parts(run, profile) {
        out.push_str(&part.terminal(layout));
        out.push('\n');
    }
    out.push_str(&note::terminal(&below(run, estimates, profile), layout));
    out.push('\n');
    for sentence in sentences(run, estimates, profile) {
        out.push_str(&wrap("", &sentence, 0, layout.columns));
    }
    out
}

/// Renders for a terminal, in short: the classes and contexts, the controls and the answer.
pub(super) fn brief(
    run: &Run,
    estimates: &Estimates,
    profile: &ProfileEstimates,
    layout: Layout,
) -> String {
    let mut above = short::above(run, estimates);
    above.push(note::note("sampled", sentences::sampled(run, profile)));
    let mut out = note::terminal(&above, layout);
    out.push('\n');
    for part in tables(run, profile) {
        out.push_str(&part.terminal(layout));
        out.push('\n');
    }
    let mut controls = short::controls(run, estimates);
    controls.extend(sentences::unsampled_code(run, profile));
    controls.extend(sentences::unknown(profile));
    out.push_str(&note::terminal(&controls, layout));
    out.push('\n');
    let mut answer = answer::answer(run, estimates, None);
    if estimates.verdict.stands() {
        answer.extend(sentences::largest_class_differences(run, estimates, profile));
    }
    out + &short::closing(&answer, layout)
}

/// Renders in Markdown.
pub(super) fn markdown(
    run: &Run,
    estimates: &Estimates,
    profile: &ProfileEstimates,
    width: Width,
) -> String {
    let listed = |notes: Vec<Note>| -> String {
        notes
            .into_iter()
            .map(|note| width.item(&format!("{}: {}", note.label, note.text)))
            .collect()
    };
    let mut out = format!("## zc {}\n\n", markdown_text(&run.header.plan.experiment));
    out.push_str(&listed(above(run, estimates, profile)));
    for part in parts(run, profile) {
        out.push('\n');
        out.push_str(&part.markdown(width));
    }
    out.push_str(&format!(
        "\n### Controls and conditions\n\n{}",
        listed(below(run, estimates, profile))
    ));
    out.push_str("\n### Verdict\n\n");
    for sentence in sentences(run, estimates, profile) {
        out.push_str(&width.paragraph(&sentence));
    }
    out
}

pub(super) fn above(run: &Run, estimates: &Estimates, profile: &ProfileEstimates) -> Vec<Note> {
    let mut notes = notes_above::above(run, estimates);
    notes.retain(|note| note.label != "figures");
    notes.push(note::note("sampled", sentences::sampled(run, profile)));
    notes.push(note::note("figures", sentences::figures(estimates, profile)));
    notes
}

pub(super) fn parts(run: &Run, profile: &ProfileEstimates) -> Vec<Part> {
    let mut parts = tables(run, profile);
    if !parts.is_empty() {
        parts.extend(tables::functions(profile));
    }
    parts
}

/// The tables by class and by context; none where no sample counts.
fn tables(run: &Run, profile: &ProfileEstimates) -> Vec<Part> {
    if tables::cells(profile).next().is_none() {
        return Vec::new();
    }
    let between = tables::only_difference(run, profile);
    vec![tables::classes(profile, between.as_ref()), tables::contexts(profile, between.as_ref())]
}

pub(super) fn below(run: &Run, estimates: &Estimates, profile: &ProfileEstimates) -> Vec<Note> {
    let mut all = sentences::reliability(run, profile);
    all.extend(notes_below::below(run, estimates));
    all
}

pub(super) fn sentences(
    run: &Run,
    estimates: &Estimates,
    profile: &ProfileEstimates,
) -> Vec<String> {
    let mut sentences = verdict::verdict(run, estimates);
    if estimates.verdict.stands() {
        sentences.extend(sentences::largest_class_differences(run, estimates, profile));
    }
    sentences
}

#[cfg(test)]
mod tests;
