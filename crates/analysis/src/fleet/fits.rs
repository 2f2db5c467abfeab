//! Fits that several analyses of a fleet share.

use zc_stats::{ChangePoints, Crossed};

use super::model::{End, TrendLine};
use super::observations::Fitted;

/// Rate of false discoveries among odd hosts, among odd pairs and among conditions.
pub const FALSE_DISCOVERY_RATE: f64 = 0.05;

/// The fits of a cell at an end.
pub(super) struct CellFit {
    pub(super) label: usize,
    pub(super) end: End,
    pub(super) cost: Option<Fitted>,
    pub(super) ratio: Option<Fitted>,
}

/// Costs of runs at an end, all cells together, with odd hosts excluded.
pub(super) struct OnAverage {
    pub(super) end: End,
    pub(super) fitted: Fitted,
    /// Runs of pairs that lie far off, with their costs: they are not in the fit.
    pub(super) apart: Vec<(usize, Crossed)>,
}

/// A line with the data that its judgement needs.
pub(super) struct Line {
    pub(super) line: TrendLine,
    /// Logarithms of costs by night, with their errors.
    pub(super) values: Vec<(f64, f64)>,
    pub(super) found: ChangePoints,
}
