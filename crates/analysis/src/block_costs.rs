//! Costs of cells without the level of their block.
//!
//! A common factor of a block (from a neighbour's load) moves all its costs together. It would bend
//! what is fitted to several cells if some of them were missing from that block, or hide where two
//! lines cross, so it is removed first. A block's level is the median over cells of the cost
//! divided by the cell's own median. Each cost is divided by its block's level, and fitted
//! coefficients are multiplied again by the level over all resampled blocks, so that their
//! intervals include the variation between blocks.

use zc_stats::{Midmean, median};

use crate::bootstrap::Bootstrap;
use crate::costs::{Side, TrialCost};
use crate::figures::{bounds, with_interval};
use crate::kept::KeptBlocks;
use crate::model::figure::Figure;

/// Costs of all cells in ns per KiB, for one side.
pub(super) struct BlockCosts {
    /// Costs divided by the block's level, by cell of the plan.
    normalized: Vec<Midmean>,
    /// Level of the blocks, by resample.
    levels: Vec<Option<f64>>,
}

impl BlockCosts {
    pub(super) fn normalize(kept: &KeptBlocks, side: Side, boot: &Bootstrap) -> Self {
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

    /// The level of all blocks together.
    pub(super) fn level(&self) -> f64 {
        self.levels[0].unwrap_or(1.0)
    }

    /// The cost of a cell in a resample, at the level of all blocks.
    pub(super) fn drawn(&self, cell: usize, times: &[u32]) -> Option<f64> {
        Some(self.normalized[cell].resampled(times)? * self.level())
    }

    /// The level of the blocks of each resample, divided by that of all blocks.
    pub(super) fn relative_levels(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        let level = self.level();
        self.levels.iter().map(move |own| Some((*own)? / level))
    }

    /// A coefficient with its interval, from its values over all resamples of
    /// [`drawn`](Self::drawn) costs.
    pub(super) fn coefficient(
        &self,
        values: impl Iterator<Item = Option<f64>> + Clone,
        boot: &Bootstrap,
    ) -> Option<Figure> {
        let (value, level) = (values.clone().next()??, self.levels[0]?);
        let at_own_level =
            std::iter::zip(values, &self.levels).map(|(value, own)| Some(value? * (*own)? / level));
        Some(with_interval(value, boot.interval(at_own_level).and_then(bounds), boot.blocks))
    }
}
