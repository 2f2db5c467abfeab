//! The answer of a tuning, as data.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::estimates::{Control, PositiveControl};
use crate::model::figure::{Figure, RatioFigure};
use crate::model::verdict::Withheld;

/// Which lines to change, what each is worth, and by what that is known.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Confidence level of the intervals.
    pub confidence: f64,
    /// What the answer amounts to.
    pub outcome: Outcome,
    /// Indices of the lines to change, those that save most first.
    pub change: Vec<usize>,
    /// All lines, in the order of their indices.
    pub lines: Vec<LineAnswer>,
    /// The lines to change in one state; `None` where fewer than two are to be changed, or they
    /// were not measured together.
    pub together: Option<Together>,
    /// What the change saves: by the lines together, or by the only one. `None` where no CPU is
    /// saved, and where several lines were not measured together.
    pub saving: Option<Saving>,
    /// Latency in the present state: its p50 and p99, in the phase that decided.
    pub present_latency: Option<Latency>,
    /// Congestion control of the present state, where it paces what is sent by timers: p99 is then
    /// that of the pacing.
    pub paced_by: Option<String>,
    /// Cost of a request in the present state, in the phase that decided, in microseconds.
    pub present_us_per_request: Option<Figure>,
    /// CPUs of the host.
    pub cores: usize,
    /// Price of a core, if one was given.
    pub price_per_core_hour: Option<f64>,
    /// Currency of the price; empty: none was given.
    pub currency: String,
    /// The runs that were made.
    pub phases: Vec<PhaseAccount>,
}

/// What an answer amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// At least one line is to be changed.
    Change,
    /// No line was shown to be worth a change.
    NothingToChange,
    /// The controls of the run that decides forbid verdicts.
    Withheld,
    /// No block of the screening counts, so nothing was compared.
    NothingKept,
}

/// One of the runs of a tuning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseName {
    /// All lines, to choose those that go on.
    Screening,
    /// The lines that were chosen, in blocks of their own.
    Confirming,
    /// The lines to change, in one state.
    Together,
}

/// A line, what it does, and whether to change it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LineAnswer {
    /// Its index.
    pub index: usize,
    /// The line: `tcp_nopush off`.
    pub name: String,
    /// What is in effect now: `tcp_nopush on`.
    pub present: String,
    /// Why it may matter.
    pub reason: String,
    /// Where it is documented.
    pub reference: String,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: LineVerdict,
    /// The run that the figures are from: the confirming one where the line is in it.
    pub phase: Option<PhaseName>,
    /// CPU per request divided by that in the present state.
    pub ratio: Option<RatioFigure>,
    /// The same in the screening, where `ratio` is of the confirming run.
    pub screening_ratio: Option<RatioFigure>,
    /// Cost of a request in microseconds.
    pub us_per_request: Option<Figure>,
    /// What a request costs less than in the present state, in microseconds.
    pub saved_us_per_request: Option<Figure>,
    /// p50 and p99 with the line.
    pub latency: Option<Latency>,
    /// Trials that failed, over all runs; `None`: none did.
    pub errors: Option<Errors>,
    /// Cores that it saves.
    pub worth: Worths,
}

/// Whether to change a line.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum LineVerdict {
    /// It is to be changed.
    Change {
        /// Share of the present cost that it saves; `None` where it saves none.
        saves: Option<f64>,
        /// Share by which p99 falls, where it does so by more than chance.
        p99_falls: Option<f64>,
    },
    /// It helps by itself, and was not shown to add anything beside the lines that are to be
    /// changed.
    NotNeeded {
        /// Share of the present cost that it saves by itself; `None` where it saves none.
        saves: Option<f64>,
        /// Share by which p99 falls by itself, where it does so by more than chance.
        p99_falls: Option<f64>,
    },
    /// It saves CPU, and p99 rises.
    CostsLatency {
        /// Share of the present cost that it saves.
        saves: f64,
        /// Share by which p99 rises.
        p99_rises: f64,
    },
    /// It does nothing: the interval of the ratio is within 5 % of 1.
    Leave {
        /// The larger distance of an interval's end from 1.
        within: f64,
    },
    /// It costs CPU.
    Worse {
        /// Share of the present cost that it adds.
        adds: f64,
    },
    /// Neither a difference nor the lack of one was shown.
    NotShown {
        /// Why, where it is more than an interval that reaches both ways.
        why: Option<String>,
    },
    /// It was not tried.
    NotTried {
        /// Why.
        why: String,
    },
    /// The server refused it.
    Refused {
        /// The server's words.
        words: String,
    },
    /// With it the server did not answer, or not as in the present state, or it ended.
    Broke {
        /// How.
        how: String,
    },
}

