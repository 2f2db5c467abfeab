//! Verdicts about cells and the reasons for withholding them, as data.

use std::collections::HashMap;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::Serialize;

use super::cell::CellEstimate;
use super::figure::farthest_from_one;
use zc_run::Severity;

/// Equivalence margin: two cells cost the same when the interval of their ratio is within this
/// distance of 1. A control that resolves less is too wide.
pub(crate) const EQUIVALENCE_MARGIN: f64 = 0.05;

/// A positive control that is shown to miss by more than this share of what was added withholds all
/// verdicts.
const MOST_OFF: f64 = 0.5;

/// A positive control that may have missed this factor, which is as much as the whole cost, has
/// seen nothing and withholds all verdicts.
const MOST_UNSEEN: f64 = 2.0;

/// The verdicts about a run's cells.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// Why verdicts are withheld; empty when they are not.
    pub withheld: Vec<Withheld>,
    /// The comparison of each cell other than the control with its baseline; computed even when
    /// verdicts are withheld.
    pub cells: Vec<CellVerdict>,
    /// The cheapest cell, followed by those that may be cheaper still: the truly cheapest one is
    /// among them with the level's confidence. A single entry is significantly the cheapest. Empty
    /// without ratios, or if the cells have several baselines.
    pub cheapest: Vec<String>,
    /// The same for each baseline, in the plan's order.
    pub cheapest_by: Vec<Cheapest>,
    /// Number of comparisons in the correction for multiple testing.
    pub comparisons: usize,
    /// The largest error that a control shows, as a share: the difference of the A/A control from
    /// the reference, or of the positive control's cost from the expected one, whichever is larger.
    /// A positive control that may have found nothing shows what it may have missed. No difference
    /// that this could explain is among the comparisons. `None` where neither misses.
    pub control_error: Option<f64>,
    /// The smallest difference that both controls could have seen, as a share: half of the width of
    /// the wider one's interval. No smaller one is among the comparisons. `None` without intervals,
    /// and where a control could have seen none.
    pub resolution: Option<f64>,
    /// The places of the cells by label, once one was asked for.
    #[serde(skip)]
    pub places: OnceLock<HashMap<String, usize>>,
}

impl Verdict {
    /// What was found out about a server's state. `None` where verdicts are withheld, and where the
    /// server was slower than the rate: its cost is not that of the same load.
    pub fn of_state(&self, cell: &CellEstimate) -> Option<Comparison> {
        if !self.stands() || cell.perturbation.saturated {
            return None;
        }
        Some(self.for_cell(&cell.label)?.comparison)
    }

    /// The verdict of the cell with this label. The first call indexes the cells, which must not be
    /// changed afterwards: there may be tens of thousands of cells, each looked up once.
    pub fn for_cell(&self, label: &str) -> Option<&CellVerdict> {
        let places = self.places.get_or_init(|| {
            // The first one of several with the same label.
            let each = self.cells.iter().enumerate().rev();
            each.map(|(place, cell)| (cell.label.clone(), place)).collect()
        });
        self.cells.get(*places.get(label)?).filter(|cell| cell.label == label)
    }

    /// Whether the controls permit a difference of this ratio to be told: they show no such error,
    /// and both could have seen it.
    pub fn sees(&self, ratio: f64) -> bool {
        let least = self.control_error.into_iter().chain(self.resolution).fold(0.0, f64::max);
        ratio.max(1.0 / ratio) > 1.0 + least
    }

    /// Whether verdicts may be printed: no reason withholds them.
    pub fn stands(&self) -> bool {
        self.withheld.is_empty()
    }
}

/// The cheapest of the cells with one baseline, that baseline included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cheapest {
    /// Label of the baseline.
    pub by: String,
    /// The cheapest cell, then those that may be cheaper still.
    pub cells: Vec<String>,
}

