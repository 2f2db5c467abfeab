//! The report for a terminal, as wide as it is told.

use super::pivot::Cross;
use super::rows::{COSTS, SIDES, TRAFFIC, WHOLE};
use super::text::wrap;
use super::{experiments, grids, heading, notes, prose, rows};
use zc_analysis::Estimates;
use zc_run::Run;

/// Where the text of notes begins.
const INDENT: usize = 14;

/// The whole report in at most `columns` columns where that is possible. Of a plan of one factor one main table if it fits, else
/// two; of one of several a grid for each thing that was measured; of one that was sampled what the CPU time goes to.
pub fn table(run: &Run, estimates: &Estimates, columns: usize) -> String {
    if let Some(profile) = zc_analysis::profile::profile(run) {
        return super::profile::table(run, estimates, &profile, columns);
    }
    let mut out = String::new();
    for note in heading::above(run, estimates) {
        out.push_str(&wrap(note.label, &note.text, INDENT, columns));
    }
    out.push('\n');

    let section = experiments::section(run, estimates);
    if let Some(cross) = Cross::of(run, estimates) {
        for part in grids::grids(run, estimates, &cross) {
            out.push_str(&part.terminal(columns));
            out.push('\n');
        }
        let under = under(run, estimates, columns);
        if !under.is_empty() {
            out.push_str(&under);
            out.push('\n');
        }
    } else {
        cells(&mut out, run, estimates, columns);
    }
    for part in &section.parts {
        out.push_str(&part.terminal(columns));
        out.push('\n');
    }

    for note in notes::below(run, estimates) {
        out.push_str(&wrap(note.label, &note.text, INDENT, columns));
    }
    out.push('\n');
    for sentence in prose::verdict(run, estimates).iter().chain(&section.says) {
        out.push_str(&wrap("", sentence, 0, columns));
    }
    out
}

/// The tables of a plan whose cells are the rows.
fn cells(out: &mut String, run: &Run, estimates: &Estimates, columns: usize) {
    let whole = rows::grid(run, estimates, WHOLE);
    if whole.columns_wide() <= columns {
        out.push_str(&whole.terminal());
        out.push_str(&under(run, estimates, columns));
    } else {
        out.push_str(&rows::grid(run, estimates, COSTS).terminal());
        out.push_str(&under(run, estimates, columns));
        out.push('\n');
        out.push_str(&rows::grid(run, estimates, SIDES).terminal());
    }
    out.push('\n');
    if estimates.blocks.kept > 0 {
        out.push_str(&rows::grid(run, estimates, TRAFFIC).terminal());
        out.push('\n');
    }
}

/// The rows of what could not be had, and the meaning of the marks.
fn under(run: &Run, estimates: &Estimates, columns: usize) -> String {
    let unavailable = notes::unavailable(run);
    let names = unavailable.iter().map(|(name, _)| name.chars().count());
    let indent = names.max().unwrap_or(0).min(40) + 2;
    let mut out = String::new();
    for (name, reason) in &unavailable {
        out.push_str(&wrap(name, reason, indent, columns));
    }
    for footnote in notes::footnotes(run, estimates) {
        out.push_str(&wrap("", &footnote, 0, columns));
    }
    out
}
