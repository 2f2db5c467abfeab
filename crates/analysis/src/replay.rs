//! A log that was replayed: what its responses cost as they were sent, and what their lengths tell that
//! they cost, in the same blocks of the same run.
//!
//! It is the check of [`advise`](crate::advise::advise): that a response costs what one of its length does when
//! it is alone in its cell, and that a curve between lengths tells the others. What slows a whole block
//! is in both, and cancels in their ratio.

use std::collections::BTreeMap;

use crate::cost_curve::CostCurve;
use crate::costs::Side;
use crate::figures::{cost_figure, ratio_figure};
use crate::kept::KeptBlocks;
use crate::model::figure::RatioFigure;
use crate::model::replay::{Replay, ReplayedPath};
use crate::ratios::{Pair, ratio};
use crate::sizes::series::{SeriesCells, series};
use zc_run::ReplayPlan;

/// Bins of lengths in an octave. Within one a straight line is exact to a thousandth.
const BINS_IN_OCTAVE: f64 = 8.0;

/// What the lengths of a log tell, and what its replay cost; `None` in a run without a replay.
pub(super) fn replay(kept: &KeptBlocks) -> Option<Replay> {
    let plan = &kept.header.plan;
    let replay = plan.replay()?;
    let bins = Bins::of(replay);
    let groups = series(kept.header);
    let of_cell = |label: &String| {
        let cell = kept.index.place(label)?;
        let path = plan.cells[cell].send;
        let is_of_path = |group: &&SeriesCells| {
            group.cells.first().is_some_and(|(_, first)| plan.cells[*first].send == path)
        };
        let group = groups.iter().find(is_of_path)?;
        Some((cell, Costs::of(kept, cell, group, &bins)))
    };
    let all: BTreeMap<usize, Costs> = replay.cells.iter().filter_map(of_cell).collect();
    let compared = |pairs: Vec<Pair>| -> Option<RatioFigure> {
        let found = ratio(&pairs, kept.level, kept.wanders.ratios(Side::Both))?;
        Some(ratio_figure(&found, plan.target))
    };
    let wander = kept.wanders.costs(Side::Both);
    let cost = |ns: &[Option<f64>]| {
        let us: Vec<f64> = ns.iter().flatten().map(|ns| ns / 1e3).collect();
        cost_figure(&us, wander, kept.level)
    };
    let paths = all.iter().map(|(cell, costs)| {
        let base = kept.index.baseline(*cell).and_then(|base| all.get(&base));
        let replayed_by_predicted = compared(pairs(&costs.replayed, &costs.predicted));
        let agrees = |ratio: &RatioFigure| Some(ratio.interval?.contains(1.0));
        ReplayedPath {
            path: plan.cells[*cell].send.to_string(),
            cell: plan.cells[*cell].label.clone(),
            replayed_us: cost(&costs.replayed),
            predicted_us: cost(&costs.predicted),
            agrees: replayed_by_predicted.as_ref().and_then(agrees),
            replayed_by_predicted,
            replayed_ratio: base.and_then(|base| compared(pairs(&costs.replayed, &base.replayed))),
            predicted_ratio: base
                .and_then(|base| compared(pairs(&costs.predicted, &base.predicted))),
        }
    });
    let longest = groups.iter().flat_map(|group| group.cells.last()).map(|(bytes, _)| *bytes).max();
    let beyond = |longest: usize| {
        let beyond = replay.body_bytes.iter().filter(|bytes| **bytes > longest as u64);
        beyond.fold(0.0, |sum, bytes| sum + *bytes as f64) / (replay.total_bytes() as f64).max(1.0)
    };
    Some(Replay {
        responses: replay.body_bytes.len(),
        mean_bytes: replay.mean_bytes(),
        beyond_bytes_share: longest.map_or(1.0, beyond),
        paths: paths.collect(),
    })
}

/// What a response costs on average, in ns, by kept block.
struct Costs {
    replayed: Vec<Option<f64>>,
    predicted: Vec<Option<f64>>,
}

impl Costs {
    fn of(kept: &KeptBlocks, cell: usize, group: &SeriesCells, bins: &Bins) -> Self {
        let cost = |block: usize, cell: usize| {
            kept.costs[block].get(cell)?.as_ref()?.ns_per_kib(Side::Both)
        };
        let predicted = |block: usize| {
            let point = |(bytes, cell): &(usize, usize)| {
                Some((*bytes as f64, cost(block, *cell)? * *bytes as f64 / 1024.0))
            };
            let points = group.cells.iter().map(point).collect::<Option<Vec<_>>>()?;
            Some(bins.mean_ns(&CostCurve::new(&points)?))
        };
        let blocks = 0..kept.costs.len();
        let per_response = bins.mean_bytes / 1024.0;
        Self {
            replayed: blocks.clone().map(|block| Some(cost(block, cell)? * per_response)).collect(),
            predicted: blocks.map(predicted).collect(),
        }
    }
}

fn pairs(costs: &[Option<f64>], bases: &[Option<f64>]) -> Vec<Pair> {
    std::iter::zip(costs, bases)
        .filter_map(|(cost, base)| Some(((*cost)?, (*base)?).into()))
        .collect()
}

/// The lengths of a log's responses, those that are nearly equal together: the mean of each bin, and how
/// many are in it.
struct Bins {
    each: Vec<(f64, f64)>,
    responses: f64,
    mean_bytes: f64,
}

impl Bins {
    fn of(replay: &ReplayPlan) -> Self {
        let mut bins: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        for bytes in &replay.body_bytes {
            let bytes = *bytes as f64;
            let bin = ((bytes + 1.0).log2() * BINS_IN_OCTAVE) as u64;
            let (sum, count) = bins.entry(bin).or_default();
            *sum += bytes;
            *count += 1.0;
        }
        Self {
            each: bins.into_values().map(|(sum, count)| (sum / count, count)).collect(),
            responses: replay.body_bytes.len().max(1) as f64,
            mean_bytes: replay.mean_bytes(),
        }
    }

    fn mean_ns(&self, curve: &CostCurve) -> f64 {
        self.each.iter().map(|(bytes, count)| count * curve.at(*bytes)).sum::<f64>()
            / self.responses
    }
}
