//! Measures how far stretches of one state differ, from seconds to minutes. Prints the Allan
//! deviation of the ratios to the reference, and of costs, less what the scatter of single blocks
//! explains: of neighbouring parts of each run, and of runs so many places apart. A row that stays
//! level is flicker noise, which a longer run does not average out.
//!
//! `ZC_RUNS="a.json b.json ..." cargo bench --bench wander`: runs of one plan, one after the other.

mod common;

use common::{named_runs, only_asked_to_start, sorted};
use zc_analysis::cost_series;
use zc_run::Run;

/// Parts that a run is cut into.
const PARTS: [usize; 4] = [16, 8, 4, 2];

/// Places that two runs are apart.
const APART: [usize; 7] = [1, 2, 3, 5, 10, 15, 20];

/// Values beyond these shares of the order count as the last within.
const CLIPPED: f64 = 0.05;

fn main() {
    if only_asked_to_start() {
        return;
    }
    let Some(runs) = named_runs("ZC_RUNS") else {
        println!("ZC_RUNS names no saved runs");
        return;
    };
    let parts = PARTS.map(|parts| format!("1/{parts} run"));
    let apart = APART.map(|apart| format!("{apart} apart"));
    println!("| | {} | {} |", parts.join(" | "), apart.join(" | "));
    println!("|---|{}", "---|".repeat(PARTS.len() + APART.len()));
    for (name, of) in [("ratios", ratios as fn(&Run) -> Vec<Vec<f64>>), ("costs", costs)] {
        let all: Vec<Vec<Series>> = runs
            .iter()
            .map(|(_, run)| of(run).into_iter().filter_map(Series::from_logs).collect())
            .collect();
        let within = PARTS.map(|parts| {
            deviation(all.iter().flatten().flat_map(|series| series.neighbours(parts)))
        });
        let between = APART.map(|apart| {
            let pairs = all.iter().zip(all.iter().skip(apart));
            deviation(
                pairs
                    .flat_map(|(old, new)| old.iter().zip(new))
                    .map(|(old, new)| excess(old.overall_mean(), new.overall_mean())),
            )
        });
        let row: Vec<String> = within.iter().chain(&between).cloned().collect();
        println!("| {name} | {} |", row.join(" | "));
    }
}

/// The mean variance, as a deviation in per cent.
fn deviation(variances: impl Iterator<Item = f64>) -> String {
    let (sum, n) = variances.fold((0.0, 0.0), |(sum, n), each| (sum + each, n + 1.0));
    if n == 0.0 { String::new() } else { format!("{:.1} %", 100.0 * (sum / n).max(0.0).sqrt()) }
}

/// Logarithms of one cell, block by block, clipped.
struct Series {
    logs: Vec<f64>,
    /// Variance of one value, from the differences of neighbours.
    scatter: f64,
}

impl Series {
    fn from_logs(mut logs: Vec<f64>) -> Option<Self> {
        let order = sorted(logs.iter().copied());
        let last = order.len().checked_sub(1)?;
        let at = |share: f64| order[(share * last as f64) as usize];
        let (low, high) = (at(CLIPPED), at(1.0 - CLIPPED));
        // A shift moves a clipped mean by less than itself.
        let scale = 1.0 / (1.0 - 2.0 * CLIPPED);
        logs.iter_mut().for_each(|log| *log = log.clamp(low, high) * scale);
        let steps: Vec<f64> =
            logs.windows(2).map(|pair| (pair[1] - pair[0]).powi(2) / 2.0).collect();
        let scatter = steps.iter().sum::<f64>() / steps.len() as f64;
        (logs.len() >= 2 * PARTS[0]).then_some(Self { logs, scatter })
    }

    /// Mean of a stretch, and the variance of that by scatter.
    fn mean(&self, stretch: &[f64]) -> (f64, f64) {
        let n = stretch.len() as f64;
        (stretch.iter().sum::<f64>() / n, self.scatter / n)
    }

    fn overall_mean(&self) -> (f64, f64) {
        self.mean(&self.logs)
    }

    fn neighbours(&self, parts: usize) -> Vec<f64> {
        let length = self.logs.len() / parts;
        let means: Vec<_> =
            self.logs.chunks_exact(length).take(parts).map(|part| self.mean(part)).collect();
        means.chunks_exact(2).map(|pair| excess(pair[0], pair[1])).collect()
    }
}

/// Half of the squared difference, less what scatter explains.
fn excess(one: (f64, f64), other: (f64, f64)) -> f64 {
    ((one.0 - other.0).powi(2) - one.1 - other.1) / 2.0
}

/// Logarithms of each cell's cost, without the controls.
fn costs(run: &Run) -> Vec<Vec<f64>> {
    labelled(run).into_iter().map(|(_, logs)| logs).collect()
}

/// Logarithms of each cell's cost by that of the reference.
fn ratios(run: &Run) -> Vec<Vec<f64>> {
    let all = labelled(run);
    let reference = &run.header.plan.reference;
    let Some((_, base)) = all.iter().find(|(label, _)| label == reference) else {
        return Vec::new();
    };
    all.iter()
        .filter(|(label, logs)| label != reference && logs.len() == base.len())
        .map(|(_, logs)| logs.iter().zip(base).map(|(log, base)| log - base).collect())
        .collect()
}

fn labelled(run: &Run) -> Vec<(String, Vec<f64>)> {
    let is_control =
        |label: &str| run.header.plan.cells.iter().any(|cell| cell.label == label && cell.control);
    let logs = |costs: &[f64]| costs.iter().map(|cost| cost.max(f64::MIN_POSITIVE).ln()).collect();
    cost_series(run)
        .into_iter()
        .filter(|series| !is_control(&series.cell))
        .map(|series| (series.cell.clone(), logs(&series.ns_per_kib)))
        .collect()
}
