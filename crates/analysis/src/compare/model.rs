//! The result types of a comparison: every field of the JSON with its unit.
//!
//! Units: costs are nanoseconds of soaked CPU time per KiB of payload, and microseconds per MB
//! (10^6 bytes) in JSON; ratios are the new cost divided by the old one (above 1: dearer); shares
//! and margins run from 0 to 1. `None` means not available, never 0.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use zc_run::factor::Parameter;
use zc_stats::VarianceComponent;

use crate::model::account_kind::AccountKind;
use crate::model::figure::{Figure, RatioMethod, Sides};
use crate::model::verdict::Withheld;
use crate::unit::from_ns_per_kib;

/// A comparison of two runs or parts of runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Compared {
    /// The old side, whose costs are the divisors.
    pub old: SelectionFacts,
    /// The new side.
    pub new: SelectionFacts,
    /// Whether costs are net of zc's own harness. They are not where a run did not measure it: then
    /// it is in the costs of all.
    pub net: bool,
    /// The account by which costs were computed: of runs that differ in it, the one that all
    /// permit.
    pub account: AccountKind,
    /// Whether the ratios are within or between runs.
    pub basis: Basis,
    /// Simultaneous confidence level of all verdicts: 0.95.
    pub confidence: f64,
    /// Calibration of the deviation between runs of one state; `None` where it is derived from the
    /// two runs, and in one run.
    pub calibration: Option<CalibrationBasis>,
    /// Label of the common reference; `None` in one run, and where there is none.
    pub reference: Option<String>,
    /// The divisor of the relative ratios; `None` where there are none.
    pub relative_to: Option<RelativeTo>,
    /// Differences of configuration between the two, other than those in the cells' names.
    pub differences: Vec<Difference>,
    /// Why a comparison is impossible; empty where it is possible.
    pub impossible: Vec<Impossible>,
    /// Why verdicts are withheld.
    pub withheld: Vec<Reason>,
    /// Doubts about the figures that do not withhold verdicts.
    pub doubts: Vec<Reason>,
    /// The compared cells, in the order of the old plan.
    pub cells: Vec<CellChange>,
    /// Cells of both that are not compared, because disqualifying differences separate them.
    pub incomparable: Vec<Incomparable>,
    /// Labels of cells of the old run only.
    pub only_old: Vec<String>,
    /// Labels of cells of the new run only.
    pub only_new: Vec<String>,
    /// The reference's own cost has changed, so relative ratios are not used for verdicts.
    pub reference_moved: bool,
    /// Upper bound for all cells together at 95 %: none is dearer by more than this share; `None`
    /// where a cell has no bound.
    pub none_worse_by: Option<f64>,
}

impl Compared {
    /// The name of one of its cells in a [`Judgement`].
    pub fn name_of(&self, cell: &CellChange) -> String {
        format!("{}: {}", self.new.name, cell.new_label.as_ref().unwrap_or(&cell.label))
    }
}

/// The calibration that a comparison used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CalibrationBasis {
    /// Number of its runs.
    pub runs: usize,
    /// Whether its costs are net of zc's own harness.
    pub net: bool,
    /// Deviation of a cost.
    pub cost: Deviation,
    /// Deviation of the part of a cost that is its path's own; `None` where the runs have one cell.
    pub path: Option<Deviation>,
}

/// A standard deviation between runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Deviation {
    /// Its estimate, beyond what the blocks of the runs explain: a share of the cost.
    pub between_runs: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Degrees of freedom: at least the number of runs minus 1.
    pub degrees_of_freedom: f64,
    #[serde(skip)]
    pub(super) component: VarianceComponent,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SelectionFacts {
    /// Name given by the user.
    pub name: String,
    /// Start of the run, RFC 3339.
    pub started_at: String,
    /// Experiment that it measured: `paths`.
    pub experiment: String,
    /// Number of kept blocks.
    pub blocks_kept: usize,
    /// Number of blocks in the file.
    pub blocks: usize,
    /// Median speed of the memcpy probes of its blocks, bytes per second.
    pub memcpy_bytes_per_s: Option<f64>,
}

/// Whether the ratios are within or between runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Both cells are in the same blocks of one run: logarithms of ratios within blocks,
    /// Hodges-Lehmann estimator and Wilcoxon interval.
    OneRun,
    /// Two runs: independent samples of blocks, Hodges-Lehmann estimator and Mann-Whitney
    /// interval, widened by the autocorrelation of blocks and by the variance between runs of
    /// one machine.
    TwoRuns,
}

/// Divisor of a cell's cost before two runs are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RelativeTo {
    /// The geometric mean of all other cells that both runs have, in the same block.
    Others,
    /// The reference and its A/A control in the same block: there are no other cells, or the
    /// reference moved relative to them.
    Reference,
}

/// A difference between two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// The end whose machine differs. What both share is the near one's.
    pub end: End,
    /// The aspect that differs.
    pub what: Aspect,
    /// Name of the sysctl, offload or mitigation, where there are several.
    pub name: Option<String>,
    /// Value in the old run; `None` where it has none or it is unknown.
    pub old: Option<String>,
    /// Value in the new run.
    pub new: Option<String>,
    /// Its consequence for the comparison.
    pub weight: Weight,
}

