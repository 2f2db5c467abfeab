//! What comes out of an estimate: the types alone, so that a reader of the JSON finds every field and its unit here.
//!
//! Units: costs are nanoseconds of soaked CPU time per KiB (1024 bytes) of payload as the receiver counted it, and microseconds per
//! MB (10^6 bytes) in JSON, as everywhere where programs read (see the module `unit`). Rates are bytes per second, shares run from 0
//! to 1. `None` means not available from this run, never 0.

use schemars::JsonSchema;
use serde::Serialize;

use super::figures::figure;
use super::netperf::Accounts;
use super::sizes::Sizes;
use super::unit::from_ns_per_kib;
use zc_run::{Levels, RecvPath, SendPath, Severity};

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

/// One cell of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellEstimate {
    /// As in the plan.
    pub label: String,
    /// As in the plan.
    pub send: SendPath,
    /// As in the plan.
    pub recv: RecvPath,
    /// What it has in place of what the plan holds fixed.
    pub levels: Levels,
    /// The label of the cell that its ratio refers to. `None`: it has no ratio, because it is what others refer to.
    pub by: Option<String>,
    /// True for the plan's own reference alone.
    pub reference: bool,
    /// True for the second copy of the reference.
    pub control: bool,
    /// Kept blocks in which its soaked trial gave a cost.
    pub blocks: usize,
    /// Soaked CPU time per byte.
    #[serde(rename = "cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub cost_ns_per_kib: Sides<Figure>,
    /// Soaked CPU time per byte on CPUs that are neither the sender's nor the receiver's; `None` when there are none.
    #[serde(rename = "other_cpus_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub other_cpus_ns_per_kib: Option<Figure>,
    /// Cost by the cost of the cell that `by` names. Empty where it names none.
    pub ratio: Sides<RatioFigure>,
    /// The cost of both sides does not stand out of the noise: its interval reaches 0, or its ratio had to be taken
    /// from ranked differences.
    pub at_noise_floor: bool,
    /// Kept blocks in which the cost of both sides came out at 0 or below.
    pub blocks_not_positive: usize,
    /// Gbit/s that one CPU's worth of time carries, from its cost: `sender` and `both` only.
    pub gbit_per_core: Sides<Figure>,
    /// Payload bytes per second, unpaced and unsoaked.
    pub top_speed_bytes_per_s: Option<Figure>,
    /// That by the speed of the memcpy probe of the same blocks, from and to memory that is in no cache: the roof of a path that
    /// copies each byte once on one CPU.
    pub top_speed_by_memcpy: Option<Figure>,
    /// What the soakers did to the traffic.
    pub perturbation: Perturbation,
    /// Zero-copy completions that the kernel flagged as copied by all completions, over all windows of kept blocks;
    /// `None` when there were no completions.
    pub copied_share: Option<f64>,
    /// A zero-copy path of which more than half was copied here: what it costs is the price of a failed zero-copy, and
    /// says nothing about zero-copy on a link where it works.
    pub failed_zero_copy: bool,
    /// Calls, packets, interrupts and so on, over the soaked windows of kept blocks.
    pub traffic: Traffic,
    /// What getrusage and /proc/stat would have said.
    pub others: Others,
}

impl Estimates {
    /// What soakers do to the cost itself, by the one account that exists with and without them: getrusage of the soaked windows
    /// divided by that of the unsoaked controls. A figure over cells instead of blocks, as a cell has few controls. A CPU that is
    /// never idle is woken up by an interrupt and runs at once what was woken: more wake-ups, smaller batches. `None` without
    /// controls.
    pub fn dearer_beside_soakers(&self) -> Option<Figure> {
        let times = self.cells.iter().filter_map(|cell| {
            let (soaked, control) = (&cell.others.getrusage_soaked, &cell.others.getrusage_unsoaked_control);
            let times = soaked.cost_ns_per_kib.both? / control.cost_ns_per_kib.both.filter(|cost| *cost > 0.0)?;
            times.is_finite().then_some(times)
        });
        figure(&times.collect::<Vec<_>>(), self.confidence)
    }
}

