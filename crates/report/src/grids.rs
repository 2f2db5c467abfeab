//! The tables of a plan of several factors: costs, ratios and top speeds, each as a grid of [`Cross`]'s rows and columns.

use std::collections::BTreeSet;

use super::baseline::Against;
use super::block::Part;
use super::digits::rate;
use super::grid::{Column, Grid};
use super::pivot::{Cross, Placed};
use super::rows::{self, cost, ratio_of, signs};
use super::speed::Unit;
use super::text::distinct;
use zc_analysis::{CellEstimate, Comparison, Estimates, Figure};
use zc_run::{Factor, Run};

/// What stands where there is no figure.
pub(super) const NONE: &str = "-";

/// Behind a ratio that could not be told from 1.
pub(super) const UNDECIDED: &str = "?";

/// A cost of one end or of both.
pub(super) type CostOf = fn(&CellEstimate) -> Option<Figure>;

/// Whose costs a run has: that of both first where there are three.
pub(super) fn whose(estimates: &Estimates) -> &'static [(&'static str, CostOf)] {
    if estimates.sender_alone {
        &[("the sender", |cell| cell.cost_ns_per_kib.both)]
    } else if estimates.sides_apart {
        &[
            ("both ends", |cell| cell.cost_ns_per_kib.both),
            ("the sender", |cell| cell.cost_ns_per_kib.sender),
            ("the receiver", |cell| cell.cost_ns_per_kib.receiver),
        ]
    } else {
        &[("both ends", |cell| cell.cost_ns_per_kib.both)]
    }
}

/// Every grid that there is something to see in.
pub(super) fn grids(run: &Run, estimates: &Estimates, cross: &Cross) -> Vec<Part> {
    let mut parts = Vec::new();
    for (whose, of) in whose(estimates) {
        parts.extend(table(run, cross, format!("Cost of {whose}, us/MB"), true, |placed| {
            of(placed.figures).map(|figure| cost(Some(figure)) + &signs(placed.figures))
        }));
    }

    parts.extend(ratios(run, estimates, cross));
    if cross.cells().any(|placed| placed.figures.ratio.both.is_some()) {
        parts.extend(Against::of(cross).listed().map(|text| Part::Text(vec![format!("Compared: {text}.")])));
    }

    let unit = Unit::of(run);
    let caption = format!("Top speed, unpaced and without soakers, {}", unit.name());
    parts.extend(table(run, cross, caption, false, |placed| {
        // In a plan that measures them in turn most cells of many have too few for an interval, and so no figure.
        placed.figures.top_speed_bytes_per_s.filter(|speed| speed.interval.is_some()).map(|speed| unit.text(speed))
    }));
    if parts.is_empty() {
        parts.push(Part::Text(vec![format!("No figure yet of any of {} cells.", cross.cells().count())]));
    }
    parts
}

/// The ratio of each cell's cost to that of the cell it is compared with.
pub(super) fn ratios(run: &Run, estimates: &Estimates, cross: &Cross) -> Option<Part> {
    if !cross.cells().any(|placed| placed.figures.ratio.both.is_some()) {
        return None;
    }
    let bases: BTreeSet<&str> = cross.cells().filter_map(|placed| placed.figures.by.as_deref()).collect();
    let of = if estimates.sender_alone { "the sender's cost" } else { "the cost of both ends" };
    let caption = format!("Ratio of {of} to that of {}", Against::of(cross).text());
    let mut part = table(run, cross, caption, false, |placed| {
        let cell = placed.figures;
        if cell.ratio.both.is_some() {
            return Some(ratio_of(cell) + if undecided(estimates, cell) { UNDECIDED } else { "" });
        }
        let base = bases.contains(placed.cell.label.as_str()) && cell.cost_ns_per_kib.both.is_some();
        base.then(|| "1".to_owned())
    });
    if let Some(Part::Table { keys, grid, .. }) = &mut part {
        for (row, cells) in cross.rows.iter().enumerate() {
            for (column, placed) in cells.cells.iter().enumerate() {
                let tone = placed.and_then(|placed| rows::tone(estimates, placed.figures));
                grid.tones.extend(tone.map(|tone| ((row, *keys + column), tone)));
            }
        }
    }
    part
}

/// What [`UNDECIDED`] means, where it is in use.
pub(super) fn footnote(estimates: &Estimates) -> Option<String> {
    let any = estimates.cells.iter().any(|cell| !cell.control && undecided(estimates, cell));
    any.then(|| format!("{UNDECIDED} could not be told from 1, all comparisons of this run taken together"))
}

/// What `text` says of each cell; `None` where it has nothing to say of any. With the rate of each row, if asked for and if
/// rows differ in it.
pub(super) fn table(
    run: &Run,
    cross: &Cross,
    caption: String,
    with_rates: bool,
    text: impl Fn(Placed) -> Option<String>,
) -> Option<Part> {
    let mut any = false;
    let rates = if with_rates { rates(run, cross) } else { None };
    let mut columns: Vec<Column> = cross.keys.iter().map(|key| Column::left(key.to_string(), "")).collect();
    columns.extend(rates.iter().map(|_| Column::left("at", "")));
    let keys = columns.len();
    columns.extend(cross.columns.iter().map(|level| Column::named(level)));
    let mut rows = Vec::new();
    for (place, row) in cross.rows.iter().enumerate() {
        let rate = rates.as_ref().map(|rates| rates.get(place).cloned().unwrap_or_default());
        let mut texts: Vec<String> = row.levels.iter().cloned().chain(rate).collect();
        for placed in &row.cells {
            let text = placed.and_then(&text);
            any |= text.is_some();
            texts.push(text.unwrap_or_else(|| NONE.to_owned()));
        }
        rows.push(texts);
    }
    any.then_some(Part::Table { caption, keys, grid: Grid::new(columns, rows) })
}

/// The rate of each row, where rows differ in it and it is not one of the factors: cells that are compared with one another
/// share a rate, others need not.
fn rates(run: &Run, cross: &Cross) -> Option<Vec<String>> {
    if cross.across == Factor::Rate || cross.keys.contains(&Factor::Rate) {
        return None;
    }
    let of = |placed: Placed| rate(run.header.plan.fixed.at(&placed.cell.levels).rate_bytes_per_s);
    let all: BTreeSet<String> = cross.cells().map(of).collect();
    // In the order of the columns.
    let each = cross.rows.iter().map(|row| distinct(row.cells.iter().flatten().copied().map(of)).join(", "));
    (all.len() > 1).then(|| each.collect())
}

/// Whether a cell was compared and could not be told from what it was compared with.
pub(super) fn undecided(estimates: &Estimates, cell: &CellEstimate) -> bool {
    estimates.verdict.stands()
        && cell.ratio.both.is_some()
        && matches!(rows::comparison(estimates, cell), Some(Comparison::Undecided))
}
