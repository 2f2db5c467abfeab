//! The result types of a fleet's analysis and of its trend: every field of the JSON with its unit.
//!
//! Units: costs are microseconds of CPU time per MB (10^6 bytes) where a field says `us_per_mb`;
//! ratios are one cost divided by another; shares run from 0 to 1. `None` means not available,
//! never 0.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures of one saved run that a fleet's analysis needs: a few kB where a run has 100 kB, so that
/// thousands fit in memory and in an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// Name of its file, relative to the archive.
    pub name: String,
    /// When it started, RFC 3339.
    pub started_at: String,
    /// The version of zc that measured.
    pub zc_version: String,
    /// The experiment, and the link: `paths`, `remote`. Only runs of the same are analysed
    /// together.
    pub experiment: String,
    /// See `experiment`.
    pub link: String,
    /// Label of the cell that ratios are to.
    pub reference: String,
    /// The machine that sends, and on which the run was started.
    pub near: Arc<HostFacts>,
    /// The machine that receives, where a zc measured there.
    pub far: Option<Arc<HostFacts>>,
    /// Blocks that count, and all of the run.
    pub blocks_kept: usize,
    /// See `blocks_kept`.
    pub blocks: usize,
    /// Whether the run ended by itself: not interrupted, and not killed.
    pub is_whole: bool,
    /// Why the run's own verdicts are withheld, by name (`busy-machine`); empty where they stand.
    pub withheld: Vec<String>,
    /// Its cells in the order of the plan, without controls.
    pub cells: Vec<CellFigures>,
}

/// Facts of a machine as the run recorded them: anything that may explain its costs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Its name.
    pub host: String,
    /// Facts by name: `kernel`, `cpu`, `governor`, `mitigation spectre_v2`, `sysctl
    /// net.ipv4.tcp_wmem` ...
    pub facts: BTreeMap<String, String>,
}

/// One cell of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellFigures {
    /// Its label in the plan: `sendfile`.
    pub label: String,
    /// Cost of the sender's side, of the receiver's, and of both.
    pub sender: Option<Logarithm>,
    /// See `sender`.
    pub receiver: Option<Logarithm>,
    /// See `sender`.
    pub both: Option<Logarithm>,
    /// Cost of the sender's side (of both, where the sides have no separate costs) divided by that
    /// of the reference.
    pub ratio: Option<Logarithm>,
}

/// The natural logarithm of a cost in us per MB, or of a ratio, with its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Logarithm {
    /// The logarithm.
    pub ln: f64,
    /// Its standard error by the blocks of the run.
    pub error: f64,
}

/// The end, or ends, that a cost belongs to.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The host that sends.
    Sender,
    /// The host that receives.
    Receiver,
    /// Both, where they have no separate costs.
    Both,
}

/// Joint estimates from the runs of a fleet.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Fleet {
    /// Experiment and link of its runs.
    pub experiment: String,
    /// See `experiment`.
    pub link: String,
    /// Label of the cell that ratios are to.
    pub reference: String,
    /// Confidence of all intervals: 0.95.
    pub confidence: f64,
    /// Rate of false discoveries among the odd hosts, the odd pairs, and the conditions: 0.05.
    pub false_discovery_rate: f64,
    /// Runs that are in the figures.
    pub runs: usize,
    /// Hosts in them.
    pub hosts: usize,
    /// When the first and the last of them began, RFC 3339.
    pub first_at: String,
    /// See `first_at`.
    pub last_at: String,
    /// Versions of zc that measured them, in order.
    pub zc_versions: Vec<String>,
    /// Runs beside which other jobs could use the hosts; 0 where all hosts were exclusive, and
    /// where that is not known.
    pub shared_runs: usize,
    /// Runs that are in the figures although their own verdicts are withheld, as was asked for, and
    /// why.
    pub withheld: Vec<LeftOut>,
    /// Runs that are not in the figures.
    pub left_out: Vec<LeftOut>,
    /// Names of the facts that hosts are grouped by: `generation`, `kernel`.
    pub by: Vec<String>,
    /// The groups, ordered by their values.
    pub groups: Vec<Group>,
    /// A row for each cell, end and group.
    pub rows: Vec<Row>,
    /// Spreads of costs within groups, for each cell and end.
    pub spreads: Vec<Spread>,
    /// Hosts whose costs are unlike those of their group, the surest first.
    pub odd_hosts: Vec<OddHost>,
    /// Hosts that were examined for that.
    pub hosts_examined: usize,
    /// Pairs whose costs their hosts do not explain: an effect of the wire or of the direction.
    pub odd_pairs: Vec<OddPair>,
    /// Pairs that were examined for that.
    pub pairs_examined: usize,
    /// Facts that hosts of one group differ in and whose values go with their costs, the surest
    /// first.
    pub conditions: Vec<Condition>,
    /// Facts that were examined for that.
    pub conditions_examined: usize,
}

