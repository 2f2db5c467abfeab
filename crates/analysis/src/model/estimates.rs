//! Estimates of a whole run, as data.

use schemars::JsonSchema;
use serde::Serialize;

use crate::unit::from_ns_per_kib;

use super::account_kind::AccountKind;
use super::cell::CellEstimate;
use super::components::Components;
use super::figure::{Figure, RatioFigure, Sides};
use super::netperf::Accounts;
use super::replay::Replay;
use super::requests::RequestCost;
use super::sizes::Sizes;
use super::verdict::{EQUIVALENCE_MARGIN, Verdict};

/// All estimates of a saved run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Estimates {
    /// Simultaneous confidence level of all intervals over all planned analyses: 0.95.
    pub confidence: f64,
    /// Confidence level of each single interval. It is above `confidence`, because a run has
    /// several analyses (see `interim`): 0.95 at the end of the budget, more if it ended early.
    pub interval_level: f64,
    /// Label of the plan's reference.
    pub reference: String,
    /// Whether sender and receiver have separate costs. When false, every `sender` and `receiver`
    /// is `None`.
    pub sides_apart: bool,
    /// Whether no receiver's cost is known, because there is no receiver (`null`) or it does not
    /// measure. Every `both` is then the sender's alone, and every `receiver` is `None`.
    pub sender_alone: bool,
    /// Whether all costs are those of a client whose server is on another machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client_alone: bool,
    /// One for each cell of the plan, in the plan's order, measured or not.
    pub cells: Vec<CellEstimate>,
    /// Rough figures of each cell, available where no block was kept. Empty where one was.
    pub rough: Vec<Rough>,
    /// Cost with soakers divided by cost without, by getrusage: soaked windows and the unsoaked
    /// controls of the same cells in the same blocks. `None` without unsoaked controls.
    pub cost_ratio_with_soakers: Option<Figure>,
    /// The A/A pair: the reference compared with itself under another name. `None` when the plan
    /// has none.
    pub control: Option<Control>,
    /// The positive control: the reference with a known cost on top. `None` in runs from before
    /// format 3.1, and where the plan has none.
    pub positive_control: Option<PositiveControl>,
    /// CPU time of other tasks that worked for the traffic; `None` where costs are by wall time,
    /// which contains it.
    pub unattributed: Option<Unattributed>,
    /// The account by which costs were computed.
    pub account: AccountKind,
    /// CPU time that other programs used while the run was measured; `None` where costs are by wall
    /// time.
    pub other_programs: Option<OtherPrograms>,
    /// Wander of ratios and costs.
    pub wander: WanderFigures,
    /// Numbers of kept and dropped blocks.
    pub blocks: BlockAccount,
    /// Conditions of the machine during the run.
    pub conditions: Conditions,
    /// Verdicts, and why they are withheld.
    pub verdict: Verdict,
    /// Cost against message size, where the plan has several sizes: `both`, and `sender` where the
    /// sides have separate costs.
    pub sizes: Sides<Sizes>,
    /// Costs of wake-ups, calls and bytes, where the plan has several rates: `both`, and `sender`
    /// where the sides have separate costs. One for each series of cells that differ only in rate
    /// and message size.
    pub components: Sides<Vec<Components>>,
    /// Cost of a request in each state of a server: `zc run server`. Empty in other runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestCost>,
    /// Costs of the replayed log beside those predicted from its lengths: `zc run replay`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// Accounts of netperf and time(1), where the plan has socket buffers of several sizes.
    pub accounts: Option<Accounts>,
}

/// CPU time that tasks unknown to zc used while traffic ran, beyond what they used in idle windows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Unattributed {
    /// Label of the cell that has the most of it.
    pub label: String,
    /// Its value there, for both sides together, in ns per KiB; the interval is corrected for the
    /// number of cells. Below 0 where other programs had to wait for the traffic.
    #[serde(rename = "cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub cost_ns_per_kib: Figure,
    /// Whether it is significant. It is then included in the costs of all cells, except those where
    /// it is significantly below 0.
    pub added: bool,
}

/// Share of the soaked CPUs that other programs used, over all soaked windows of the blocks that
/// count. No cost contains it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OtherPrograms {
    /// Share of all soaked CPUs.
    pub share: f64,
    /// Number of these CPUs, those of the remote machine included.
    pub cpus: usize,
    /// Share of each soaked CPU of the sending machine. Empty where the traffic's threads may run
    /// on any of them.
    pub by_cpu: Vec<CpuShare>,
    /// Soaked windows of cells in the blocks that count.
    pub windows: usize,
    /// Windows among these without a cost, because the soakers hardly ran.
    pub windows_left_out: usize,
}

/// Share of one CPU that other programs used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CpuShare {
    /// Number of the CPU.
    pub cpu: usize,
    /// Their share of it, 0 to 1.
    pub share: f64,
}

