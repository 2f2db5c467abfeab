//! The tables of a plan of several factors: costs, ratios and top speeds, as grids with the rows
//! and columns of its [`Pivot`].

use std::collections::BTreeSet;

use super::baseline::Baseline;
use super::pivot::{Pivot, Placed};
use super::rows::{self, cost, ratio_of, signs};
use super::speed::Unit;
use crate::digits::rate;
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use crate::text::distinct;
use zc_analysis::{CellEstimate, Comparison, Estimates, Figure};
use zc_run::{Cell, Factor, NfsPlan, ProxyPath, Run};

/// The text of a missing figure.
pub(crate) const NONE: &str = "-";

/// The mark of a ratio without a verdict.
pub(crate) const UNDECIDED: &str = "?";

/// A cost of one end or of both.
pub(crate) type CostOf = fn(&CellEstimate) -> Option<Figure>;

/// The sides whose costs a run has; the sum of both comes first.
pub(crate) fn sides(run: &Run, estimates: &Estimates) -> &'static [(&'static str, CostOf)] {
    if estimates.sender_alone {
        match sole_side(run) {
            SERVER => &[(SERVER, |cell| cell.cost_ns_per_kib.both)],
            _ => &[(SENDER, |cell| cell.cost_ns_per_kib.both)],
        }
    } else if has_proxy(run) && estimates.sides_apart {
        &[
            (PROXY_AND_ENDS, |cell| cell.cost_ns_per_kib.both),
            ("its clients and servers", |cell| cell.cost_ns_per_kib.sender),
            ("the proxy", |cell| cell.cost_ns_per_kib.receiver),
        ]
    } else if has_proxy(run) {
        &[(PROXY_AND_ENDS, |cell| cell.cost_ns_per_kib.both)]
    } else if estimates.sides_apart {
        &[
            (BOTH, |cell| cell.cost_ns_per_kib.both),
            (SENDER, |cell| cell.cost_ns_per_kib.sender),
            ("the receiver", |cell| cell.cost_ns_per_kib.receiver),
        ]
    } else if estimates.client_alone {
        &[(CLIENT, |cell| cell.cost_ns_per_kib.both)]
    } else {
        &[(BOTH, |cell| cell.cost_ns_per_kib.both)]
    }
}

const SENDER: &str = "the sender";
const SERVER: &str = "the server";
const BOTH: &str = "both ends";
const CLIENT: &str = "the client";
const PROXY_AND_ENDS: &str = "the proxy, its clients and servers";

/// Whether a proxy is between the two ends, on the receiver's side: both ends are on the sender's.
fn has_proxy(run: &Run) -> bool {
    let plan = &run.header.plan;
    let with = |cell: &Cell| ProxyPath::of(&plan.fixed.at(&cell.levels)) != ProxyPath::None;
    plan.cells.iter().any(with)
}

/// The side that has all of the measured cost, if that is the sender's alone: in the run of a
/// server of NFS it is the server.
pub(crate) fn sole_side(run: &Run) -> &'static str {
    let nfs = run.header.plan.traffic.nfs();
    if nfs.is_some_and(NfsPlan::is_of_the_server) { SERVER } else { SENDER }
}

/// The side that has all of the measured cost, if that is not the sender's alone.
pub(crate) fn measured_side(estimates: &Estimates) -> &'static str {
    if estimates.client_alone { CLIENT } else { BOTH }
}

