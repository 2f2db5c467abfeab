//! The figures of a server's run: what a request costs in each state, of what that consists, and
//! how long requests took, as charts and as tables.

mod cores;

use super::dots::{self, Axis, Lane, Row};
use super::markup::Markup;
use super::page::Page;
use super::plot::Caption;
use super::stacked::{self, Bar};
use super::table::{self, CellValues};
use crate::digits::{significant, with_half_width};
use crate::experiments::server as experiments;
use crate::run::rows;
use crate::terminal::part::Part;
use crate::terminal::table::Column;
use zc_analysis::{CellEstimate, Estimates, Figure, LatencyQuantiles, RequestCost};
use zc_run::{ServerPlan, escape};

pub(super) use cores::cores;

/// Additions to the section on the method.
pub(super) fn method(out: &mut Markup, servers: &[&ServerPlan]) {
    let some = |is: fn(&ServerPlan) -> bool| servers.iter().any(|server| is(server));
    out.raw("<p>The cost of a request is CPU time divided by the number of responses.");
    if some(|server| !server.ran_already()) {
        out.raw(
            " Where zc starts the server, it is what the server&#39;s CPU lost while its responses \
             came: zc gives it a CPU of its own, in a network namespace whose packets are received \
             on that CPU; the load is on another one and in no cost.",
        );
    }
    if some(|server| server.ran_already() && server.load_from.is_none()) {
        out.raw(
            " Of a server that ran already it is what all CPUs lost, less the CPU time of the \
             load&#39;s thread by its clock; the softirqs of both sides are in it.",
        );
    }
    if some(|server| server.load_from.is_some()) {
        out.raw(
            " Where the load comes from another machine, it is what all CPUs of the server&#39;s \
             machine lost; the responses of a window are the rate at which they came, times its \
             length.",
        );
    }
    if some(|server| !server.generator.is_empty() && !server.asked_by_http2()) {
        out.raw(
            " Where a load generator asked, responses are the bytes that the server sent, divided \
             by those of one response to zc itself; latencies are not known.",
        );
    }
    if some(ServerPlan::asked_by_http2) {
        out.raw(
            " Where h2load asked, by HTTP/2, it sent every 10 ms what was due, and latency counts \
             from when a request was sent.",
        );
    }
    if some(|server| server.generator.is_empty()) {
        out.raw(
            " zc&#39;s own requests are due at constant spacing, whatever the server does, and \
             latency counts from when a request was due.",
        );
    }
    out.raw("</p>\n");
}

const UNIT: &str = "us/request";

/// The column of what the accounts leave, behind what they have.
const REST: usize = 3;

/// The charts of costs, accounts and latencies.
pub(super) fn charts(page: &mut Page, estimates: &Estimates, server: &ServerPlan) {
    costs(page, estimates, server);
    page.out.raw("<div class=\"panels\">\n");
    accounts(page, estimates);
    latencies(page, estimates);
    page.out.raw("</div>\n");
}

fn costs(page: &mut Page, estimates: &Estimates, server: &ServerPlan) {
    let lane = |(cost, cell): (&RequestCost, &CellEstimate)| {
        let figure = cost.us_per_request?;
        let text = with_half_width(figure.value, figure.half_width);
        Some(Lane {
            series: 0,
            figure,
            hollow: cell.perturbation.saturated,
            name: format!("{}: {text} {UNIT}", escape(&cell.label, 60)),
        })
    };
    let rows: Vec<Row> = experiments::states(estimates)
        .filter_map(|each| Some(Row { label: escape(&each.1.label, 40), lanes: vec![lane(each)?] }))
        .collect();
    let mut note = "Mark: median over blocks. Line: 95 % interval.".to_owned();
    if rows.iter().flat_map(|row| &row.lanes).any(|lane| lane.hollow) {
        note.push_str(" Hollow: the rate was not reached.");
    }
    let first = experiments::states(estimates).find(|(_, cell)| cell.reference);
    // Of several lengths no cost is like the first's.
    let first = first.filter(|_| !experiments::several_lengths(estimates));
    let reference = first.and_then(|(cost, _)| cost.us_per_request);
    if reference.is_some() {
        note.push_str(&format!(" Broken line: {}.", escape(&estimates.reference, 60)));
    }
    let rate = experiments::rates(estimates, server);
    let caption = Caption {
        title: format!(
            "{}: per request, at {rate} requests per second",
            experiments::measured_processes(server)
        ),
        note,
        description: String::new(),
    };
    let axis = Axis::Fixed { unit: UNIT, reference: reference.map(|figure| figure.value) };
    dots::dots(page, caption, &[], &rows, axis);
}

