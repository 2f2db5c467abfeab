//! Numbers with confidence intervals, as they are handed out.

use schemars::JsonSchema;
use serde::Serialize;

/// A number with its interval over blocks.
///
/// The interval takes blocks to be independent. What wanders slowly over the whole run (the neighbours' use of memory,
/// say) moves a cost and is only partly in its interval; it cancels in a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// The median over blocks.
    pub value: f64,
    /// The exact order-statistics interval of the median; `None` with too few blocks for the level.
    pub interval: Option<Bounds>,
    /// The larger distance of the interval's ends from the value, in the unit of the value.
    pub half_width: Option<f64>,
    /// Blocks (or trials, or cells) it rests on.
    pub blocks: usize,
}

/// The two ends of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Bounds {
    /// Lower end.
    pub low: f64,
    /// Upper end. `None`: nothing bounds it above.
    pub high: Option<f64>,
    /// The confidence this interval has by itself, which may be above the one asked for (discrete distributions).
    pub confidence: f64,
}

impl Bounds {
    /// Whether the value lies between the ends, these included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && self.high.is_none_or(|high| value <= high)
    }
}

/// Something for the sender, the receiver, and both together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sides<T> {
    /// On the sender's CPU. `None` where the sides cannot be told apart.
    pub sender: Option<T>,
    /// On the receiver's CPU. `None` where the sides cannot be told apart.
    pub receiver: Option<T>,
    /// On both of them.
    pub both: Option<T>,
}

impl<T> Default for Sides<T> {
    fn default() -> Self {
        Self { sender: None, receiver: None, both: None }
    }
}

/// How a ratio was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RatioMethod {
    /// Hodges-Lehmann estimate of the blocks' log ratios, Wilcoxon signed-rank interval.
    HodgesLehmann,
    /// The ratio r at which the signed ranks of cost - r x reference balance: costs are at the noise floor, some blocks have no
    /// logarithm.
    RankedDifferences,
}

/// The cost of a cell by the cost of the one that it refers to in the same blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RatioFigure {
    /// Below 1: cheaper than what it refers to.
    pub value: f64,
    /// At `interval_level`; `None` with too few blocks for it.
    pub interval: Option<Bounds>,
    /// The larger of high/value - 1 and 1 - low/value: 0.025 is +-2.5 %. `None` without an interval or when unbounded.
    pub half_width: Option<f64>,
    /// Whether the half-width is within the plan's target.
    pub converged: bool,
    /// How it was computed.
    pub method: RatioMethod,
    /// Two-sided p-value of "the ratio is 1" (exact signed-rank).
    pub p_value: Option<f64>,
    /// Blocks in which both cells have a cost.
    pub blocks: usize,
    /// There are too few blocks for an interval at this level.
    pub not_enough_blocks: bool,
}
