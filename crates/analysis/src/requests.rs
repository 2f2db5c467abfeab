//! Cost of a request to a server in each of its states, and the saving by each state.
//!
//! Every response of a state has the same length, which the load checks. So the cost of a request
//! is that of its bytes, with the same interval.

use std::collections::HashMap;

use crate::figures::{per, with_interval};
use crate::kept::KeptBlocks;
use crate::model::cell::CellEstimate;
use crate::model::figure::{Bounds, Figure, RatioFigure};
use crate::model::requests::{LatencyQuantiles, RequestCost};
use crate::unit::Cost as _;
use zc_run::{Cell, Header, Latencies, Plan, Probe, Run};

/// One for each cell of a server's run, in the plan's order; nothing for another run.
pub(super) fn requests(run: &Run, kept: &KeptBlocks, cells: &[CellEstimate]) -> Vec<RequestCost> {
    let plan = &run.header.plan;
    let seen = Seen::from_run(run);
    let each = std::iter::zip(&plan.cells, cells).enumerate();
    each.filter_map(|(place, (cell, figures))| {
        let body_bytes = plan.response_bytes(cell)?;
        let ratio = figures.ratio.both.filter(|_| !figures.control);
        let first = kept.index.baseline(place).and_then(|first| {
            us_per_request(plan, &plan.cells[first], cells[first].cost_ns_per_kib.both)
        });
        let saved = first.zip(ratio).map(|(first, ratio)| saved(&first, &ratio));
        Some(request_cost(&seen, kept, cell, figures, body_bytes, saved))
    })
    .collect()
}

/// The cost of one request in a cell, in microseconds, from its cost in ns per KiB; `None` for a
/// cell that is no state of a server.
pub(super) fn us_per_request(
    plan: &Plan,
    cell: &Cell,
    cost_ns_per_kib: Option<Figure>,
) -> Option<Figure> {
    cost_ns_per_kib.times(us_of(plan.response_bytes(cell)?))
}

/// From ns per KiB to us per response.
fn us_of(body_bytes: u64) -> f64 {
    body_bytes as f64 / 1024.0 / 1e3
}

/// `cost * (1 - ratio)`, with the errors of both.
fn saved(cost: &Figure, ratio: &RatioFigure) -> Figure {
    let value = cost.value * (1.0 - ratio.value);
    let half = cost.half_width.zip(ratio.half_width).map(|(of_cost, of_ratio)| {
        (of_cost * (1.0 - ratio.value)).hypot(cost.value * ratio.value * of_ratio)
    });
    let confidence = cost.interval.zip(ratio.interval);
    let interval = half.zip(confidence).map(|(half, (of_cost, of_ratio))| Bounds {
        low: value - half,
        high: Some(value + half),
        confidence: of_cost.confidence.min(of_ratio.confidence),
    });
    with_interval(value, interval, cost.blocks.min(ratio.blocks))
}

/// Observations of the states outside the blocks, by label; the first where several have one label.
struct Seen<'a> {
    top_bytes_per_s: HashMap<&'a str, f64>,
    latencies: HashMap<&'a str, &'a Latencies>,
}

impl<'a> Seen<'a> {
    fn from_run(run: &'a Run) -> Self {
        let latencies = run.end.iter().flat_map(|end| end.latencies.iter().rev());
        Self {
            top_bytes_per_s: top_speeds(&run.header),
            latencies: latencies.map(|each| (each.cell.as_str(), each)).collect(),
        }
    }
}

/// Top speeds of states before the blocks, in bytes of bodies per second.
pub(super) fn top_speeds(header: &Header) -> HashMap<&str, f64> {
    let probes = header.probes.iter().rev().filter_map(|probe| match probe {
        Probe::TopSpeed { cell, bytes_per_s } => Some((cell.as_str(), *bytes_per_s)),
        _ => None,
    });
    probes.collect()
}

fn request_cost(
    seen: &Seen<'_>,
    kept: &KeptBlocks,
    cell: &Cell,
    figures: &CellEstimate,
    body_bytes: u64,
    saved_us_per_request: Option<Figure>,
) -> RequestCost {
    let us_of = us_of(body_bytes);
    let per_s = |bytes_per_s: f64| bytes_per_s / body_bytes as f64;
    let elapsed_s = figures.traffic.elapsed_ns as f64 / 1e9;
    let label = cell.label.as_str();
    let top = seen.top_bytes_per_s.get(label).copied();
    let process = crate::others::thread_costs(kept, &cell.label, zc_run::TrialKind::Soaked);
    RequestCost {
        label: cell.label.clone(),
        body_bytes,
        us_per_request: figures.cost_ns_per_kib.both.times(us_of),
        process_us_per_request: process.sender.times(us_of),
        saved_us_per_request,
        requests_per_s: per(figures.traffic.bytes as f64, elapsed_s).map(per_s),
        top_requests_per_s: top.map(per_s),
        latency: seen.latencies.get(label).and_then(|latencies| quantiles(latencies)),
    }
}

fn quantiles(latencies: &Latencies) -> Option<LatencyQuantiles> {
    let [p50_ns, p99_ns, max_ns] = [0.5, 0.99, 1.0].map(|share| latencies.quantile_ns(share));
    Some(LatencyQuantiles {
        p50_ns: p50_ns?,
        p99_ns: p99_ns?,
        max_ns: max_ns?,
        requests: latencies.requests.iter().fold(0, |all, some| all.saturating_add(*some)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::figure::RatioMethod;

    #[test]
    fn what_a_state_saves_has_the_errors_of_the_cost_and_of_the_ratio() {
        let bounds = |low, high| Some(Bounds { low, high: Some(high), confidence: 0.95 });
        let cost = with_interval(100.0, bounds(92.0, 108.0), 40);
        let mut ratio = RatioFigure {
            value: 0.6,
            interval: bounds(0.57, 0.63),
            half_width: Some(0.05),
            converged: true,
            method: RatioMethod::HodgesLehmann,
            p_value: None,
            blocks: 38,
            wander_inflation: 1.0,
            not_enough_blocks: false,
        };
        let figure = saved(&cost, &ratio);
        // 40 % of 8 us, and 5 % of 60 us.
        let half = 3.2_f64.hypot(3.0);
        assert!((figure.value - 40.0).abs() < 1e-9, "{figure:?}");
        assert!((figure.half_width.unwrap() - half).abs() < 1e-9, "{figure:?}");
        assert_eq!(figure.blocks, 38);
        ratio.value = 1.5;
        assert!((saved(&cost, &ratio).value + 50.0).abs() < 1e-9, "it costs more");
        (ratio.interval, ratio.half_width) = (None, None);
        assert_eq!(saved(&cost, &ratio).interval, None);
    }
}
