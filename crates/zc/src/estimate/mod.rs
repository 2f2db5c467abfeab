//! Observations to estimates: what each cell cost, how sure that is, and what may be said about it.
//!
//! In goes a saved run, out come numbers with their intervals, as plain data: no text, no files, no clock, so the same
//! run gives the same estimates for ever, and an old run can be read again with better arithmetic. How a cost comes
//! out of a block is in `plan::costs`, because the session needs it while it measures; this room does the rest.
//! Whatever cannot be computed from a run is `None`: there is no NaN and no infinity in what it hands out.

mod model;

pub use model::{
    BlockAccount, Bounds, CellEstimate, CellVerdict, Comparison, Conditions, Control, DropCounts, Estimates, Figure,
    LimitedBy, OtherMethod, Others, Perturbation, RatioFigure, RatioMethod, Sides, Traffic, Verdict, Withheld,
};

use crate::record::Run;

/// All that can be computed from a run. Takes any run that parses: none, one or many blocks, readings missing or not.
pub fn estimate(_run: &Run) -> Estimates {
    Estimates::default()
}
