//! Computes estimates from observations: costs of cells, their intervals, and verdicts.
//!
//! The input is a saved run, the output plain data: no text, no files, no clock. So the same run
//! always gives the same estimates, and an old run can be read again with better arithmetic.
//! [`costs`] computes the cost of a trial within its block, [`rules`] decides which blocks count,
//! [`interim`] when a run may end early. What a run does not determine is `None`; results contain
//! no NaN and no infinity.

mod account;
mod account_kind;
pub mod advise;
pub mod bisect;
mod block_costs;
mod bootstrap;
mod cells;
mod clocks;
pub mod compare;
mod components;
mod controls;
mod cost_curve;
mod cost_series;
pub mod costs;
mod division;
mod estimate;
mod events;
mod figures;
pub mod fleet;
mod harness;
mod idle_host;
pub mod interim;
mod kept;
mod less_others;
mod losses;
pub mod machine;
pub mod memory;
mod model;
mod netperf;
mod other_programs;
mod others;
mod own_clock;
pub mod parallel;
mod plan_index;
mod positive;
mod price;
pub mod profile;
pub mod progress;
pub mod ratios;
mod replay;
mod requests;
mod rough;
pub mod rules;
mod sides;
mod sizes;
pub mod soak;
mod sockets;
pub mod starved;
mod states;
mod steal;
mod taken;
pub mod ticks;
mod traffic;
pub mod tune;
mod unattributed;
mod unit;
mod verdict;
mod wall_clock;
mod wanders;
mod window;

pub use cost_series::{CostSeries, cost_series};
pub use estimate::{estimate, is_decided};
pub use model::account_kind::{AccountKind, WhyWallTime};
pub use model::cell::{
    CellEstimate, CostPer, CountedEvents, LimitedBy, OtherMethod, Others, Perturbation,
    SocketState, Traffic, TwoStates,
};
pub use model::components::{Components, Prediction};
pub use model::estimates::{
    BlockAccount, Conditions, Control, CpuShare, DropCounts, Estimates, OtherPrograms,
    PositiveControl, Rough, Unattributed, WanderFigures,
};
pub use model::figure::{Bounds, Figure, RatioFigure, RatioMethod, Sides};
pub use model::netperf::{AccountRatio, AccountRow, Accounts, RUN_S, TimeLine};
pub use model::replay::{Replay, ReplayedPath};
pub use model::requests::{LatencyQuantiles, RequestCost};
pub use model::sizes::{
    Crossover, CrossoverMethod, Line, Outcome, Residual, Series, SizePoint, Sizes, Undecided,
};
pub use model::verdict::{CellVerdict, Cheapest, Comparison, Verdict, Withheld};
pub use plan_index::PlanIndex;
pub use price::{HOURS_A_MONTH, Price};
pub use unit::us_per_mb;

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_controls;