/// Why verdicts are withheld, all or those that an error could explain.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum Withheld {
    /// The A/A control differs from the reference: the interval of their ratio does not contain 1.
    /// In comparisons of runs only: among a run's own verdicts, `control_error` says what is left
    /// undecided.
    ControlDiffers {
        /// Cost of the control divided by that of the reference.
        ratio: f64,
        /// Lower end of its interval.
        low: f64,
        /// Upper end of its interval; `None` if unbounded.
        high: Option<f64>,
    },
    /// The positive control was not found: the interval of its ratio to the reference does not
    /// contain what was added. Among a run's own verdicts only where that interval lies below half
    /// of what was added or above one and a half times that; `control_error` otherwise.
    PositiveControlMissed {
        /// Its cost divided by that of the reference, as it should be.
        expected: f64,
        /// The same as it was found.
        found: f64,
        /// Lower end of its interval.
        low: f64,
        /// Upper end of its interval; `None` if unbounded.
        high: Option<f64>,
    },
    /// The controls are so wide that they could not have seen differences of up to this share, or
    /// any difference at all. Among a run's own verdicts only in the latter case; `resolution` says
    /// what is left undecided otherwise.
    ControlTooWide {
        /// `None` without a bound.
        resolution: Option<f64>,
    },
    /// The positive control is so wide that it could not have seen what was added: its interval
    /// contains 1 as well. Among a run's own verdicts only where it may have missed as much as the
    /// whole cost; `control_error` says what is left undecided otherwise.
    PositiveControlUnseen {
        /// Its cost divided by that of the reference, as it should be.
        expected: f64,
        /// Lower end of the interval of what was found.
        low: f64,
        /// Upper end of its interval; `None` if unbounded.
        high: Option<f64>,
    },
    /// A cost is below 0 by more than its noise, which is a fault of the instrument.
    BelowZero {
        /// Label of the cell, or the harness of one.
        of: String,
        /// The cost.
        us_per_mb: f64,
        /// Lower end of its interval.
        low: f64,
        /// Upper end of its interval.
        high: f64,
    },
    /// The plan has no A/A control, or one of its controls was never measured.
    NoControl,
    /// The reference has no cost above 0, so there are no ratios.
    NoReference,
    /// Too few blocks were kept for an interval.
    TooFewBlocks {
        /// Number of kept blocks.
        kept: usize,
        /// Smallest number for an interval at this level.
        needed: usize,
    },
    /// The reference did not reach its rate: its cost was measured at saturation, and every ratio
    /// compares costs at two rates.
    ReferenceSaturated {
        /// Reached rate divided by the nominal one.
        reached: f64,
    },
    /// More than half of the finished blocks were dropped by rule.
    BusyMachine {
        /// Dropped blocks, without unfinished ones.
        dropped: usize,
        /// Finished blocks.
        measured: usize,
    },
    /// The run has a warning of severity `withhold`.
    Warning {
        /// Name of the warning.
        name: String,
        /// Always `withhold`.
        severity: Severity,
    },
}

impl Withheld {
    /// The name of the reason, as in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ControlDiffers { .. } => "control-differs",
            Self::PositiveControlMissed { .. } => "positive-control-missed",
            Self::ControlTooWide { .. } => "control-too-wide",
            Self::PositiveControlUnseen { .. } => "positive-control-unseen",
            Self::BelowZero { .. } => "below-zero",
            Self::NoControl => "no-control",
            Self::NoReference => "no-reference",
            Self::TooFewBlocks { .. } => "too-few-blocks",
            Self::ReferenceSaturated { .. } => "reference-saturated",
            Self::BusyMachine { .. } => "busy-machine",
            Self::Warning { .. } => "warning",
        }
    }

    /// The error that this shows, a factor of at least 1; infinite without a bound. `None` where
    /// no ratio can be trusted whatever its size.
    ///
    /// A positive control that is shown to miss by more than half of what was added shows an
    /// instrument that does not see a kind of cost, or sees what is not there. It does not show how
    /// much of another path's cost that is.
    pub fn error(&self) -> Option<f64> {
        let of_ends = |low: f64, high: Option<f64>, expected: f64| {
            farthest_from_one(low / expected, high.map(|high| high / expected))
        };
        match *self {
            Self::ControlDiffers { low, high, .. } => Some(farthest_from_one(low, high)),
            Self::PositiveControlMissed { expected, low, high, .. } => {
                let most_off = MOST_OFF * (expected - 1.0);
                let is_shown = low > expected + most_off
                    || high.is_some_and(|high| high < expected - most_off);
                (!is_shown).then(|| of_ends(low, high, expected))
            }
            Self::PositiveControlUnseen { expected, low, high } => {
                Some(of_ends(low, high, expected)).filter(|error| *error < MOST_UNSEEN)
            }
            // An open result is not an error that the control shows.
            Self::ControlTooWide { resolution } => resolution.map(|_| 1.0),
            Self::BelowZero { .. }
            | Self::NoControl
            | Self::NoReference
            | Self::TooFewBlocks { .. }
            | Self::ReferenceSaturated { .. }
            | Self::BusyMachine { .. }
            | Self::Warning { .. } => None,
        }
    }
}

/// Comparison of a cell with its baseline.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellVerdict {
    /// Label of the cell.
    pub label: String,
    /// The result, corrected for all comparisons (Holm's procedure on exact signed-rank p-values).
    pub comparison: Comparison,
    /// Whether the interval of the ratio excludes 1, without correction for the other comparisons.
    pub interval_excludes_one: bool,
    /// The cost of this cell is the price of a failed zero-copy: see
    /// `CellEstimate::failed_zero_copy`.
    pub failed_zero_copy: bool,
}

/// Result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Comparison {
    /// Costs significantly less.
    Cheaper {
        /// Share of the baseline's cost that it saves: 1 - ratio.
        by: f64,
    },
    /// Costs significantly more.
    Dearer {
        /// Share of the baseline's cost that is added: ratio - 1.
        by: f64,
    },
    /// Equivalent: the whole interval is within 5 % of 1.
    Same {
        /// The larger distance of an interval's end from 1, at most 0.05.
        within: f64,
    },
    /// Neither a difference nor equivalence was shown.
    Undecided,
}
