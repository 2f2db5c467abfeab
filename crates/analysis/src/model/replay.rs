//! Costs of a replayed log, beside those predicted from its lengths.

use schemars::JsonSchema;
use serde::Serialize;

use super::figure::{Figure, RatioFigure};

/// Cost of a log's responses, as measured in the replay and as predicted from the cells of one
/// length.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Replay {
    /// Responses that each trial sent.
    pub responses: usize,
    /// Their mean length in bytes.
    pub mean_bytes: f64,
    /// The share of their bytes that is in responses longer than the longest length of the plan,
    /// whose costs are extrapolated.
    pub beyond_bytes_share: f64,
    /// The paths, in the order of the plan.
    pub paths: Vec<ReplayedPath>,
}

/// A path's costs of the log, in us of CPU time per response.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReplayedPath {
    /// The send path.
    pub path: String,
    /// The label of the cell that replayed the log.
    pub cell: String,
    /// Cost of a response when the log was replayed.
    pub replayed_us: Option<Figure>,
    /// Cost of a response as predicted from the costs of single lengths.
    pub predicted_us: Option<Figure>,
    /// `replayed_us` divided by `predicted_us`, block by block.
    pub replayed_by_predicted: Option<RatioFigure>,
    /// Whether that interval contains 1; `None` without an interval.
    pub agrees: Option<bool>,
    /// The cost of the replay divided by that of the path that others are compared with; `None` for
    /// that path.
    pub replayed_ratio: Option<RatioFigure>,
    /// The same of the predicted costs.
    pub predicted_ratio: Option<RatioFigure>,
}