/// p50 and p99 of requests, from when each was due to the end of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Latency {
    /// Half of the requests took no longer, in nanoseconds.
    pub p50_ns: u64,
    /// 99 of 100 took no longer.
    pub p99_ns: u64,
    /// The p99 of the same state under its other name, the A/A control; `None` for a line.
    pub again_p99_ns: Option<u64>,
    /// Requests that were timed.
    pub requests: u64,
}

/// Trials of a state that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Errors {
    /// Their number.
    pub trials: usize,
    /// Why the first one did.
    pub first: String,
}

/// The lines that are to be changed by themselves, measured in one state.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Together {
    /// Indices of the lines, in the order in which they were added.
    pub lines: Vec<usize>,
    /// How many of them, the first ones, are enough: what follows is of these.
    pub enough: usize,
    /// CPU per request divided by that in the present state.
    pub ratio: Option<RatioFigure>,
    /// Whether they were shown to save CPU together.
    pub saves: bool,
    /// Share by which p99 is above the present one, where it is by more than a tenth and by more
    /// than chance.
    pub p99_rises: Option<f64>,
    /// p50 and p99.
    pub latency: Option<Latency>,
    /// p50 and p99 in the present state of the same run.
    pub present_latency: Option<Latency>,
    /// Trials that failed.
    pub errors: Option<Errors>,
    /// The first line, the first two, and so on up to all.
    pub steps: Vec<Step>,
}

/// Several lines in one state, one more than in the step before.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Step {
    /// Number of lines.
    pub lines: usize,
    /// CPU per request divided by that in the present state.
    pub ratio: Option<RatioFigure>,
    /// CPU per request divided by that with all lines; `None` for these.
    pub by_all: Option<RatioFigure>,
    /// p50 and p99.
    pub latency: Option<Latency>,
    /// How the server did not answer as in the present state, or ended; `None`: it did neither.
    pub broke: Option<String>,
}

/// What the change saves.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Saving {
    /// The run that it is from.
    pub phase: PhaseName,
    /// CPU per request divided by that in the present state.
    pub ratio: Option<RatioFigure>,
    /// What a request costs less, in microseconds.
    pub us_per_request: Figure,
    /// Cores that it saves.
    pub worth: Worths,
    /// Requests per second from which on it is a hundredth of a core.
    pub matters_from_requests_per_s: Option<f64>,
}

/// Cores saved at each rate that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Worths {
    /// In the busiest minute of the log.
    pub busiest: Option<Worth>,
    /// At the rate that was asked for.
    pub asked: Option<Worth>,
}

/// Cores that are saved at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Worth {
    /// The rate.
    pub requests_per_s: f64,
    /// Cores saved.
    pub cores: Figure,
    /// Price of these cores for a month of 730 hours, if a price was given.
    pub money_per_month: Option<Figure>,
    /// Whether it is at least a hundredth of a core.
    pub matters: bool,
}

/// A run of the tuning: how far it came, and what its controls say.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PhaseAccount {
    /// Which one.
    pub phase: PhaseName,
    /// Lines in it.
    pub lines: usize,
    /// Blocks that count.
    pub blocks: usize,
    /// Requests per second at which it measured.
    pub requests_per_s: Option<f64>,
    /// Why its verdicts are withheld; empty when they are not.
    pub withheld: Vec<Withheld>,
    /// The present state compared with itself.
    pub control: Option<Control>,
    /// The present state with a known cost on top.
    pub positive_control: Option<PositiveControl>,
}