/// An end of a link between two machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The machine on which zc was started.
    Near,
    /// The other one.
    Far,
}

/// Consequence of a difference for a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// The two costs are different quantities and cannot be compared.
    Disqualifies,
    /// It may explain a change of costs, or be what the comparison is about.
    Explains,
}

/// An aspect in which runs can differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// Link.
    Link,
    /// Kind of the soakers.
    Soaker,
    /// Whether the costs include a receiver's.
    Receiver,
    /// uname's release.
    KernelRelease,
    /// uname's version.
    KernelBuild,
    /// /proc/cmdline.
    KernelCommandLine,
    /// uname's machine.
    Architecture,
    /// Host name of the machine.
    Host,
    /// Model of the CPU.
    Cpu,
    /// CPUs online.
    CpusOnline,
    /// Threads per core.
    ThreadsPerCore,
    /// Frequency governor.
    Governor,
    /// Turbo or boost frequencies.
    Boost,
    /// Size of the last-level cache, bytes.
    LastLevelCache,
    /// NUMA nodes.
    NumaNodes,
    /// Size of the memory in bytes, where it differs by more than a twentieth.
    Memory,
    /// The hypervisor.
    Hypervisor,
    /// CONFIG_HZ.
    Tick,
    /// CONFIG_IRQ_TIME_ACCOUNTING.
    IrqTimeAccounting,
    /// The clock source.
    Clocksource,
    /// Mitigation of a CPU vulnerability.
    Mitigation,
    /// A sysctl.
    Sysctl,
    /// Another setting of the kernel, or a facility in the path of packets.
    Condition,
    /// Whether the run had root privileges.
    Privilege,
    /// RLIMIT_MEMLOCK, bytes.
    Memlock,
    /// The sending device.
    Device,
    /// A setting of the sending device.
    DeviceSetting,
    /// Whether the receiver's device merges segments (GRO, LRO).
    ReceiverMerges,
    /// Setup of receive packet steering.
    Rps,
    /// Version of the Internet Protocol.
    Ip,
    /// Congestion window with which connections begin, packets.
    InitialWindow,
    /// Behaviour of the ACK generator of the null link.
    FarEnd,
    /// Round-trip time to the other machine, where one is more than twice the other.
    RoundTrip,
    /// What the sockets of cells used, whatever was asked for.
    Socket,
    /// CPU time burned on purpose in softirq context (`--burn`).
    Burn,
    /// CPU of the sender.
    SenderCpu,
    /// CPU of the receiver.
    ReceiverCpu,
    /// Scheduling policy of the threads of flows.
    Scheduling,
    /// CPUs with a soaker.
    SoakedCpus,
    /// Lengths of warm-up, window and idle window.
    Timing,
    /// File set.
    Files,
    /// Filesystem of the file set.
    Filesystem,
    /// Version of zc that measured.
    ZcVersion,
    /// Requests per second that a server is sent.
    RequestRate,
    /// Length of a server's responses, bytes.
    ResponseLength,
    /// Command that started the server.
    Serve,
    /// Source of a server's requests: another machine, a load generator, or neither.
    Load,
    /// Connections to a server.
    Connections,
    /// Whether a connection carries more than one request.
    Keepalive,
    /// Parameter of a factor.
    #[serde(untagged)]
    #[schemars(with = "String")]
    Factor(#[serde(serialize_with = "key")] Parameter),
}

fn key<S: Serializer>(parameter: &Parameter, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(parameter.key)
}

/// Two cells of one name that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Incomparable {
    /// Label of the cell.
    pub label: String,
    /// Differences between the two.
    pub differences: Vec<Difference>,
}

/// Why two runs cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum Impossible {
    /// The runs have no cell in common.
    NoCommonCell,
    /// A run has no kept block.
    NoKeptBlocks {
        /// Name of the run, as given by the user.
        name: String,
    },
    /// Disqualifying differences separate them.
    Disqualified,
    /// No common cell was measured in both.
    NoCosts,
    /// The two are the same whole run.
    SameRun,
}

/// A reason to doubt the figures of one of the runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Reason {
    /// Name of the run, as given by the user.
    pub name: String,
    /// Reason.
    pub why: Withheld,
}

