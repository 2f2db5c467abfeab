//! The accounts of netperf and time(1) as data, in the units of those tools.

use crate::unit::from_us_per_kb;
use schemars::JsonSchema;
use serde::Serialize;

use super::figure::{Figure, RatioFigure, Sides};

/// The accounts of netperf and time(1).
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Accounts {
    /// One for each cell of the plan, in the plan's order.
    pub rows: Vec<AccountRow>,
    /// Ratios between cells that differ only in their send path.
    pub ratios: Vec<AccountRatio>,
}

/// Both accounts of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AccountRow {
    /// Label of the cell.
    pub cell: String,
    /// Payload rate in its soaked windows, 10^6 bits/s.
    pub throughput_mbit_per_s: Option<Figure>,
    /// Payload rate unpaced and unsoaked, 10^6 bits/s.
    pub top_speed_mbit_per_s: Option<Figure>,
    /// Soaked CPU time of each end divided by the time of all soaked CPUs of its machine, in per
    /// cent; `both` only where both are on one machine.
    pub utilisation_percent: Sides<Figure>,
    /// Service demand of each end: microseconds of soaked CPU time per KB of 1024 bytes.
    #[serde(rename = "demand_us_per_mb", serialize_with = "from_us_per_kb")]
    pub demand_us_per_kb: Sides<Figure>,
    /// Whether the half-width of the service demand's interval, relative to its value, is within
    /// the plan's target. Where false, netperf would warn that the desired confidence was not
    /// achieved.
    pub demand_within_target: Sides<bool>,
    /// The same for the throughput; `None` without one.
    pub throughput_within_target: Option<bool>,
    /// The line of time(1).
    pub time: Option<TimeLine>,
}

/// Output of time(1) for the sending process, for a run of [`RUN_S`] seconds at the cost of the
/// measured windows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TimeLine {
    /// User seconds; `None` in a run that did not separate user from system time.
    pub user_s: Option<f64>,
    /// System seconds; `None` in a run that did not separate user from system time.
    pub system_s: Option<f64>,
    /// Elapsed seconds: always [`RUN_S`].
    pub elapsed_s: f64,
    /// User and system seconds together.
    pub cpu_s: Figure,
    /// `cpu_s` divided by `elapsed_s`, in per cent of one CPU.
    pub cpu_percent: Figure,
}

/// Length of netperf's run in seconds, to which time(1)'s line is scaled.
pub const RUN_S: f64 = 10.0;

/// The cost of one cell divided by that of another, by both accounts. `above` has the reference's
/// path: 5.7 means that it takes 5.7 times as much CPU as `below`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AccountRatio {
    /// Label of the dividend: a cell with the reference's path (STREAM).
    pub above: String,
    /// Label of the divisor (SENDFILE).
    pub below: String,
    /// Ratio of the service demands.
    pub demand: Sides<RatioFigure>,
    /// Ratio of the sending process's CPU time per byte.
    pub time: Option<RatioFigure>,
    /// Whether the intervals of `time` and `demand` are disjoint (of the sender's demand, or that
    /// of both where the sides have no separate costs); `None` without either.
    pub disagree: Option<bool>,
}
