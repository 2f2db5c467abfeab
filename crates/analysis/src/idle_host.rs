//! Cost of a cell on a host that is otherwise idle, by the idle time that it takes.
//!
//! In the unsoaked trials of a block nothing but the traffic keeps the CPUs from being idle. A
//! sender that is woken in the same way and sends nothing takes some idle time too, and so do all
//! other processes: what the traffic takes beyond that, divided by its bytes, is its cost. Unlike
//! the soaked cost it does not contain what it takes to run beside other work, and does contain
//! what it takes to leave idle.

use zc_stats::{StudentT, mean_interval, median, quantile};

use crate::figures::{bounds, finite, per, with_interval};
use crate::kept::KeptBlocks;
use crate::machine::is_emulated;
use crate::model::cell::RATE_HELD;
use crate::model::figure::{Bounds, Figure};
use crate::window::{bytes, elapsed_ns};
use zc_run::{Cell, Trial};

/// A pair does not count if it is further than this many standard deviations of all pairs of the
/// run from its cell's median: something else ran in one of its windows. The errors of the clock
/// are bounded, and never that large.
const GROSS_ERROR: f64 = 5.0;

/// Share of a normal distribution that is within one standard deviation. The median of deviations,
/// of which half are within, may be 0 where the clock's steps are coarse.
const WITHIN_ONE: f64 = 0.682_689;

/// CPU time per KiB of each cell on an idle host, in the order of the plan: the mean over all pairs
/// of an unsoaked control and the unsoaked paced trial of its block, with Student's interval, which
/// is no narrower than it would be with the scatter of all pairs of the run: few pairs may lie
/// close together by chance, and the steps of the clock do not. It is a mean because the idle clock
/// has steps: single pairs are coarse, and their errors cancel.
///
/// `None` for a run without such pairs, for one without an idle clock or on an emulated machine,
/// and for a cell that does not hold its rate without soakers: the two trials of a pair would not
/// be paced alike.
pub(super) fn costs(kept: &KeptBlocks) -> Vec<Option<Figure>> {
    let cells = &kept.header.plan.cells;
    if is_emulated(kept.header) {
        return vec![None; cells.len()];
    }
    let pairs: Vec<Vec<Pair>> = cells.iter().map(|cell| pairs(kept, cell)).collect();
    let scatter = Scatter::from_pairs(&pairs);
    let limit = scatter.as_ref().map_or(f64::INFINITY, |all| GROSS_ERROR * all.deviation_cpus);
    let cost = |(cell, pairs): (&Cell, &Vec<Pair>)| {
        let middle = middle(pairs)?;
        let counted: Vec<&Pair> =
            pairs.iter().filter(|pair| (pair.taken_cpus - middle).abs() <= limit).collect();
        let rate = mean(&counted.iter().map(|pair| pair.bytes_per_s).collect::<Vec<_>>())?;
        let nominal = kept.header.plan.fixed.at(&cell.levels).rate_bytes_per_s;
        if rate < RATE_HELD * nominal {
            return None;
        }
        let ns_per_kib = |cpus: f64, bytes_per_s: f64| per(cpus * 1e9 * 1024.0, bytes_per_s);
        let costs = counted.iter().filter_map(|pair| ns_per_kib(pair.taken_cpus, pair.bytes_per_s));
        let costs: Vec<f64> = costs.collect();
        let value = mean(&costs)?;
        let interval = mean_interval(&costs, kept.level).and_then(bounds).and_then(|own| {
            let least = scatter.as_ref()?.half_width_cpus(costs.len(), kept.level)?;
            let half = (value - own.low).max(ns_per_kib(least, rate)?);
            Some(Bounds { low: value - half, high: Some(value + half), ..own })
        });
        Some(with_interval(value, interval, costs.len()))
    };
    cells.iter().zip(&pairs).map(cost).collect()
}

/// An unsoaked control compared with the unsoaked paced trial beside it.
struct Pair {
    /// CPUs that were idle in the paced trial and not in the control, on average.
    taken_cpus: f64,
    /// Payload rate of the control.
    bytes_per_s: f64,
}

fn pairs(kept: &KeptBlocks, cell: &Cell) -> Vec<Pair> {
    let pair = |(control, paced): (&Trial, &Trial)| {
        Some(Pair {
            taken_cpus: idle_cpus(paced)? - idle_cpus(control)?,
            bytes_per_s: per(bytes(control) as f64 * 1e9, elapsed_ns(control)? as f64)?,
        })
    };
    kept.unsoaked_pairs(cell).into_iter().filter_map(pair).collect()
}

/// CPUs that were idle in a window, on average.
fn idle_cpus(trial: &Trial) -> Option<f64> {
    let idle_ns = trial.closed.idle_ns?.checked_sub(trial.opened.idle_ns?)?;
    per(idle_ns as f64, elapsed_ns(trial)? as f64)
}

/// The median of the CPUs taken.
fn middle(pairs: &[Pair]) -> Option<f64> {
    median(&pairs.iter().map(|pair| pair.taken_cpus).collect::<Vec<_>>())
}

/// Scatter of the pairs of one cell in a run, estimated from those of all cells.
struct Scatter {
    /// Standard deviation of a pair about its cell's median.
    deviation_cpus: f64,
    /// Pairs beyond the first of their cell.
    degrees_of_freedom: usize,
}

impl Scatter {
    /// Estimated from the pairs of all cells that have more than one, without gross errors. Values
    /// lie nearer to their own median than to what it estimates: n / (n - 1) makes up for that.
    fn from_pairs(cells: &[Vec<Pair>]) -> Option<Self> {
        let several = || cells.iter().filter(|pairs| pairs.len() > 1);
        let deviations = several().filter_map(|pairs| {
            let (middle, count) = (middle(pairs)?, pairs.len() as f64);
            let by = (count / (count - 1.0)).sqrt();
            Some(pairs.iter().map(move |pair| by * (pair.taken_cpus - middle).abs()))
        });
        let deviations: Vec<f64> = deviations.flatten().collect();
        Some(Self {
            deviation_cpus: quantile(&deviations, WITHIN_ONE)?,
            degrees_of_freedom: several().map(|pairs| pairs.len() - 1).sum(),
        })
    }

    /// Half of the interval of a mean over `pairs` pairs that scatter like this.
    fn half_width_cpus(&self, pairs: usize, confidence: f64) -> Option<f64> {
        let t = StudentT::new(self.degrees_of_freedom as f64)?.critical_value(confidence)?;
        Some(t * self.deviation_cpus / (pairs as f64).sqrt())
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    finite(values.iter().sum::<f64>() / values.len() as f64)
}
