//! The report for a terminal: which of its forms, and the full one.

use super::pivot::Pivot;
use super::{answer, notes_above, notes_below, pivot_tables, rough, short};
use crate::figures::table as cells;
use crate::terminal::layout::Layout;
use crate::terminal::note;
use crate::terminal::part::Part;
use crate::text::wrap;
use crate::{experiments, profile};
use zc_analysis::Estimates;
use zc_run::Run;

/// The report of a run. In full: for a plan of one factor the main table, in two parts where it
/// does not fit; for several factors a grid per quantity; for a sampled run its profile. In short:
/// three lines, one table, the controls and the answer.
pub fn table(run: &Run, estimates: &Estimates, layout: Layout) -> String {
    let sampled = zc_analysis::profile::profile(run);
    match (layout.verbose, &sampled) {
        (false, Some(profile)) => profile::brief(run, estimates, profile, layout),
        (false, None) => short::brief(run, estimates, layout),
        (true, Some(profile)) => profile::table(run, estimates, profile, layout),
        (true, None) => full(run, estimates, layout),
    }
}

fn full(run: &Run, estimates: &Estimates, layout: Layout) -> String {
    let mut out = note::terminal(&notes_above::above(run, estimates), layout);
    out.push('\n');

    let section = experiments::section(run, estimates);
    let (main, parts) = experiments::placed(run, section.parts);
    if let Some(rough) = rough::part(estimates) {
        out.push_str(&rough.terminal(layout));
        out.push_str(&footer(run, estimates, layout.columns));
        out.push('\n');
    } else if let Some(pivot) = Pivot::build(run, estimates) {
        for part in pivot_tables::grids(run, estimates, &pivot) {
            out.push_str(&part.terminal(layout));
            out.push('\n');
        }
        let under = footer(run, estimates, layout.columns);
        if !under.is_empty() {
            out.push_str(&under);
            out.push('\n');
        }
    } else {
        main_table(&mut out, run, estimates, &main, layout);
    }
    for part in &parts {
        out.push_str(&part.terminal(layout));
        out.push('\n');
    }

    if estimates.cells.iter().any(|cell| cell.sockets.congestion.is_some()) {
        let sockets = cells::grid(run, estimates, &cells::sockets()).split(1, layout.columns);
        let grids = sockets.into_iter().map(|grid| grid.terminal(layout));
        out.push_str(&grids.collect::<Vec<_>>().join("\n"));
        out.push('\n');
    }

    out.push_str(&note::terminal(&notes_below::below(run, estimates), layout));
    out.push('\n');
    for sentence in answer::in_full(run, estimates, section.conclusion) {
        out.push_str(&wrap("", &sentence, 0, layout.columns));
    }
    out
}

/// The tables of a plan whose cells are the rows; `main` are those of its experiment, if it has its
/// own.
fn main_table(out: &mut String, run: &Run, estimates: &Estimates, main: &[Part], layout: Layout) {
    let whole = cells::grid(run, estimates, &cells::main_columns());
    if !main.is_empty() {
        let parts = main.iter().map(|part| part.terminal(layout));
        out.push_str(&parts.collect::<Vec<_>>().join("\n"));
        out.push_str(&footer(run, estimates, layout.columns));
    } else if whole.columns_wide() <= layout.columns {
        out.push_str(&whole.terminal(layout));
        out.push_str(&footer(run, estimates, layout.columns));
    } else {
        out.push_str(&cells::grid(run, estimates, &cells::costs()).terminal(layout));
        out.push_str(&footer(run, estimates, layout.columns));
        out.push('\n');
        out.push_str(&cells::grid(run, estimates, &cells::sides()).terminal(layout));
    }
    out.push('\n');
    if estimates.blocks.kept > 0 {
        out.push_str(&cells::grid(run, estimates, &cells::traffic()).terminal(layout));
        out.push('\n');
    }
}

/// Paths that were not available, and the meaning of the marks.
fn footer(run: &Run, estimates: &Estimates, columns: usize) -> String {
    let unavailable = notes_below::unavailable(run);
    let names = unavailable.iter().map(|(name, _)| name.chars().count());
    let indent = names.max().unwrap_or(0).min(40) + 2;
    let mut out = String::new();
    for (name, reason) in &unavailable {
        out.push_str(&wrap(name, reason, indent, columns));
    }
    for footnote in notes_below::footnotes(run, estimates) {
        out.push_str(&wrap("", &footnote, 0, columns));
    }
    out
}
