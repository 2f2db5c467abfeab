//! Cost against message size: series, fitted lines and crossovers.

use crate::unit::from_ns_per_kib;
use schemars::JsonSchema;
use serde::Serialize;

use super::figure::Figure;

/// All that a plan with several message sizes is asked for, for one side.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Sizes {
    /// In the plan's order of their first cells.
    pub series: Vec<Series>,
    /// Between series that differ in one factor alone, the last of the plan's beside `message`: first those against the
    /// reference's series, then all other pairs.
    pub crossovers: Vec<Crossover>,
}

/// Cells that differ in nothing but their message size.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    /// The levels that its cells have in common, of the plan's factors beside `message` in their order: `sendfile`,
    /// `no-tso sendfile`.
    pub name: String,
    /// Whether it has the reference's level of the factor that crossovers are about.
    pub reference: bool,
    /// What was measured, by rising size.
    pub points: Vec<SizePoint>,
    /// The line through them; `None` with fewer than two sizes that have a cost.
    pub line: Option<Line>,
}

/// A cell of a series.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SizePoint {
    /// Its label.
    pub cell: String,
    /// Bytes per call.
    pub size_bytes: usize,
    /// What so many bytes cost, in ns: the interquartile mean over blocks of what their bytes had in common, so that a cell's
    /// own median may differ from it in the last digit. `None` where it has no cost above 0.
    pub call_ns: Option<f64>,
}

/// Cost of a call = `call_ns` + `ns_per_kib` x size, laid through the points by least squares of relative errors, neither
/// below 0. The values are not medians over blocks but those of the one line, with bootstrap intervals over blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    /// What a call costs, however few bytes it carries: ns.
    pub call_ns: Figure,
    /// What 1024 bytes cost, however many calls carry them: ns.
    #[serde(rename = "us_per_mb", serialize_with = "from_ns_per_kib")]
    pub ns_per_kib: Figure,
    /// The point that lies farthest off the line.
    pub largest_residual: Residual,
}

/// How far a point lies off its line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Residual {
    /// Which point.
    pub size_bytes: usize,
    /// Measured by line, less 1: 0.2 is a point that costs 20 % more than the line says.
    pub share: f64,
}

/// Where a series becomes cheaper than another one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Crossover {
    /// Place in `series` of the one that is spoken of.
    pub of: usize,
    /// Place in `series` of the one that it is held against.
    pub against: usize,
    /// What may be said. Each at `interval_level` by itself, not corrected for how many crossovers there are.
    pub outcome: Outcome,
    /// How the size was found; `None` where the outcome has no size.
    pub method: Option<CrossoverMethod>,
}

/// Which of two series is the cheaper one, at which sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Outcome {
    /// It is cheaper from a size on.
    From {
        /// Bytes per call.
        size: f64,
        /// Lower end of its interval; `None` where it may lie below every size that was measured.
        low: Option<f64>,
        /// Upper end.
        high: f64,
    },
    /// It is cheaper up to a size only.
    UpTo {
        /// Bytes per call.
        size: f64,
        /// Lower end of its interval.
        low: f64,
        /// Upper end; `None` where it may lie above every size that was measured.
        high: Option<f64>,
    },
    /// Cheaper at every size that was measured.
    Always,
    /// Dearer at every size that was measured.
    Never,
    /// Nothing may be said.
    Undecided {
        /// Why not.
        why: Undecided,
    },
}

/// Why nothing may be said of a crossover.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "because")]
pub enum Undecided {
    /// Fewer than two sizes at which both have a cost.
    TooFewSizes,
    /// Too few blocks for an interval.
    TooFewBlocks,
    /// The two cost the same wherever they were measured.
    Same {
        /// Every interval lies this close to 1; at most 0.05.
        within: f64,
    },
    /// At no size a difference could be shown.
    Noise,
    /// It was shown to be dearer at some sizes, and nothing could be shown at others.
    NowhereCheaper,
    /// It was shown to be cheaper at some sizes, and nothing could be shown at either end.
    OpenEnds,
    /// It is cheaper, dearer and cheaper again, or the other way round: there is more than one crossover.
    SeveralCrossings,
    /// It is cheaper at both ends, or dearer at both, but not at every size in between.
    InBetween,
}

/// How the size of a crossover was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CrossoverMethod {
    /// Where the two lines cross: near there both agree with what was measured.
    Lines,
    /// Where the ratio as measured passes 1: linear in the logarithms of ratio and size between neighbouring sizes, after
    /// what goes against the trend was pooled (isotonic regression). The lines do not hold near there.
    Interpolation,
}