/// Soaked against unsoaked traffic at the same nominal rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Perturbation {
    /// Throughput with soakers divided by throughput of the unsoaked controls: median over blocks. `None` without controls.
    pub soaked_by_unsoaked_control: Option<f64>,
    /// Rate that was reached under soakers by the cell's nominal rate: all bytes by all time.
    pub soaked_by_nominal: Option<f64>,
    /// Less than 98 % of the nominal rate was reached: this cell's cost was taken at saturation, not at a fixed rate.
    pub saturated: bool,
}

/// What was counted beside the soakers, as rates. Sums over the soaked windows of kept blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Traffic {
    /// Payload bytes received in all these windows.
    pub bytes: u64,
    /// The windows' lengths added up.
    pub elapsed_ns: u64,
    /// System calls of the sender per MB (10^6 bytes).
    pub send_calls_per_mb: Option<f64>,
    /// System calls of the receiver per MB (10^6 bytes); `None` where nobody counted them.
    pub recv_calls_per_mb: Option<f64>,
    /// Average packet of the sending device in bytes, headers included (a GSO packet counts once).
    pub packet_bytes: Option<f64>,
    /// Packets of the sending device per second.
    pub packets_per_s: Option<f64>,
    /// Average packet that the sending device received in bytes, headers included (merged by GRO they count apart).
    pub rx_packet_bytes: Option<f64>,
    /// Packets that the sending device received per second: acknowledgements, nearly all of them.
    pub rx_packets_per_s: Option<f64>,
    /// Interrupts on the soaked CPUs per second, timers included.
    pub interrupts_per_s: Option<f64>,
    /// Voluntary and involuntary context switches of sender and receiver (of the sender, where it is alone) per MB (10^6
    /// bytes).
    pub switches_per_mb: Option<f64>,
    /// Packets sent again.
    pub retransmits: Option<u64>,
    /// ENOBUFS and ENOMEM answers to zero-copy sends.
    pub enobufs: u64,
    /// Calls that took fewer bytes than they were given, by all calls.
    pub short_share: Option<f64>,
    /// What held the sender back, by TCP_INFO.
    pub limited_by: Option<LimitedBy>,
    /// Bytes that were mapped, not copied, by bytes received; `None` for receive paths other than zerocopy-receive.
    pub mapped_share: Option<f64>,
}

/// Shares of the connection's busy time, by TCP_INFO (tcpi_rwnd_limited, tcpi_sndbuf_limited over tcpi_busy_time).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct LimitedBy {
    /// The receiver's window was closed.
    pub receive_window: f64,
    /// The send buffer was full.
    pub send_buffer: f64,
}

/// The figures of other accounting methods for the same traffic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Others {
    /// Thread CPU time of the sender and receiver threads in the soaked windows themselves.
    pub getrusage_soaked: OtherMethod,
    /// The same in the unsoaked controls.
    pub getrusage_unsoaked_control: OtherMethod,
    /// Busy ticks (user, system, irq, softirq; not steal, and not nice, where the soakers' ticks are) of all soaked CPUs in
    /// the soaked windows. Only `both` exists; it holds whatever else ran, so its `by_soaked` is against both sides and
    /// the other CPUs together.
    pub proc_stat: OtherMethod,
    /// What an iperf3 server at the far end says that its own process used; null for any other far end.
    #[serde(rename = "far_process_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub far_process_ns_per_kib: Option<f64>,
}

/// What one other method says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct OtherMethod {
    /// Its cost: sums over the windows of kept blocks.
    #[serde(rename = "cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub cost_ns_per_kib: Sides<f64>,
    /// Its cost by the soaked cost (`CellEstimate::cost_ns_per_kib`): 0.5 means that it misses half.
    pub by_soaked: Sides<f64>,
    /// Bytes that it rests on.
    pub bytes: u64,
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
        /// Kept.
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
