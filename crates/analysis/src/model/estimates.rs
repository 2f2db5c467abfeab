//! Everything that is computed from a run of an experiment.

use schemars::JsonSchema;
use serde::Serialize;

use super::cell::CellEstimate;
use super::figure::{RatioFigure, Sides};
use super::netperf::Accounts;
use super::sizes::Sizes;
use super::verdict::Verdict;

/// Everything that is computed from a saved run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Estimates {
    /// What all intervals of this run promise together over all its planned looks: 0.95.
    pub confidence: f64,
    /// The level at which each interval was computed: above `confidence`, because the run was looked at more than
    /// once (see `plan::looks`). 0.9736 after three looks and a spent budget.
    pub interval_level: f64,
    /// The label of the cell that ratios refer to.
    pub reference: String,
    /// Whether the cost of sender and receiver is told apart. When false, every `sender` and `receiver` is `None`.
    pub sides_apart: bool,
    /// Whether no receiver's cost is known, because there is no receiver (`null`) or it does not measure: every `both` is then
    /// the sender's alone, and every `receiver` is `None`.
    pub sender_alone: bool,
    /// One for each cell of the plan, in the plan's order, measured or not.
    pub cells: Vec<CellEstimate>,
    /// The A/A pair: the reference against itself under another name. `None` when the plan has none.
    pub control: Option<Control>,
    /// Blocks kept and dropped.
    pub blocks: BlockAccount,
    /// What the machine was like meanwhile.
    pub conditions: Conditions,
    /// What may be said.
    pub verdict: Verdict,
    /// Cost against message size, where the plan has several sizes: `both`, and `sender` where it is told apart.
    pub sizes: Sides<Sizes>,
    /// netperf's and time(1)'s accounts side by side, where the plan has socket buffers of several sizes.
    pub accounts: Option<Accounts>,
}

/// The reference against itself.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Control {
    /// The control cell's label.
    pub label: String,
    /// Its ratio to the reference: 1 if the machine is fit to tell such differences.
    pub ratio: Sides<RatioFigure>,
    /// Whether the interval of `both` contains 1; `None` without an interval.
    pub fits: Option<bool>,
}

/// What became of the blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BlockAccount {
    /// All that stand in the run.
    pub measured: usize,
    /// Those that count.
    pub kept: usize,
    /// Those that do not, by rule.
    pub dropped: DropCounts,
}

/// Blocks dropped, by rule. A block is dropped by the first rule that it breaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DropCounts {
    /// The hypervisor took more than 1 %.
    pub steal: usize,
    /// Neighbouring idle windows differed by more than 2 %.
    pub idle_drift: usize,
    /// Something else used more than 2 %.
    pub foreign: usize,
    /// A trial failed.
    pub trial_failed: usize,
    /// Cut short. Not a sign of a bad machine: the last block of a run with a budget often ends like that.
    pub unfinished: usize,
}

/// What the machine was like while the kept blocks were measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Conditions {
    /// Copying memory that is not in the cache, bytes per second: median over blocks. Costs of paths that copy move
    /// with it, so two runs compare only if this does.
    pub memcpy_bytes_per_s: Option<f64>,
    /// The slowest block.
    pub memcpy_slowest_bytes_per_s: Option<f64>,
    /// The fastest block.
    pub memcpy_fastest_bytes_per_s: Option<f64>,
    /// Share of the soaked CPUs that the hypervisor took, all blocks of the run, dropped ones too.
    pub steal_share: Option<f64>,
    /// Median relative difference between neighbouring idle windows.
    pub idle_drift: Option<f64>,
}
