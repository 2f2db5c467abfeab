//! What comes out of a comparison: the types alone, so that a reader of the JSON finds every field and its unit here.
//!
//! Units: costs are nanoseconds of soaked CPU time per KiB of payload, and microseconds per MB (10^6 bytes) in JSON; ratios are the new cost by the old one (above 1: dearer),
//! shares and margins run from 0 to 1. `None` means that it could not be had, never 0.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use zc_run::factor::Parameter;

use crate::model::figure::{Figure, RatioMethod, Sides};
use crate::model::verdict::Withheld;
use crate::unit::from_ns_per_kib;

/// Two runs, or two parts of runs, side by side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Compared {
    /// What costs are divided by.
    pub old: SelectionFacts,
    /// What is held against it.
    pub new: SelectionFacts,
    /// How the ratios came about.
    pub basis: Basis,
    /// What the words promise together, whatever the number of cells: 0.95.
    pub confidence: f64,
    /// The cell that both runs have as what their other cells are relative to; `None` in one session, and where they share none.
    pub reference: Option<String>,
    /// What the relative ratios are relative to; `None` where there are none.
    pub relative_to: Option<RelativeTo>,
    /// What else is not the same in the two, beside what the cells' names say.
    pub differences: Vec<Difference>,
    /// Why nothing can be compared. Empty where something can.
    pub impossible: Vec<Impossible>,
    /// Why there are figures and no words.
    pub withheld: Vec<Reason>,
    /// What makes the figures doubtful although the words stand.
    pub doubts: Vec<Reason>,
    /// The cells that both have, in the order of the old plan.
    pub cells: Vec<CellChange>,
    /// Cells of both that are no comparison, because they differ in more than the run.
    pub incomparable: Vec<Incomparable>,
    /// Cells of the old run alone.
    pub only_old: Vec<String>,
    /// Cells of the new run alone.
    pub only_new: Vec<String>,
    /// The reference's own cost has changed, so that nothing can be told by what is relative to it.
    pub reference_moved: bool,
    /// No cell is dearer by more than this share, at 95 % for all of them together; `None` where one has no bound.
    pub none_worse_by: Option<f64>,
}

/// One of the two sides of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SelectionFacts {
    /// As it was named.
    pub name: String,
    /// When the run began, RFC 3339.
    pub started_at: String,
    /// What it measured: `paths`.
    pub experiment: String,
    /// Blocks that count.
    pub blocks_kept: usize,
    /// Blocks in the file.
    pub blocks: usize,
    /// Median of the memcpy probes of its blocks, bytes per second.
    pub memcpy_bytes_per_s: Option<f64>,
}

/// How the ratios came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Both cells stand in the same blocks of one session: logarithms of ratios within blocks, Hodges-Lehmann and Wilcoxon.
    OneSession,
    /// Two sessions: independent samples of blocks, Hodges-Lehmann and Mann-Whitney, made wider by what blocks that follow one
    /// another have in common and by what sessions of one machine differ by.
    TwoSessions,
}

/// What a cell's cost is divided by before two sessions are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RelativeTo {
    /// The geometric mean of all other cells that both sessions have, in the same block.
    Others,
    /// The reference and its A/A control in the same block: there are no others, or the reference moved against them.
    Reference,
}

/// One thing that is not the same in two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// What it is.
    pub what: Aspect,
    /// Which one of several: a sysctl, an offload, a mitigation.
    pub name: Option<String>,
    /// In the old run; `None` where it has none or does not know.
    pub old: Option<String>,
    /// In the new one.
    pub new: Option<String>,
    /// What follows from it.
    pub weight: Weight,
}

/// What a difference does to a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// The two figures are costs of different things: there is nothing to be compared.
    Disqualifies,
    /// It may be why the costs differ, or what the comparison is about.
    Explains,
}

