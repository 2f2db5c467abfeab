//! Observations to estimates: what each cell cost, how sure that is, and what may be said about it.
//!
//! In goes a saved run, out come numbers with their intervals, as plain data: no text, no files, no clock, so the same
//! run gives the same estimates for ever, and an old run can be read again with better arithmetic. How a cost comes
//! out of a block is in [`costs`], which blocks count in [`rules`], when a run may end early in [`interim`].
//! Whatever cannot be computed from a run is `None`: there is no NaN and no infinity in what it hands out.

mod account;
mod cells;
pub mod compare;
mod cost_series;
pub mod costs;
mod estimate;
mod figures;
pub mod interim;
mod kept;
pub mod machine;
pub mod memory;
mod model;
mod netperf;
mod others;
mod parallel;
pub mod profile;
pub mod ratios;
pub mod rules;
mod sizes;
pub mod soak;
mod traffic;
mod unit;
mod verdict;
mod window;

pub use cost_series::{CostSeries, cost_series};
pub use estimate::estimate;
pub use model::cell::{CellEstimate, LimitedBy, OtherMethod, Others, Perturbation, Traffic};
pub use model::estimates::{BlockAccount, Conditions, Control, DropCounts, Estimates};
pub use model::figure::{Bounds, Figure, RatioFigure, RatioMethod, Sides};
pub use model::netperf::{AccountRatio, AccountRow, Accounts, RUN_S, TimeLine};
pub use model::sizes::{
    Crossover, CrossoverMethod, Line, Outcome, Residual, Series, SizePoint, Sizes, Undecided,
};
pub use model::verdict::{CellVerdict, Cheapest, Comparison, Verdict, Withheld};
pub use unit::us_per_mb;

#[cfg(test)]
mod tests;