/// Parts of the cost: the CPU time charged to the server's processes, and the rest.
fn accounts(page: &mut Page, estimates: &Estimates) {
    let legend = [
        "the server's processes, by their CPU clocks",
        "softirqs and interrupts, in no account of the server",
    ];
    let bare = |value| Figure { value, interval: None, half_width: None, blocks: 0 };
    let bar = |(cost, cell): (&RequestCost, &CellEstimate)| {
        let (processes, rest) = (cost.process_us_per_request?, rest(cost)?);
        Some(Bar {
            label: escape(&cell.label, 40),
            parts: vec![(0, bare(processes)), (1, bare(rest))],
        })
    };
    let bars: Vec<Bar> = experiments::states(estimates).filter_map(bar).collect();
    let caption = Caption {
        title: format!("What a request's CPU time is charged to, {UNIT}"),
        note:
            "A bar is the cost of a request. Softirqs that interrupt a process may be in its time."
                .to_owned(),
        description: String::new(),
    };
    stacked::stacked(page, caption, &legend.map(str::to_owned), &bars, Some(UNIT));
}

fn latencies(page: &mut Page, estimates: &Estimates) {
    type Quantile = fn(&LatencyQuantiles) -> u64;
    let each: [(&str, Quantile); 3] = [
        ("p50", |latency| latency.p50_ns),
        ("p99", |latency| latency.p99_ns),
        ("longest", |latency| latency.max_ns),
    ];
    let rows: Vec<Row> = experiments::states(estimates)
        .filter_map(|(cost, cell)| {
            let latency = cost.latency?;
            let lane = |(series, (what, of)): (usize, &(&str, Quantile))| {
                let value = of(&latency) as f64 / 1e6;
                Lane {
                    series,
                    figure: Figure { value, interval: None, half_width: None, blocks: 0 },
                    hollow: false,
                    name: format!("{}, {what}: {} ms", escape(&cell.label, 60), significant(value)),
                }
            };
            let lanes = each.iter().enumerate().map(lane).collect();
            Some(Row { label: escape(&cell.label, 40), lanes })
        })
        .collect();
    let caption = Caption {
        title: "Latency, ms".to_owned(),
        note: "From when a request was due to the end of its response, beside soakers.".to_owned(),
        description: String::new(),
    };
    let legend = each.map(|(what, _)| what.to_owned());
    dots::dots(page, caption, &legend, &rows, Axis::Fixed { unit: "ms", reference: None });
}

/// The table of states, with what the accounts leave as its fourth column and the cost of a byte as
/// its last.
pub(super) fn states(page: &mut Page, estimates: &Estimates, server: &ServerPlan) {
    let shown: Vec<(&RequestCost, &CellEstimate)> =
        experiments::states(estimates).filter(|(cost, _)| cost.us_per_request.is_some()).collect();
    let Some(Part::Table { caption, keys, mut grid }) = experiments::table(estimates, server)
    else {
        return;
    };
    let has_accounts = server.has_clocks();
    if has_accounts {
        grid.columns.insert(REST, Column::right("the", "rest"));
    }
    let last = grid.columns.len();
    grid.columns.push(Column::right("CPU,", "us/MB"));
    for (row, (cost, cell)) in grid.rows.iter_mut().zip(&shown) {
        if has_accounts {
            row.insert(REST, rest(cost).map_or_else(String::new, significant));
        }
        row.push(rows::cost(cell.cost_ns_per_kib.both));
    }
    let cost = |row: usize| shown.get(row).and_then(|(_, cell)| cell.cost_ns_per_kib.both);
    table::table(page, &caption, keys, &grid, |row, at| CellValues {
        cost: cost(row).filter(|_| at == last),
        ..CellValues::default()
    });
}

/// The part of a request's cost that is in no account of the server: softirqs and interrupts.
fn rest(cost: &RequestCost) -> Option<f64> {
    Some(cost.us_per_request?.value - cost.process_us_per_request?)
}

#[cfg(test)]
mod tests;