/// Differences between neighbouring stretches of a run, beyond what the scatter of its blocks
/// explains: standard deviations of logarithms, of both sides together. `None` with fewer than six
/// blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct WanderFigures {
    /// Wander of the ratios of cells to their baselines. Their intervals contain it.
    pub ratios: Option<f64>,
    /// Wander of costs. Their intervals contain it.
    pub costs: Option<f64>,
}

/// The A/A control compared with the reference.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Control {
    /// Label of the control.
    pub label: String,
    /// Its cost divided by that of the reference. An interval without 1 shows a difference where
    /// there is none.
    pub ratio: Sides<RatioFigure>,
    /// Whether the interval of `both` contains 1; `None` without an interval.
    pub fits: Option<bool>,
    /// The smallest difference that it could have seen, as a share: half of the interval's width.
    /// `None` without an interval or a bound.
    pub resolution: Option<f64>,
}

impl Control {
    /// Whether it could not have seen a difference that matters: one of 5 %.
    pub fn is_too_wide(&self) -> bool {
        self.fits.is_some() && is_too_wide(self.resolution)
    }
}

impl PositiveControl {
    /// Whether it could not have seen what was added, or a difference that matters: one of 5 %.
    pub fn is_too_wide(&self) -> bool {
        self.seen == Some(false) || (self.fits.is_some() && is_too_wide(self.resolution))
    }
}

fn is_too_wide(resolution: Option<f64>) -> bool {
    resolution.is_none_or(|share| share > EQUIVALENCE_MARGIN)
}

/// The positive control compared with the reference.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PositiveControl {
    /// Label of the control.
    pub label: String,
    /// Its expected cost, divided by that of the reference: 1.1 where a tenth was added. `None` if
    /// it was never measured.
    pub expected: Option<f64>,
    /// The part of `expected` that was burned in softirq context: 0.05 where 1.1 is expected and
    /// half of what was added is. `None` where nothing was.
    pub in_softirqs: Option<f64>,
    /// Its cost divided by that of the reference, with an interval that takes what was added in
    /// each block as known.
    pub found: Option<RatioFigure>,
    /// Whether the interval contains `expected`; `None` without an interval.
    pub fits: Option<bool>,
    /// Whether what was added was seen: the interval lies above 1. `None` without an interval.
    pub seen: Option<bool>,
    /// The smallest difference that it could have seen, as a share: half of the interval's width.
    /// `None` without an interval or a bound.
    pub resolution: Option<f64>,
}

/// Figures of a cell from blocks that were dropped for the state of the machine: those that need no
/// soakers and are roughly right on a busy machine. They have no intervals and no verdicts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Rough {
    /// Label of the cell.
    pub label: String,
    /// Windows that the figures of paced traffic come from.
    pub windows: usize,
    /// CPU time of the threads of both ends in ns per KiB, by getrusage: the median over windows.
    /// Work in interrupts and softirqs is not all in it.
    #[serde(rename = "threads_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub threads_ns_per_kib: Option<f64>,
    /// Rate reached divided by the cell's nominal rate.
    pub reached: Option<f64>,
    /// Payload bytes per second, unpaced and unsoaked: the median.
    pub top_speed_bytes_per_s: Option<f64>,
    /// System calls of the sender per MB (10^6 bytes).
    pub send_calls_per_mb: Option<f64>,
    /// Average size of the packets sent in bytes, headers included.
    pub packet_bytes: Option<f64>,
    /// Zero-copy completions that the kernel flagged as copied, divided by all completions.
    pub copied_share: Option<f64>,
}

/// Numbers of kept and dropped blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BlockAccount {
    /// All blocks of the run.
    pub measured: usize,
    /// Blocks that count.
    pub kept: usize,
    /// Dropped blocks by rule.
    pub dropped: DropCounts,
}

/// Dropped blocks by rule; a block is dropped by the first rule that it breaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DropCounts {
    /// Steal above 1 %.
    pub steal: usize,
    /// Idle drift: neighbouring idle windows differed by more than 10 % (before format 3.2: 2 %).
    pub idle_drift: usize,
    /// Foreign work: other processes used more than 2 %.
    pub foreign: usize,
    /// Something other than a cell's trial failed, such as an idle window.
    pub trial_failed: usize,
    /// Unfinished blocks. They do not indicate a bad machine: the last block of a run with a budget
    /// is often unfinished.
    pub unfinished: usize,
}

/// Conditions of the machine while the kept blocks were measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Conditions {
    /// Speed of memcpy of uncached memory, bytes per second: median over blocks. The cost of paths
    /// that copy depends on it, so two runs are comparable only if it is the same.
    pub memcpy_bytes_per_s: Option<f64>,
    /// The same in the slowest block.
    pub memcpy_slowest_bytes_per_s: Option<f64>,
    /// The same in the fastest block.
    pub memcpy_fastest_bytes_per_s: Option<f64>,
    /// Share of the soaked CPUs taken by the hypervisor, over all blocks of the run including
    /// dropped ones.
    pub steal_share: Option<f64>,
    /// Median relative difference between neighbouring idle windows.
    pub idle_drift: Option<f64>,
}