/// A run, and a reason: that it is not in the figures, or doubtful in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Name of its file.
    pub name: String,
    /// Why, as the end of a sentence: `it has too few blocks that count (2 of 40)`.
    pub why: String,
}

/// Hosts with the same values of the facts that are grouped by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Group {
    /// The values, in the order of [`Fleet::by`]; empty where nothing is grouped by.
    pub values: Vec<String>,
    /// Its hosts.
    pub hosts: usize,
    /// Runs in which one of them sends.
    pub runs_sending: usize,
    /// Runs in which one of them receives.
    pub runs_receiving: usize,
}

/// Cost of a cell in a group.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Label of the cell.
    pub label: String,
    /// The end that the cost belongs to.
    pub end: End,
    /// Index of the group.
    pub group: usize,
    /// Runs, and hosts whose cost it is.
    pub runs: usize,
    /// See `runs`.
    pub hosts: usize,
    /// The cost of the group's hosts: the geometric mean.
    pub us_per_mb: GroupMean,
    /// The cost divided by that of the reference in the same run; `None` for the reference, and for
    /// the receiver.
    pub ratio: Option<GroupMean>,
}

/// The mean over the hosts of a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct GroupMean {
    /// The mean.
    pub value: f64,
    /// Its interval (Hartung and Knapp); `None` with fewer than two hosts.
    pub low: Option<f64>,
    /// See `low`.
    pub high: Option<f64>,
    /// The interval in which one more host of the group lies, in one more session.
    pub one_more_low: Option<f64>,
    /// See `one_more_low`.
    pub one_more_high: Option<f64>,
}

/// Spread of a cell's costs within groups, beyond what the blocks of each run explain: standard
/// deviations as shares of the cost, estimated by REML over all groups together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SpreadOf {
    /// Between the hosts that the cost belongs to.
    pub between_hosts: f64,
    /// Between the hosts at the other end.
    pub by_far_host: f64,
    /// Between sessions (runs) of the same pair.
    pub between_sessions: f64,
    /// Within runs, between blocks: the median of the runs' standard errors.
    pub within_runs: f64,
    /// Share of the variance of runs that is not within runs (I squared).
    pub heterogeneity: f64,
}

/// The spreads of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    /// Label of the cell.
    pub label: String,
    /// The end that the cost belongs to.
    pub end: End,
    /// Spread of the cost.
    pub cost: SpreadOf,
    /// Spread of the ratio to the reference.
    pub ratio: Option<SpreadOf>,
}

/// A host that is unlike its group.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OddHost {
    /// The host.
    pub host: String,
    /// Index of its group.
    pub group: usize,
    /// The end at which its costs are odd.
    pub end: End,
    /// Runs of it.
    pub runs: usize,
    /// Its costs, of all cells on average, divided by those of its group, with the interval.
    pub by: f64,
    /// See `by`.
    pub low: f64,
    /// See `by`.
    pub high: f64,
    /// The cell in which it differs most from the group, and by what ratio.
    pub most: Option<(String, f64)>,
    /// The rate of false discoveries if it and all that are as sure are called odd (Benjamini and
    /// Hochberg).
    pub q_value: f64,
}

/// A pair, in one direction, whose costs its hosts do not explain.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OddPair {
    /// The host that sends.
    pub near: String,
    /// The host that receives.
    pub far: String,
    /// Runs of it.
    pub runs: usize,
    /// Its costs divided by those that its hosts' effects predict, with the interval.
    pub by: f64,
    /// See `by`.
    pub low: f64,
    /// See `by`.
    pub high: f64,
    /// The same for the other direction, where it was measured.
    pub other_direction: Option<f64>,
    /// See [`OddHost::q_value`].
    pub q_value: f64,
}

