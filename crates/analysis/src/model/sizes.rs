//! Cost against message size: series, fitted lines and crossovers, as data.

use crate::unit::from_ns_per_kib;
use schemars::JsonSchema;
use serde::Serialize;

use super::figure::Figure;

/// Estimates by message size, for one side.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Sizes {
    /// The series, in the plan's order of their first cells.
    pub series: Vec<Series>,
    /// Crossovers between series that differ in one factor only, the last of the plan's other than
    /// `message`: first those with the reference's series, then all other pairs.
    pub crossovers: Vec<Crossover>,
}

/// Cells that differ only in their message size.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    /// The common levels of its cells, of the plan's factors other than `message` in their order:
    /// `sendfile`, `no-tso sendfile`.
    pub name: String,
    /// Whether it has the reference's level of the factor that crossovers compare.
    pub reference: bool,
    /// Its points, by rising size.
    pub points: Vec<SizePoint>,
    /// The fitted line; `None` with fewer than two sizes that have a cost.
    pub line: Option<Line>,
}

/// One cell of a series.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SizePoint {
    /// Label of the cell.
    pub cell: String,
    /// Bytes per call.
    pub size_bytes: usize,
    /// Cost of a call with this many bytes, ns: the interquartile mean over blocks, with the
    /// blocks' common factor removed, so it may differ in the last digit from the cell's own
    /// median. `None` without a cost above 0.
    pub call_ns: Option<f64>,
}

/// Cost of a call = `call_ns` + `ns_per_kib` x size, fitted to the points by least squares of
/// relative errors, with both coefficients not negative. The values are the coefficients of this
/// one fit, not medians over blocks; the intervals are bootstrap intervals over blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    /// Cost of a call regardless of its bytes, ns.
    pub call_ns: Figure,
    /// Cost of 1024 bytes regardless of the number of calls, ns.
    #[serde(rename = "us_per_mb", serialize_with = "from_ns_per_kib")]
    pub ns_per_kib: Figure,
    /// The point with the largest distance from the line.
    pub largest_residual: Residual,
}

/// Relative distance of a point from its line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Residual {
    /// Message size of the point in bytes.
    pub size_bytes: usize,
    /// Measured cost divided by the line's, minus 1: 0.2 is a point that costs 20 % more than the
    /// line predicts.
    pub share: f64,
}

/// Crossover of two series: the size at which one becomes cheaper than the other.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Crossover {
    /// Index in `series` of the series in question.
    pub of: usize,
    /// Index in `series` of the series that it is compared with.
    pub against: usize,
    /// The result, at `interval_level` and not corrected for the number of crossovers.
    pub outcome: Outcome,
    /// Method by which the size was found; `None` where the outcome has no size.
    pub method: Option<CrossoverMethod>,
}

/// Which of two series is cheaper, and at which sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Outcome {
    /// Cheaper from a size on.
    From {
        /// Size of the crossover, bytes per call.
        size: f64,
        /// Lower end of its interval; `None` where it may lie below every measured size.
        low: Option<f64>,
        /// Upper end of its interval.
        high: f64,
    },
    /// Cheaper up to a size only.
    UpTo {
        /// Size of the crossover, bytes per call.
        size: f64,
        /// Lower end of its interval.
        low: f64,
        /// Upper end; `None` where it may lie above every measured size.
        high: Option<f64>,
    },
    /// Cheaper at every measured size.
    Always,
    /// Dearer at every measured size.
    Never,
    /// Undecided.
    Undecided {
        /// The reason.
        why: Undecided,
    },
}

/// Why a crossover is undecided.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "because")]
pub enum Undecided {
    /// Fewer than two sizes at which both series have a cost.
    TooFewSizes,
    /// Too few blocks for an interval.
    TooFewBlocks,
    /// Both cost the same at every measured size.
    Same {
        /// Every interval is within this distance of 1; at most 0.05.
        within: f64,
    },
    /// No difference could be shown at any size.
    Noise,
    /// Shown to be dearer at some sizes; undecided at the others.
    NowhereCheaper,
    /// Shown to be cheaper at some sizes; undecided at both ends.
    OpenEnds,
    /// Cheaper, dearer and cheaper again, or the other way round: there is more than one crossover.
    SeveralCrossings,
    /// Shown at some sizes, and not at every one between or beyond them.
    InBetween,
}

/// The method that found the size of a crossover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CrossoverMethod {
    /// The intersection of the two lines, which both fit the measurements near it.
    Lines,
    /// The size at which the measured ratio passes 1: linear in the logarithms of ratio and size
    /// between neighbouring sizes, after isotonic regression. The lines do not fit near there.
    Interpolation,
}
