//! The line of a series: cost of a call = a + b x size, with bootstrap intervals over whole blocks.
//!
//! A common factor of a block (from a neighbour's load) moves all its costs together. It would bend
//! a line if some sizes were missing from that block, or hide where two lines cross, so it is
//! removed first. A block's level is the median over cells of the cost divided by the cell's own
//! median. Each cost is divided by its block's level, and a line's a and b are multiplied again by
//! the level over all resampled blocks, so that their intervals include the variation between
//! blocks. The intersection of lines does not depend on it.

use zc_stats::{Interval, Midmean, expanded_confidence, median, nonnegative_fit};

use super::series::SeriesCells;
use crate::costs::{Side, TrialCost};
use crate::figures::{bounds, with_interval};
use crate::kept::KeptBlocks;
use crate::model::figure::Figure;
use crate::model::sizes::{Line, Residual};

/// The bootstrap resamples that all intervals of a run's sizes share.
pub(super) struct Bootstrap {
    /// `None` with too few blocks for an interval.
    draws: Option<zc_stats::Bootstrap>,
    blocks: usize,
    level: f64,
}

impl Bootstrap {
    pub(super) fn of(kept: &KeptBlocks, resamples: usize) -> Self {
        let blocks = kept.costs.len();
        Self {
            draws: zc_stats::Bootstrap::new(blocks, resamples, kept.header.plan.seed),
            blocks,
            level: kept.level,
        }
    }

    /// Values of a statistic over all resamples, the first of which is the observed sample; with
    /// too few blocks, over that alone.
    pub(super) fn map<T>(&self, mut statistic: impl FnMut(&[u32]) -> T) -> Vec<T> {
        match &self.draws {
            Some(draws) => draws.map(statistic),
            None => vec![statistic(&vec![1; self.blocks])],
        }
    }

    /// The BCa interval of a statistic from its values over all resamples.
    pub(super) fn interval(&self, values: impl Iterator<Item = Option<f64>>) -> Option<Interval> {
        let values: Vec<f64> = values.collect::<Option<_>>()?;
        let asked = expanded_confidence(self.level, self.blocks)?;
        let interval = self.draws?.bca_interval(&values, asked)?;
        Some(Interval { achieved_confidence: self.level, ..interval })
    }
}

/// Costs of all cells in ns per KiB, for one side.
pub(super) struct BlockCosts {
    /// Costs divided by the block's level, by cell of the plan.
    normalized: Vec<Midmean>,
    /// Level of the blocks, by resample.
    levels: Vec<Option<f64>>,
}

impl BlockCosts {
    pub(super) fn of(kept: &KeptBlocks, side: Side, boot: &Bootstrap) -> Self {
        let cells = &kept.header.plan.cells;
        let cost =
            |block: &[Option<TrialCost>], cell: usize| block.get(cell)?.as_ref()?.ns_per_kib(side);
        let medians: Vec<Option<f64>> = (0..cells.len())
            .map(|cell| {
                let costs: Vec<f64> =
                    kept.costs.iter().filter_map(|block| cost(block, cell)).collect();
                median(&costs).filter(|cost| *cost > 0.0)
            })
            .collect();
        let level = |block: &Vec<Option<TrialCost>>| {
            let of_cell = |cell: usize| {
                Some((cost(block, cell).filter(|cost| *cost > 0.0)? / medians[cell]?).ln())
            };
            let logs: Vec<f64> = (0..cells.len()).filter_map(of_cell).collect();
            median(&logs).map(f64::exp)
        };
        let by_block: Vec<Option<f64>> = kept.costs.iter().map(level).collect();
        let normalized = |cell: usize| {
            let blocks = std::iter::zip(&kept.costs, &by_block);
            Midmean::new(blocks.map(|(block, level)| Some(cost(block, cell)? / (*level)?)))
        };
        let normalized = (0..cells.len()).map(normalized).collect();
        let level = Midmean::new(by_block.iter().copied());
        Self { normalized, levels: boot.map(|times| level.resampled(times)) }
    }
}

/// A measured point of a series.
#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) size: usize,
    /// Index of its cell in the plan.
    pub(super) place: usize,
    /// Cost of a call, ns.
    pub(super) call_ns: f64,
}

impl Point {
    fn kib(&self) -> f64 {
        self.size as f64 / 1024.0
    }
}

/// A line: cost of a call and of a KiB, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FittedLine {
    pub(super) call_ns: f64,
    pub(super) ns_per_kib: f64,
}

impl FittedLine {
    /// Cost of a call with `size` bytes, ns.
    pub(super) fn at(&self, size: f64) -> f64 {
        self.call_ns + self.ns_per_kib * size / 1024.0
    }
}

/// A series with its points and lines.
pub(super) struct Fitted {
    /// Points with a cost above 0, by rising size.
    pub(super) points: Vec<Point>,
    /// Its line by resample, all at the level of the observed sample.
    pub(super) lines: Vec<Option<FittedLine>>,
}

impl Fitted {
    pub(super) fn of(members: &SeriesCells, costs: &BlockCosts, boot: &Bootstrap) -> Self {
        let level = costs.levels[0].unwrap_or(1.0);
        let all = vec![1; boot.blocks];
        let point = |(size, place): &(usize, usize)| {
            let cost = costs.normalized[*place].resampled(&all)? * level;
            (cost > 0.0).then_some(Point {
                size: *size,
                place: *place,
                call_ns: cost * *size as f64 / 1024.0,
            })
        };
        let points: Vec<Point> = members.cells.iter().filter_map(point).collect();
        let line = |times: &[u32]| {
            // Weights are those of the observed sample, so that chance in one resample does not
            // decide which points count.
            let drawn = |point: &Point| {
                let cost = costs.normalized[point.place].resampled(times)? * level;
                Some(([1.0, point.kib()], cost * point.kib(), point.call_ns.powi(-2)))
            };
            let drawn: Vec<_> = points.iter().map(drawn).collect::<Option<_>>()?;
            let [call_ns, ns_per_kib] = nonnegative_fit(&drawn)?;
            Some(FittedLine { call_ns, ns_per_kib })
        };
        let lines = boot.map(line);
        Self { points, lines }
    }

    pub(super) fn point(&self, size: usize) -> Option<&Point> {
        self.points.iter().find(|point| point.size == size)
    }

    pub(super) fn line(&self, costs: &BlockCosts, boot: &Bootstrap) -> Option<Line> {
        let (line, level) = (self.lines[0]?, costs.levels[0]?);
        let figure = |part: fn(&FittedLine) -> f64| -> Figure {
            let drawn = std::iter::zip(&self.lines, &costs.levels);
            let interval = boot.interval(
                drawn.map(|(line, drawn)| Some(part(line.as_ref()?) * (*drawn)? / level)),
            );
            with_interval(part(&line), interval.and_then(bounds), boot.blocks)
        };
        let residual = |point: &Point| Residual {
            size_bytes: point.size,
            share: point.call_ns / line.at(point.size as f64) - 1.0,
        };
        let residuals =
            self.points.iter().map(residual).filter(|residual| residual.share.is_finite());
        Some(Line {
            call_ns: figure(|line| line.call_ns),
            ns_per_kib: figure(|line| line.ns_per_kib),
            largest_residual: residuals
                .max_by(|one, other| one.share.abs().total_cmp(&other.share.abs()))?,
        })
    }
}