/// A fact that hosts of one group differ in and that goes with their costs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Condition {
    /// Name of the fact.
    pub fact: String,
    /// Other facts that divide the hosts in the same way, and so cannot be distinguished from it.
    pub same_as: Vec<String>,
    /// The end at which the hosts' costs differ.
    pub end: End,
    /// Its values, the most common first, each with its hosts, and their costs divided by those of
    /// the first value, net of groups.
    pub values: Vec<ConditionValue>,
    /// Share of the variance between hosts of a group that it explains.
    pub explains: f64,
    /// See [`OddHost::q_value`].
    pub q_value: f64,
}

/// A value of a fact.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ConditionValue {
    /// The value.
    pub value: String,
    /// Hosts that have it.
    pub hosts: usize,
    /// Their costs divided by those of the hosts with the first value, with the interval; `None`
    /// for the first.
    pub by: Option<f64>,
    /// See `by`.
    pub low: Option<f64>,
    /// See `by`.
    pub high: Option<f64>,
}

/// The same plan over nights.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Trend {
    /// Experiment and link of its runs.
    pub experiment: String,
    /// See `experiment`.
    pub link: String,
    /// Label of the cell that ratios are to.
    pub reference: String,
    /// Confidence of all intervals: 0.95.
    pub confidence: f64,
    /// Chance that a change is found anywhere among all lines if there is none: 0.05.
    pub false_alarm: f64,
    /// Days with runs, in order: `2026-11-24`.
    pub nights: Vec<String>,
    /// Runs that are in the figures.
    pub runs: usize,
    /// Hosts in them.
    pub hosts: usize,
    /// Runs beside which other jobs could use the hosts; 0 where all hosts were exclusive, and
    /// where that is not known.
    pub shared_runs: usize,
    /// Runs that are not.
    pub left_out: Vec<LeftOut>,
    /// Names of the facts that hosts are grouped by.
    pub by: Vec<String>,
    /// The groups.
    pub groups: Vec<Group>,
    /// A line for each cell, end and group.
    pub lines: Vec<TrendLine>,
    /// The answer to `--fail-if-worse`, where it was asked.
    pub judgement: Option<TrendJudgement>,
}

/// A cell of a group over nights.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TrendLine {
    /// Label of the cell.
    pub label: String,
    /// The end that the cost belongs to.
    pub end: End,
    /// Index of the group.
    pub group: usize,
    /// The nights with runs of it.
    pub points: Vec<Point>,
    /// Changes of its level, in order.
    pub changes: Vec<ChangePoint>,
    /// The cost of the last stretch without a change, divided by that of the stretch before; `None`
    /// without a change.
    pub last_by_before: Option<f64>,
}

/// A cell of a group in one night.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Index of the night.
    pub night: usize,
    /// Runs of that night.
    pub runs: usize,
    /// Cost in us per MB, corrected for which hosts were measured in that night.
    pub us_per_mb: f64,
    /// Its interval; `None` where one run of one night has none.
    pub low: Option<f64>,
    /// See `low`.
    pub high: Option<f64>,
}

/// A night from which on a line has another level.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ChangePoint {
    /// Index of the first night of the new level.
    pub night: usize,
    /// The interval of that night: not before, and not after.
    pub earliest: usize,
    /// See `earliest`.
    pub latest: usize,
    /// The new level divided by the old one, with the interval.
    pub by: f64,
    /// See `by`.
    pub low: f64,
    /// See `by`.
    pub high: f64,
    /// Facts of the hosts that changed within that interval: `kernel: 6.1.0 -> 6.12.1`.
    pub with: Vec<String>,
    /// Events of the user's notes within that interval.
    pub events: Vec<String>,
}

/// Whether the last night is dearer than before.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TrendJudgement {
    /// The margin, as a share.
    pub margin: f64,
    /// Lines whose last stretch is dearer than the one before by more than it.
    pub worse: Vec<String>,
    /// Undecided lines: too few nights, or an interval that contains the margin.
    pub undecided: Vec<String>,
    /// Lines that are not dearer by more than it.
    pub not_worse: usize,
}

/// An event that the user noted: a new kernel, a new firmware.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Event {
    /// The day: `2026-11-24`.
    pub day: String,
    /// Description of the event.
    pub what: String,
}
