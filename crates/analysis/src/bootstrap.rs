//! The bootstrap over whole blocks, for what is fitted to several cells at once.

use zc_stats::{Interval, expanded_confidence};

use crate::kept::KeptBlocks;

/// The bootstrap resamples that the intervals of fitted coefficients share.
pub(super) struct Bootstrap {
    /// `None` with too few blocks for an interval.
    draws: Option<zc_stats::Bootstrap>,
    /// Kept blocks of the run.
    pub(super) blocks: usize,
    level: f64,
}

impl Bootstrap {
    pub(super) fn new(kept: &KeptBlocks, resamples: usize) -> Self {
        Self::with_seed(kept, resamples, kept.header.plan.seed)
    }

    /// With a seed of its own, for blocks that are drawn independently of those of another run.
    pub(super) fn with_seed(kept: &KeptBlocks, resamples: usize, seed: u64) -> Self {
        let blocks = kept.costs.len();
        Self { draws: zc_stats::Bootstrap::new(blocks, resamples, seed), blocks, level: kept.level }
    }

    /// Values of a statistic over all resamples, the first of which is the observed sample; with
    /// too few blocks, over that alone.
    pub(super) fn map<T>(&self, mut statistic: impl FnMut(&[u32]) -> T) -> Vec<T> {
        match &self.draws {
            Some(draws) => draws.map(statistic),
            None => vec![statistic(&vec![1; self.blocks])],
        }
    }

    /// Values over the observed sample and its resamples, without the jackknife: for percentile
    /// intervals.
    pub(super) fn map_resamples<T>(&self, mut statistic: impl FnMut(&[u32]) -> T) -> Vec<T> {
        match &self.draws {
            Some(draws) => draws.map_resamples(statistic),
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
