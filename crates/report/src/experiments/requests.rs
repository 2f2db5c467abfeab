//! Responses: what one costs the server's side, by its length and the send path.

use super::replay;
use super::section::Section;
use crate::digits::{significant, with_half_width};
use crate::run::pivot::{Pivot, Placed};
use crate::run::pivot_tables::{UNDECIDED, undecided};
use crate::run::rows;
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use zc_analysis::{Estimates, Figure};
use zc_run::{ResponsesPlan, Run, escape};

/// Converts ns per KiB to us per response.
fn us_per_response(figure: Figure, body_bytes: usize) -> (f64, Option<f64>) {
    let us = |ns_per_kib: f64| ns_per_kib * body_bytes as f64 / 1024.0 / 1e3;
    (us(figure.value), figure.half_width.map(us))
}

pub(super) fn section(
    run: &Run,
    estimates: &Estimates,
    responses: &ResponsesPlan,
    pivot: &Pivot,
) -> Section {
    let by_length = table(run, estimates, responses, pivot);
    let parts = by_length.into_iter().chain(replay::table(estimates)).collect();
    Section { parts, conclusion: replay::conclusion(estimates) }
}

/// The table of costs per response; `None` where no response has a cost.
pub(crate) fn table(
    run: &Run,
    estimates: &Estimates,
    responses: &ResponsesPlan,
    pivot: &Pivot,
) -> Option<Part> {
    // A column for the cost, and one for the ratio where there is another path to divide by.
    let divided: Vec<bool> = (0..pivot.columns.len())
        .map(|column| cells(pivot, column).any(|cell| cell.figures.ratio.both.is_some()))
        .collect();
    let mut columns: Vec<Column> =
        pivot.keys.iter().map(|key| Column::left(key.name(), "")).collect();
    for (name, divided) in std::iter::zip(&pivot.columns, &divided) {
        columns.push(Column::right(name, "us"));
        if *divided {
            columns.push(Column::right("by", reference(run)));
        }
    }
    columns.push(Column::right("requests", "/s"));
    let mut any = false;
    let mut rows = Vec::new();
    for row in &pivot.rows {
        let mut texts = row.levels.clone();
        for (placed, divided) in std::iter::zip(&row.cells, &divided) {
            let cost = placed.and_then(cost);
            any |= cost.is_some();
            texts.push(cost.unwrap_or_default());
            if *divided {
                texts.push(placed.map(|placed| by(estimates, placed)).unwrap_or_default());
            }
        }
        let first = row.cells.iter().flatten().next();
        let rate = first.and_then(|placed| run.header.plan.messages_per_s(placed.cell));
        texts.push(rate.map_or_else(String::new, significant));
        rows.push(texts);
    }
    let kept = if responses.keepalive { "that are kept" } else { "for one request each" };
    let caption = format!(
        "Responses over {} connections {kept}, by the length of the body: CPU of the server's \
         side, softirqs included",
        responses.connections
    );
    any.then(|| Part::Table { caption, keys: pivot.keys.len(), grid: Grid::new(columns, rows) })
}

fn cells<'p, 'r>(
    pivot: &'p Pivot<'r>,
    column: usize,
) -> impl Iterator<Item = Placed<'r>> + use<'p, 'r> {
    pivot.rows.iter().filter_map(move |row| row.cells.get(column).copied().flatten())
}

/// The path that others are divided by.
fn reference(run: &Run) -> String {
    let plan = &run.header.plan;
    let cell = plan.cells.iter().find(|cell| cell.label == plan.reference);
    cell.map_or_else(String::new, |cell| escape(&cell.transfer.sender(), 40))
}

/// The cost with its marks.
fn cost(placed: Placed<'_>) -> Option<String> {
    let figure = placed.figures.cost_ns_per_kib.both?;
    let (us, half) = us_per_response(figure, placed.cell.levels.message_bytes?);
    Some(format!("{}{}", with_half_width(us, half), rows::signs(placed.figures)))
}

/// The ratio with its marks.
fn by(estimates: &Estimates, placed: Placed<'_>) -> String {
    let mark = if undecided(estimates, placed.figures) { UNDECIDED } else { "" };
    format!("{}{mark}", rows::ratio_of(placed.figures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_of_64_kib_costs_64_times_what_a_kib_does() {
        let figure = Figure { value: 1000.0, interval: None, half_width: Some(50.0), blocks: 9 };
        assert_eq!(us_per_response(figure, 64 << 10), (64.0, Some(3.2)));
    }
}