/// All grids that are not empty.
pub(crate) fn grids(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Vec<Part> {
    let mut parts = Vec::new();
    for (whose, of) in sides(run, estimates) {
        parts.extend(table(run, pivot, format!("Cost of {whose}, us/MB"), true, |placed| {
            of(placed.figures).map(|figure| cost(Some(figure)) + &signs(placed.figures))
        }));
    }

    parts.extend(ratios(run, estimates, pivot));
    if pivot.cells().any(|placed| placed.figures.ratio.both.is_some()) {
        parts.extend(
            Baseline::from_pivot(pivot)
                .listed()
                .map(|text| Part::Text(vec![format!("Compared: {text}.")])),
        );
    }

    let unit = Unit::for_run(run);
    let caption = format!("Top speed, unpaced and without soakers, {}", unit.name());
    parts.extend(table(run, pivot, caption, false, |placed| {
        // In plans with unsoaked trials in only some blocks, most cells have too few for an
        // interval.
        placed
            .figures
            .top_speed_bytes_per_s
            .filter(|speed| speed.interval.is_some())
            .map(|speed| unit.text(speed))
    }));
    if parts.is_empty() {
        parts.push(Part::Text(vec![format!(
            "No figures yet for any of {} cells.",
            pivot.cells().count()
        )]));
    }
    parts
}

/// The ratio of each cell's cost to that of the cell it is compared with.
pub(crate) fn ratios(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Option<Part> {
    if !pivot.cells().any(|placed| placed.figures.ratio.both.is_some()) {
        return None;
    }
    let bases: BTreeSet<&str> =
        pivot.cells().filter_map(|placed| placed.figures.by.as_deref()).collect();
    let of = match estimates.sender_alone {
        true => format!("{}'s cost", sole_side(run)),
        false if has_proxy(run) => format!("the cost of {PROXY_AND_ENDS}"),
        false => format!("the cost of {}", measured_side(estimates)),
    };
    let caption = format!("Ratio of {of} to that of {}", Baseline::from_pivot(pivot).text());
    let mut part = table(run, pivot, caption, false, |placed| {
        let cell = placed.figures;
        if cell.ratio.both.is_some() {
            let mark = if undecided(estimates, cell) { UNDECIDED } else { "" };
            return Some(ratio_of(cell) + &signs(cell) + mark);
        }
        let base =
            bases.contains(placed.cell.label.as_str()) && cell.cost_ns_per_kib.both.is_some();
        base.then(|| "1".to_owned() + &signs(cell))
    });
    if let Some(Part::Table { keys, grid, .. }) = &mut part {
        for (row, cells) in pivot.rows.iter().enumerate() {
            for (column, placed) in cells.cells.iter().enumerate() {
                let tone = placed.and_then(|placed| rows::tone(estimates, placed.figures));
                grid.tones.extend(tone.map(|tone| ((row, *keys + column), tone)));
            }
        }
    }
    part
}

/// Meaning of [`UNDECIDED`], where it is in use.
pub(crate) fn footnote(estimates: &Estimates) -> Option<String> {
    let any = estimates.cells.iter().any(|cell| !cell.control && undecided(estimates, cell));
    any.then(|| {
        format!(
            "{UNDECIDED} undecided: not distinguishable from 1, corrected for all \
        comparisons of this run"
        )
    })
}

/// A grid of the text of each cell; `None` where all are empty. With the rate of each row if
/// `with_rates` and if rows differ in it.
pub(crate) fn table(
    run: &Run,
    pivot: &Pivot,
    caption: String,
    with_rates: bool,
    text: impl Fn(Placed) -> Option<String>,
) -> Option<Part> {
    let mut any = false;
    let rates = if with_rates { rates(run, pivot) } else { None };
    let mut columns: Vec<Column> =
        pivot.keys.iter().map(|key| Column::left(key.to_string(), "")).collect();
    columns.extend(rates.iter().map(|_| Column::left("at", "")));
    let keys = columns.len();
    columns.extend(pivot.columns.iter().map(|level| Column::named(level)));
    let mut rows = Vec::new();
    for (place, row) in pivot.rows.iter().enumerate() {
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

/// The rate of each row, where rows differ in it and it is not a factor: cells that are compared
/// share a rate, others may have another.
fn rates(run: &Run, pivot: &Pivot) -> Option<Vec<String>> {
    if pivot.across == Factor::Rate || pivot.keys.contains(&Factor::Rate) {
        return None;
    }
    let rate_text =
        |placed: Placed| rate(run.header.plan.fixed.at(&placed.cell.levels).rate_bytes_per_s);
    let all: BTreeSet<String> = pivot.cells().map(rate_text).collect();
    // Rates in the order of the columns.
    let each = pivot
        .rows
        .iter()
        .map(|row| distinct(row.cells.iter().flatten().copied().map(rate_text)).join(", "));
    (all.len() > 1).then(|| each.collect())
}

/// Whether a cell was compared without a verdict.
pub(crate) fn undecided(estimates: &Estimates, cell: &CellEstimate) -> bool {
    estimates.verdict.stands()
        && cell.ratio.both.is_some()
        && matches!(rows::comparison(estimates, cell), Some(Comparison::Undecided))
}