/// The change of one cell's cost.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellChange {
    /// Its label in the old run.
    pub label: String,
    /// Its label in the new run, if different.
    pub new_label: Option<String>,
    /// True for the common reference.
    pub reference: bool,
    /// Whether the kernel copied what one of the two was to send without a copy.
    pub failed_zero_copy: bool,
    /// Cost in the old run, ns per KiB.
    #[serde(rename = "old_cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub old_cost_ns_per_kib: Sides<Figure>,
    /// Cost in the new run, ns per KiB.
    #[serde(rename = "new_cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub new_cost_ns_per_kib: Sides<Figure>,
    /// Cost of a request in the old run, in microseconds; `None` where it was not a server's.
    pub old_us_per_request: Option<Figure>,
    /// Cost of a request in the new run, likewise.
    pub new_us_per_request: Option<Figure>,
    /// The new cost divided by the old one, as measured. Between two runs it includes whatever
    /// the machine did in between.
    pub cost: Sides<Change>,
    /// The same ratio of costs divided by those of other cells in the same blocks
    /// ([`Compared::relative_to`]), without what changed a whole run. Between two runs only,
    /// and not for the reference.
    pub relative: Sides<Change>,
    /// The ratio that the verdict uses; `None` without a figure.
    pub judged_by: Option<JudgedBy>,
    /// The verdict, corrected for all cells.
    #[serde(rename = "word")]
    pub verdict: ChangeVerdict,
}

impl CellChange {
    /// The change that the verdict uses, of both sides together.
    pub fn judged(&self) -> Option<&Change> {
        match self.judged_by? {
            JudgedBy::Cost => self.cost.both.as_ref(),
            JudgedBy::Relative => self.relative.both.as_ref(),
        }
    }
}

/// The ratio that a verdict uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JudgedBy {
    /// The cost ratio.
    Cost,
    /// The relative ratio.
    Relative,
}

/// A ratio of the new cost to the old one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// Above 1: dearer.
    pub ratio: f64,
    /// Lower end of its 95 % interval (in one run, at that run's level); `None` with too few
    /// blocks.
    pub low: Option<f64>,
    /// Upper end; `None` with too few blocks, and if unbounded.
    pub high: Option<f64>,
    /// Two-sided p-value of the hypothesis of no change, not corrected for the other cells.
    pub p_value: Option<f64>,
    /// The estimator and what its interval includes.
    pub method: Method,
}

impl Change {
    /// The larger distance of its interval's ends from 1, as a share: 0.03 for 0.98 to 1.03. `None`
    /// for an unbounded interval.
    pub fn within(&self) -> Option<f64> {
        Some((self.high? - 1.0).max(1.0 / self.low.filter(|low| *low > 0.0)? - 1.0))
    }

    /// The larger of high/ratio - 1 and 1 - low/ratio; `None` for an unbounded interval.
    pub fn half_width(&self) -> Option<f64> {
        let half = (self.high? / self.ratio - 1.0).max(1.0 - self.low? / self.ratio);
        half.is_finite().then_some(half)
    }
}

/// The estimator of a change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Method {
    /// Both cells in the same blocks.
    Paired {
        /// Log ratios, or ranked differences where too few blocks have logarithms.
        of: RatioMethod,
        /// Number of blocks with both costs.
        blocks: usize,
    },
    /// Blocks of two runs.
    Independent {
        /// Number of blocks of the old run.
        old_blocks: usize,
        /// Number of blocks of the new run.
        new_blocks: usize,
        /// Factor of the variance due to the autocorrelation of successive blocks: 1 or more.
        correlation_inflation: f64,
        /// Standard deviation of the logarithm between two runs of one state: calibrated, or that
        /// of neighbouring parts of these runs; `None` with too few blocks.
        between_runs: Option<f64>,
        /// p-value of the textbook Mann-Whitney test: independent blocks, no variance between
        /// runs.
        mann_whitney_p: Option<f64>,
        /// Welch's comparison of the mean logarithms, under the same assumptions; `None` where a
        /// cost has no logarithm.
        welch: Option<WelchFigure>,
    },
}

/// Welch's comparison of mean logarithms, transformed back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WelchFigure {
    /// Ratio of geometric means.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Degrees of freedom by Welch and Satterthwaite.
    pub degrees_of_freedom: f64,
}

/// The verdict about a cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "word")]
pub enum ChangeVerdict {
    /// Significantly cheaper.
    Better {
        /// Difference as a share of the old cost.
        by: f64,
    },
    /// Significantly dearer.
    Worse {
        /// Difference as a share of the old cost.
        by: f64,
    },
    /// Equivalent: the whole interval is within 5 % of 1.
    Same {
        /// The larger distance of an interval's end from 1.
        within: f64,
    },
    /// Neither a difference nor equivalence was shown.
    Undecided,
    /// The run or the comparison withholds verdicts.
    Withheld,
}

/// The answer to whether any cell is dearer by more than a margin.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Judgement {
    /// The margin as a share of the old cost.
    pub margin: f64,
    /// The answer.
    pub outcome: Outcome,
    /// The cells that are dearer by more than the margin, as `name: label`.
    pub worse: Vec<String>,
    /// The cells that leave the answer undecided, likewise.
    pub undecided: Vec<String>,
}

/// The answer; docs/exit-codes.md has the exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// No cell is dearer by more than the margin.
    NoneWorse,
    /// Intervals contain the margin.
    Undecided,
    /// Intervals would decide, but verdicts are withheld.
    Withheld,
    /// A cell is dearer by more than the margin.
    Worse,
    /// The comparison is impossible.
    Incomparable,
    /// A run has no kept block.
    NothingKept,
}