/// In what two runs can differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// Where the bytes travel.
    Link,
    /// What the soakers do.
    Soaker,
    /// Whether a receiver's cost is in the figures.
    Receiver,
    /// uname's release.
    KernelRelease,
    /// uname's version.
    KernelBuild,
    /// /proc/cmdline.
    KernelCommandLine,
    /// uname's machine.
    Architecture,
    /// The machine's name.
    Host,
    /// Model of the CPU.
    Cpu,
    /// CPUs online.
    CpusOnline,
    /// Threads per core.
    ThreadsPerCore,
    /// Frequency governor.
    Governor,
    /// Turbo.
    Boost,
    /// Last-level cache, bytes.
    LastLevelCache,
    /// NUMA nodes.
    NumaNodes,
    /// Memory, bytes, where it differs by more than a twentieth.
    Memory,
    /// The hypervisor.
    Hypervisor,
    /// CONFIG_HZ.
    Tick,
    /// CONFIG_IRQ_TIME_ACCOUNTING.
    IrqTimeAccounting,
    /// The clock source.
    Clocksource,
    /// A vulnerability and what is done about it.
    Mitigation,
    /// A sysctl.
    Sysctl,
    /// Whether it ran as root.
    Privilege,
    /// RLIMIT_MEMLOCK, bytes.
    Memlock,
    /// The sending device.
    Device,
    /// Whether the receiver's device merges segments.
    ReceiverMerges,
    /// How receive packet steering was set.
    Rps,
    /// Version of the Internet Protocol.
    Ip,
    /// Congestion window with which connections begin, packets.
    InitialWindow,
    /// How the far end of the null link behaves.
    FarEnd,
    /// The far machine's kernel.
    FarKernel,
    /// The far machine's zc.
    FarZcVersion,
    /// The CPU of the sender.
    SenderCpu,
    /// The CPU of the receiver.
    ReceiverCpu,
    /// The CPUs that carry a soaker.
    SoakedCpus,
    /// Lengths of warm-up, window and idle window.
    Timing,
    /// The files.
    Files,
    /// Where the files lie.
    Filesystem,
    /// The version of zc.
    ZcVersion,
    /// What a factor sets.
    #[serde(untagged)]
    #[schemars(with = "String")]
    Factor(#[serde(serialize_with = "key")] Parameter),
}

fn key<S: Serializer>(parameter: &Parameter, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(parameter.key)
}

/// Cells of one name that are no comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Incomparable {
    /// The cell's label.
    pub label: String,
    /// What is different about it.
    pub differences: Vec<Difference>,
}

/// Why two runs cannot be compared at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum Impossible {
    /// No cell is in both.
    NoCommonCell,
    /// A run has no block that counts.
    NoKeptBlocks {
        /// Which one, as it was named.
        name: String,
    },
    /// The costs are those of different things: see the differences that disqualify.
    Disqualified,
    /// No cell that both have was measured in both.
    NoCosts,
    /// The two are the same run, and all of it.
    SameRun,
}

/// A reason of one of the runs for not believing its figures.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Reason {
    /// Which one, as it was named.
    pub name: String,
    /// The reason.
    pub why: Withheld,
}

/// What became of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellChange {
    /// Its label in the old run.
    pub label: String,
    /// Its label in the new run, where that is another one.
    pub new_label: Option<String>,
    /// True for what the other cells of both runs are relative to.
    pub reference: bool,
    /// What it cost.
    #[serde(rename = "old_cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub old_cost_ns_per_kib: Sides<Figure>,
    /// What it costs.
    #[serde(rename = "new_cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub new_cost_ns_per_kib: Sides<Figure>,
    /// The new cost by the old one, as measured: in two sessions it holds whatever the machine did in between.
    pub cost: Sides<Change>,
    /// The same of costs by those of other cells in the same blocks ([`Compared::relative_to`]): what moved a whole run is not in it. Of two
    /// sessions alone, and not of the reference.
    pub relative: Sides<Change>,
    /// Which of the two the word is about; `None` without a figure.
    pub judged_by: Option<JudgedBy>,
    /// What may be said, all cells taken into account.
    #[serde(rename = "word")]
    pub verdict: ChangeVerdict,
}

