//! The number of cores that a rate of requests keeps busy in each state, and the saving of a state.
//! The page is written for the rate of the run; its script makes a field of that number, and
//! multiplies.

use crate::digits::{trimmed, with_half_width};
use crate::experiments::server::{rates, several_lengths, states};
use crate::html::page::Page;
use crate::html::table::{self, CellValues};
use crate::run::rows;
use crate::terminal::table::{Column, Grid};
use zc_analysis::{CellEstimate, Estimates, Figure, RequestCost};
use zc_run::{ServerPlan, escape};

/// The section; nothing where no state has a cost.
pub(crate) fn cores(page: &mut Page, estimates: &Estimates, server: &ServerPlan) {
    let rows: Vec<[Option<Figure>; 2]> =
        states(estimates).map(|(cost, cell)| row(cost, cell, estimates)).collect();
    if rows.iter().flatten().all(Option::is_none) {
        return;
    }
    let rate = server.requests_per_s;
    let own = trimmed(&format!("{rate:.3}")).to_owned();
    page.out.raw("<h3>At your requests per second</h3>\n<div class=\"cores\">\n");
    page.out.raw("<p><label class=\"rate\">At ").element("span", &[("data-own", &own)], &own);
    page.out.raw(" requests per second</label> a state keeps so many cores busy, if a request ");
    page.out.text(&format!(
        "costs as much as at the {} per second of this run. A core is a CPU of this machine.",
        rates(estimates, server)
    ));
    let some = |of: fn(&CellEstimate) -> bool| states(estimates).any(|(_, cell)| of(cell));
    if some(|cell| cell.perturbation.saturated) {
        page.out.raw(" A state that did not reach the rate of the run has no figure.");
    }
    if !estimates.verdict.stands() {
        page.out.raw(" What states save is withheld, as the verdict is.");
    }
    page.out.raw("</p>\n");

    let text = |figure: &Option<Figure>| figure.map_or_else(String::new, |it| busy(it, rate));
    let texts = states(estimates)
        .zip(&rows)
        .map(|((_, cell), [cost, saved])| vec![rows::name(cell), text(cost), text(saved)]);
    let against = match several_lengths(estimates) {
        true => "the first of its length".to_owned(),
        false => escape(&estimates.reference, 24),
    };
    let columns = vec![
        Column::left("state", ""),
        Column::right("cores", ""),
        Column::right("saved against", against),
    ];
    let some_saved = rows.iter().any(|[_, saved]| saved.is_some());
    let below = if some_saved { "; below 0 a state needs more" } else { "" };
    let caption = format!("Cores, each with the half-width of its 95 % interval{below}");
    let grid = Grid::new(columns, texts.collect());
    table::table(page, &caption, 1, &grid, |row, column| CellValues {
        per_request: column.checked_sub(1).and_then(|column| *rows.get(row)?.get(column)?),
        ..CellValues::default()
    });
    page.out.raw("</div>\n");
}

/// Factors of the rate: the cost of a state, and its saving. A cost beyond the server's top speed
/// does not hold at a rate, and no saving is shown where there is no verdict.
fn row(cost: &RequestCost, cell: &CellEstimate, estimates: &Estimates) -> [Option<Figure>; 2] {
    if cell.perturbation.saturated {
        return [None, None];
    }
    let saved = estimates.verdict.of_state(cell).and(cost.saved_us_per_request);
    [cost.us_per_request, saved]
}

/// Cores that a cost in us per request keeps busy. The page's script does the same.
fn busy(cost: Figure, requests_per_s: f64) -> String {
    let cores = |us: f64| us * requests_per_s / 1e6;
    with_half_width(cores(cost.value), cost.half_width.map(cores))
}
