//! The accounts of netperf and time(1), with the units of those tools.

use crate::unit::from_us_per_kb;
use schemars::JsonSchema;
use serde::Serialize;

use super::figure::{Figure, RatioFigure, Sides};

/// Both accounts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Accounts {
    /// One for each cell of the plan, in the plan's order.
    pub rows: Vec<AccountRow>,
    /// Between cells that differ in their send path alone.
    pub ratios: Vec<AccountRatio>,
}

/// A cell by both accounts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AccountRow {
    /// Its label.
    pub cell: String,
    /// Payload in its soaked windows: 10^6 bits/s.
    pub throughput_mbit_per_s: Option<Figure>,
    /// Payload unpaced and unsoaked: 10^6 bits/s.
    pub top_speed_mbit_per_s: Option<Figure>,
    /// Soaked CPU time of each end by all CPUs that carry soakers on its machine, in per cent; `both` only where both are on one
    /// machine.
    pub utilisation_percent: Sides<Figure>,
    /// Service demand of each end: microseconds of soaked CPU time per KB of 1024 bytes.
    #[serde(rename = "demand_us_per_mb", serialize_with = "from_us_per_kb")]
    pub demand_us_per_kb: Sides<Figure>,
    /// Whether the half-width of the service demand's interval is within the plan's target, by its value: where false,
    /// netperf would warn that the desired confidence was not achieved.
    pub demand_within_target: Sides<bool>,
    /// The same of the throughput; `None` where there is none.
    pub throughput_within_target: Option<bool>,
    /// What time(1) would say.
    pub time: Option<TimeLine>,
}

/// What time(1) prints of the sending process, for a run of [`RUN_S`] like the windows that were measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TimeLine {
    /// User seconds; `None` in a run that did not tell user from system time.
    pub user_s: Option<f64>,
    /// System seconds; `None` in a run that did not tell user from system time.
    pub system_s: Option<f64>,
    /// How long such a run takes: always [`RUN_S`].
    pub elapsed_s: f64,
    /// User and system seconds together.
    pub cpu_s: Figure,
    /// These by the elapsed ones, in per cent of one CPU.
    pub cpu_percent: Figure,
}

/// The length of netperf's run, and of the one that time(1)'s line is scaled to.
pub const RUN_S: f64 = 10.0;

/// The cost of one cell by that of another by both accounts. Here `above` is the reference's path: 5.7 says that it takes 5.7
/// times as much CPU as `below`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AccountRatio {
    /// Label of the cell whose cost is divided: the reference's path (STREAM).
    pub above: String,
    /// Label of the cell by whose cost it is divided (SENDFILE).
    pub below: String,
    /// Service demand by service demand.
    pub demand: Sides<RatioFigure>,
    /// CPU time of the sending process per byte by the same.
    pub time: Option<RatioFigure>,
    /// Whether the interval of `time` has nothing in common with that of `demand` (the sender's, or that of both where the
    /// sides are not told apart); `None` without either.
    pub disagree: Option<bool>,
}