impl CellChange {
    /// The change that its word is about, of both sides together.
    pub fn judged(&self) -> Option<&Change> {
        match self.judged_by? {
            JudgedBy::Cost => self.cost.both.as_ref(),
            JudgedBy::Relative => self.relative.both.as_ref(),
        }
    }
}

/// What a word is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JudgedBy {
    /// The cost itself.
    Cost,
    /// The cost by that of other cells in the same blocks.
    Relative,
}

/// A ratio of new to old.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// Above 1: dearer.
    pub ratio: f64,
    /// Lower end of its 95 % interval (in one session: of the level that the session's looks leave); `None` with too few blocks.
    pub low: Option<f64>,
    /// Upper end; `None` with too few blocks, and where nothing bounds it.
    pub high: Option<f64>,
    /// Two-sided p-value of "nothing changed", by itself and not corrected for the other cells.
    pub p_value: Option<f64>,
    /// How it was computed.
    pub method: Method,
}

impl Change {
    /// How far its interval reaches from 1, as a share: 0.03 for 0.98 to 1.03. `None` where it has an open end.
    pub fn within(&self) -> Option<f64> {
        Some((self.high? - 1.0).max(1.0 / self.low.filter(|low| *low > 0.0)? - 1.0))
    }

    /// The larger of high/ratio - 1 and 1 - low/ratio.
    pub fn half_width(&self) -> Option<f64> {
        let half = (self.high? / self.ratio - 1.0).max(1.0 - self.low? / self.ratio);
        half.is_finite().then_some(half)
    }
}

/// How a change was computed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Method {
    /// Both cells in the same blocks.
    Paired {
        /// Log ratios, or ranked differences where there are too few of those.
        of: RatioMethod,
        /// Blocks that have both.
        blocks: usize,
    },
    /// Blocks of two sessions.
    Independent {
        /// Of the old run.
        old_blocks: usize,
        /// Of the new run.
        new_blocks: usize,
        /// By how much more variance the interval has than independent blocks would, because those that follow one another are
        /// alike: 1 or more.
        correlation_inflation: f64,
        /// Standard deviation of the logarithm that was taken for what two sessions of one state differ by.
        between_sessions: f64,
        /// p-value of Mann and Whitney's test as in a textbook: blocks taken as independent, and nothing between sessions.
        mann_whitney_p: Option<f64>,
        /// Welch's comparison of the mean logarithms, likewise; `None` where a cost has no logarithm.
        welch: Option<WelchFigure>,
    },
}

/// Welch's comparison, back from logarithms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WelchFigure {
    /// Ratio of geometric means.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// By Welch and Satterthwaite.
    pub degrees_of_freedom: f64,
}

/// What may be said of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "word")]
pub enum ChangeVerdict {
    /// Cheaper than it was.
    Better {
        /// By this share of the old cost.
        by: f64,
    },
    /// Dearer than it was.
    Worse {
        /// By this share of the old cost.
        by: f64,
    },
    /// The whole interval lies within so much of 1, and that is at most 5 %.
    Same {
        /// The share.
        within: f64,
    },
    /// The interval holds 1, and reaches further.
    Undecided,
    /// There are figures, but something forbids words.
    Withheld,
}

/// The answer to "is any cell dearer by more than this".
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Judgement {
    /// This share.
    pub margin: f64,
    /// The answer.
    pub outcome: Outcome,
    /// Where some cell is: which, as `name: label`.
    pub worse: Vec<String>,
    /// Where it is undecided: about which.
    pub undecided: Vec<String>,
}

/// The answer in a word; its exit codes stand in docs/exit-codes.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// No cell is.
    NoneWorse,
    /// The intervals reach both ways.
    Undecided,
    /// Intervals would decide, but the runs' own controls forbid it.
    Withheld,
    /// Some cell is.
    Worse,
    /// Nothing can be compared.
    Incomparable,
    /// A run has no block that counts.
    NothingKept,
}
