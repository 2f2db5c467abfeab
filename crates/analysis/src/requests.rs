//! What a request costs a server, in each of its states.
//!
//! Every response of a state has the same length, which the load checks. So the cost of a request
//! is that of its bytes, with the same interval.

use crate::kept::KeptBlocks;
use crate::model::cell::CellEstimate;
use crate::model::requests::{LatencyQuantiles, RequestCost};
use crate::unit::Cost as _;
use zc_run::{Cell, Latencies, Probe, Run, ServerPlan};

/// One for each cell of a server's run, in the plan's order; nothing for another run.
pub(super) fn requests(run: &Run, kept: &KeptBlocks, cells: &[CellEstimate]) -> Vec<RequestCost> {
    let Some(server) = &run.header.plan.server else { return Vec::new() };
    let each = std::iter::zip(&run.header.plan.cells, cells);
    each.filter_map(|(cell, figures)| {
        let body_bytes = body_bytes(server, cell)?;
        Some(of_cell(run, kept, cell, figures, body_bytes))
    })
    .collect()
}

fn body_bytes(server: &ServerPlan, cell: &Cell) -> Option<u64> {
    let state = cell.levels.state.as_ref()?;
    let own = server.states.iter().find(|each| each.state == *state)?;
    Some(own.response.body_bytes).filter(|bytes| *bytes > 0)
}

fn of_cell(
    run: &Run,
    kept: &KeptBlocks,
    cell: &Cell,
    figures: &CellEstimate,
    body_bytes: u64,
) -> RequestCost {
    // From ns per KiB to us per response.
    let us_of = body_bytes as f64 / 1024.0 / 1e3;
    let per_s = |bytes_per_s: f64| bytes_per_s / body_bytes as f64;
    let elapsed_s = figures.traffic.elapsed_ns as f64 / 1e9;
    let top = run.header.probes.iter().find_map(|probe| match probe {
        Probe::TopSpeed { cell: label, bytes_per_s } if *label == cell.label => Some(*bytes_per_s),
        _ => None,
    });
    let process = crate::others::thread_costs(kept, &cell.label, zc_run::TrialKind::Soaked);
    RequestCost {
        label: cell.label.clone(),
        body_bytes,
        us_per_request: figures.cost_ns_per_kib.both.times(us_of),
        process_us_per_request: process.sender.times(us_of),
        requests_per_s: (elapsed_s > 0.0).then(|| per_s(figures.traffic.bytes as f64 / elapsed_s)),
        top_requests_per_s: top.map(per_s),
        latency: run.end.as_ref().and_then(|end| {
            quantiles(end.latencies.iter().find(|latencies| latencies.cell == cell.label)?)
        }),
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
