//! Verdicts about cells, and why they are withheld.

use schemars::JsonSchema;
use serde::Serialize;

use zc_run::Severity;

/// What may be said about the cells, as data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// Why nothing may be said; empty when it may.
    pub withheld: Vec<Withheld>,
    /// How each cell that has a ratio compares to what it refers to, without the control; computed also when withheld, for
    /// the curious.
    pub cells: Vec<CellVerdict>,
    /// Where all cells refer to one: the cell of the lowest cost, followed by those that cannot be told from it. One entry: it is
    /// the cheapest with certainty. Empty when there are no ratios, or when cells refer to several.
    pub cheapest: Vec<String>,
    /// The same for each cell that others refer to and those others, in the plan's order.
    pub cheapest_by: Vec<Cheapest>,
    /// How many comparisons were corrected for.
    pub comparisons: usize,
}

impl Verdict {
    /// Whether verdicts may be printed.
    pub fn stands(&self) -> bool {
        self.withheld.is_empty()
    }
}

/// The least costly of the cells that refer to the same one, that one included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cheapest {
    /// The cell that they refer to.
    pub by: String,
    /// The cell of the lowest cost, then those that cannot be told from it.
    pub cells: Vec<String>,
}

/// Why verdicts are withheld.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum Withheld {
    /// The reference differs from itself: the A/A interval does not contain 1.
    ControlDiffers {
        /// The A/A ratio.
        ratio: f64,
        /// Its interval.
        low: f64,
        /// Its interval.
        high: Option<f64>,
    },
    /// There is no A/A control in the plan, or it was never measured.
    NoControl,
    /// Nothing refers to anything: the reference has no cost.
    NoReference,
    /// Fewer blocks were kept than an interval needs.
    TooFewBlocks {
        /// KeptBlocks.
        kept: usize,
        /// The least number that an interval at this level needs.
        needed: usize,
    },
    /// The reference did not hold the rate: its cost was taken at saturation, and every ratio is of costs at two rates.
    ReferenceSaturated {
        /// The share of the rate that it reached.
        reached: f64,
    },
    /// More than half of the finished blocks were dropped by rule.
    BusyMachine {
        /// Dropped.
        dropped: usize,
        /// Finished.
        measured: usize,
    },
    /// A warning in the run forbids it.
    Warning {
        /// The warning's name.
        name: String,
        /// Always `withhold`.
        severity: Severity,
    },
}

/// How a cell compares to what it refers to.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellVerdict {
    /// Which cell.
    pub label: String,
    /// In words, at the level corrected for all comparisons (Holm's procedure on exact signed-rank p-values).
    pub comparison: Comparison,
    /// Whether the run-level interval by itself, uncorrected, excludes 1.
    pub interval_excludes_one: bool,
    /// What this cell is the price of a failed zero-copy: see `CellEstimate::failed_zero_copy`.
    pub failed_zero_copy: bool,
}

/// The word for a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Comparison {
    /// It costs less.
    Cheaper {
        /// Share of the other's cost that it saves: 1 - ratio.
        by: f64,
    },
    /// It costs more.
    Dearer {
        /// Share of the other's cost that comes on top: ratio - 1.
        by: f64,
    },
    /// If there is a difference, it is small: the whole interval lies this close to 1, and this is at most 5 %.
    Same {
        /// The larger distance of the interval's ends from 1.
        within: f64,
    },
    /// Neither could be shown.
    Undecided,
}
