//! The statistics of zc: pure functions over slices, no clock, no files, no global randomness.
//!
//! What each interval promises, and which one suits what:
//!
//! | interval | of | exact for | where it fails |
//! |---|---|---|---|
//! | [`wilcoxon_interval`] | the centre of symmetry (pseudomedian) | independent, symmetric differences, any tails | asymmetric ones: it is then about the pseudomedian, and only nearly |
//! | [`ranked_ratio`] | the ratio of paired quantities, some of them not above 0 | a - r b that is symmetric at the true r | asymmetric ones, as above |
//! | [`median_interval`] | the median | independent values of any shape | never; it is wide instead |
//! | [`mann_whitney_interval`] | a shift between two samples | two samples of one shape | shapes that differ |
//! | [`mean_interval`] | a mean | normal values | few values with long tails |
//! | [`welch_interval`] | a difference of means | two normal samples | few values with long tails |
//! | [`bca_interval`] | whatever statistic it is given | nothing; in the limit | few values: see [`few_blocks_confidence`] |
//!
//! Values that are paired in blocks are differenced first, so that what a block's cells share cancels. If the noise of
//! two cells has the same shape, however skewed, the difference of the two is symmetric: this is why the log ratio of
//! two costs goes into [`wilcoxon_interval`] and a cost by itself into [`median_interval`].
//!
//! `tests/coverage.rs` shows by simulation how often each covers, under skewed, heavy-tailed and drifting noise too.
//!
//! Too few values for a confidence is `None`, never a wider claim. So is a slice with a NaN in it.

mod alpha_spending;
mod bootstrap;
mod correlation;
mod line;
mod midmean;
mod normal;
mod order;
mod rank_sum;
mod ranked_ratio;
mod select;
mod signed_rank;
mod student;
mod welch;

pub use alpha_spending::AlphaSpending;
pub use bootstrap::{Draws, RESAMPLES, bca_interval, few_blocks_confidence};
pub use correlation::correlation_inflation;
pub use line::{falling, nonnegative_line};
pub use midmean::Midmean;
pub use order::{mad, median, median_interval, median_least_n, quantile};
pub use rank_sum::{MannWhitney, hodges_lehmann_shift, mann_whitney, mann_whitney_interval, mann_whitney_p};
pub use ranked_ratio::{RankedRatio, ranked_ratio};
pub use signed_rank::{hodges_lehmann, signed_rank_p, wilcoxon_interval, wilcoxon_least_n};
pub use student::{Student, mean_interval};
pub use welch::{Welch, welch_interval};

/// An interval, and what it is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The confidence of this very interval. Never below the one asked for; above it where the distribution is
    /// discrete and has no interval of just that confidence.
    pub confidence_reached: f64,
}

impl Interval {
    /// Whether the value lies in the interval, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// A sorted copy; `None` when it is empty or holds a NaN.
fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

/// What an interval may miss on both sides together, or `None` when the confidence is not between 0 and 1.
fn alpha(confidence: f64) -> Option<f64> {
    (confidence > 0.0 && confidence < 1.0).then_some(1.0 - confidence)
}

/// 0.95 becomes 0.050000000000000044 when it is taken from 1: what a probability may exceed its limit by.
const ROUNDING: f64 = 1e-12;
