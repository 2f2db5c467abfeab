//! Numbers with confidence intervals, as data.

use schemars::JsonSchema;
use serde::Serialize;

/// A median over blocks with its confidence interval.
///
/// Neighbouring blocks are alike, and the interval takes that into account. The interval of a cost
/// also has in it what costs wander in the run ([`crate::WanderFigures`]).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// The median over blocks.
    pub value: f64,
    /// Interval by the order statistics of the median; `None` with too few blocks for the level.
    pub interval: Option<Bounds>,
    /// The larger distance of an interval's end from the value, in the unit of the value.
    pub half_width: Option<f64>,
    /// Number of blocks (or trials, or cells).
    pub blocks: usize,
}

/// The two ends of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Bounds {
    /// Lower end.
    pub low: f64,
    /// Upper end; `None` if unbounded.
    pub high: Option<f64>,
    /// Achieved confidence of this interval by itself. It may be above the requested level, because
    /// the distribution is discrete.
    pub confidence: f64,
}

impl Bounds {
    /// Whether the value lies between the ends, inclusive.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && self.high.is_none_or(|high| value <= high)
    }
}

impl RatioFigure {
    /// The smallest difference that would be seen more often than not, as a share: half of the
    /// interval's width in logarithms. `None` without an interval or a bound.
    pub(crate) fn resolution(&self) -> Option<f64> {
        let Bounds { low, high, .. } = self.interval?;
        let share = (high? / low).sqrt() - 1.0;
        (low > 0.0 && share.is_finite()).then_some(share)
    }
}

/// The end of a ratio's interval that is farther from 1, as a factor of at least 1. Infinite
/// without a bound.
pub(crate) fn farthest_from_one(low: f64, high: Option<f64>) -> f64 {
    high.map_or(f64::INFINITY, |high| high.max(1.0 / low))
}

/// A quantity for the sender, the receiver, and both together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sides<T> {
    /// The quantity on the sender's CPU; `None` where the sides have no separate costs.
    pub sender: Option<T>,
    /// The quantity on the receiver's CPU; `None` where the sides have no separate costs.
    pub receiver: Option<T>,
    /// The quantity on both together.
    pub both: Option<T>,
}

impl<T> Default for Sides<T> {
    fn default() -> Self {
        Self { sender: None, receiver: None, both: None }
    }
}

/// The estimator of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RatioMethod {
    /// Hodges-Lehmann estimate of the blocks' log ratios, Wilcoxon signed-rank interval.
    HodgesLehmann,
    /// The ratio r at which the signed ranks of cost - r x reference balance, for costs at the
    /// noise floor that have no logarithm in some blocks.
    RankedDifferences,
}

/// The cost of a cell divided by that of its baseline in the same blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RatioFigure {
    /// Below 1: cheaper than the baseline.
    pub value: f64,
    /// Interval at `interval_level`; `None` with too few blocks for it.
    pub interval: Option<Bounds>,
    /// The larger of high/value - 1 and 1 - low/value: 0.025 is ±2.5 %. `None` without an interval
    /// or when unbounded.
    pub half_width: Option<f64>,
    /// Whether the half-width is within the plan's target.
    pub converged: bool,
    /// The estimator.
    pub method: RatioMethod,
    /// Two-sided p-value of the hypothesis that the ratio is 1 (exact signed-rank test).
    pub p_value: Option<f64>,
    /// Blocks in which both cells have a cost.
    pub blocks: usize,
    /// Factor by which the interval is wider than one over independent blocks, because ratios
    /// wander in the run beyond the scatter of its blocks: 1 or more, and 1 for a control.
    pub wander_inflation: f64,
    /// Too few blocks for an interval at this level.
    pub not_enough_blocks: bool,
}
