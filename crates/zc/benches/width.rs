//! Checks the width of the ratios' intervals. From several runs of one plan on one machine in one
//! state, it compares the scatter of the ratios with the intervals of each run, and prints how much
//! neighbouring blocks correlate.
//!
//! `ZC_RUNS="a.json b.json ..." cargo bench --bench width` prints one row per path. If blocks are
//! independent and only their scatter changes a ratio, the variance between runs is that of the
//! intervals (1.00). `ZC_FURTHER=20`: the intervals of all but the last 20 runs are to hold the
//! median of those; without it, those of all runs the median of all.

mod common;

use common::{median, named_runs, only_asked_to_start, setting, sorted};
use zc_analysis::{Estimates, cost_series, estimate};
use zc_run::Run;
use zc_stats::StudentT;

/// Lags of the autocorrelation that is shown as one.
const LAGS: usize = 5;

fn main() {
    if only_asked_to_start() {
        return;
    }
    let Some(runs) = named_runs("ZC_RUNS") else {
        println!("ZC_RUNS names no saved runs");
        return;
    };
    let runs: Vec<(Run, Estimates)> = runs
        .into_iter()
        .map(|(_, run)| {
            let estimates = estimate(&run);
            (run, estimates)
        })
        .collect();
    let normal = StudentT::new(1e9).expect("degrees of freedom");
    println!(
        "| path | ratio, median of {} runs | scatter between runs | promised by intervals | \
         variance by promised | intervals that hold the median{} | \
         autocorrelation, lag 1 | sum of lags 1 to {LAGS} |\n|---|---|---|---|---|---|---|---|",
        runs.len(),
        if further() > 0 { format!(" of {} further runs", further()) } else { String::new() }
    );
    let mut all = Row::default();
    for cell in runs
        .first()
        .into_iter()
        .flat_map(|(_, estimates)| &estimates.cells)
        .filter(|cell| !cell.reference)
    {
        let mut row = Row::default();
        for (run, estimates) in &runs {
            let of = estimates.cells.iter().find(|other| other.label == cell.label);
            let Some(ratio) = of.and_then(|of| of.ratio.both) else { continue };
            let Some((bounds, half)) = ratio.interval.zip(ratio.half_width) else { continue };
            let reach = normal.critical_value(bounds.confidence).expect("a level");
            row.logs.push(ratio.value.ln());
            row.errors.push(half / reach);
            row.bounds.push((bounds.low.ln(), bounds.high.map_or(f64::INFINITY, f64::ln)));
            row.lags.extend(
                logs(run, &estimates.reference, &cell.label)
                    .and_then(|logs| autocorrelations(&logs)),
            );
        }
        if row.logs.len() >= 2 && row.logs.len() > further() {
            row.centre();
            row.print(&cell.label);
            all.logs.extend(row.logs);
            all.errors.extend(row.errors);
            all.bounds.extend(row.bounds);
            all.lags.extend(row.lags);
        }
    }
    all.print("all, each less its median");
}

/// Runs at the end of the list whose median is to be held.
fn further() -> usize {
    setting("ZC_FURTHER", 0)
}

/// Results of the runs for one path.
#[derive(Default)]
struct Row {
    /// Median of the logarithms; `None` where paths are combined.
    median: Option<f64>,
    /// Logarithms of the ratios, less their median.
    logs: Vec<f64>,
    /// Standard errors that the intervals promise.
    errors: Vec<f64>,
    bounds: Vec<(f64, f64)>,
    /// Autocorrelations of each run.
    lags: Vec<[f64; LAGS]>,
}

impl Row {
    fn centre(&mut self) {
        let judged = self.logs.len() - further();
        let rest = if further() > 0 { judged } else { 0 };
        let median = median(&sorted(self.logs[rest..].iter().copied()));
        self.bounds.truncate(judged);
        self.logs.iter_mut().for_each(|log| *log -= median);
        self.bounds
            .iter_mut()
            .for_each(|(low, high)| (*low, *high) = (*low - median, *high - median));
        self.median = Some(median);
    }

    fn print(&self, name: &str) {
        let n = self.logs.len() as f64;
        let mean = self.logs.iter().sum::<f64>() / n;
        let between = self.logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let promised = self.errors.iter().map(|error| error.powi(2)).sum::<f64>() / n;
        let held = self.bounds.iter().filter(|(low, high)| *low <= 0.0 && *high >= 0.0).count();
        let lag = |lag: usize| {
            self.lags.iter().map(|lags| lags[lag]).sum::<f64>() / self.lags.len() as f64
        };
        println!(
            "| {name} | {} | {:.2} % | {:.2} % | {:.2} | {held} of {} ({:.1} %) | {:+.2} | {:+.2} \
             |",
            self.median.map_or_else(String::new, |median| format!("{:.3}", median.exp())),
            between.sqrt() * 100.0,
            promised.sqrt() * 100.0,
            between / promised,
            self.bounds.len(),
            held as f64 / self.bounds.len() as f64 * 100.0,
            lag(0),
            (0..LAGS).map(lag).sum::<f64>(),
        );
    }
}

/// Logarithms of a cell's cost by the reference's and its control's, block by block; `None` where a
/// block lacks one of them.
fn logs(run: &Run, reference: &str, label: &str) -> Option<Vec<f64>> {
    let series = cost_series(run);
    let find = |label: &str| {
        series.iter().find(|series| series.cell == label).map(|series| series.ns_per_kib.as_slice())
    };
    let control =
        run.header.plan.cells.iter().find(|cell| cell.control).map(|cell| cell.label.as_str());
    let (own, by) = (find(label)?, find(reference)?);
    let again = control.filter(|control| *control != label).and_then(find).unwrap_or(by);
    let logs: Vec<f64> = own
        .iter()
        .zip(by.iter().zip(again))
        .map(|(own, (one, other))| (own / ((one + other) / 2.0)).ln())
        .collect();
    let whole =
        own.len() == by.len() && by.len() == again.len() && logs.iter().all(|log| log.is_finite());
    whole.then_some(logs)
}

/// Autocorrelations of the values themselves, without logarithms.
fn autocorrelations(logs: &[f64]) -> Option<[f64; LAGS]> {
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let at = |lag: usize| -> Option<f64> {
        Some(
            logs.iter()
                .zip(logs.get(lag..)?)
                .map(|(one, other)| (one - mean) * (other - mean))
                .sum(),
        )
    };
    let variance = at(0).filter(|variance| *variance > 0.0)?;
    let mut lags = [0.0; LAGS];
    for (lag, value) in lags.iter_mut().enumerate() {
        *value = at(lag + 1)? / variance;
    }
    Some(lags)
}
