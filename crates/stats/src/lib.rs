//! Robust statistics for paired measurements.
#![doc = include_str!("../README.md")]

mod alpha_spending;
mod autocorrelation;
mod blocked_anova;
mod bootstrap;
mod change_points;
mod crossed_effects;
mod dense;
mod dip;
mod false_discovery;
mod interval;
mod location;
mod midmean;
mod mixed_model;
mod monotone_cubic;
mod normal;
mod order_statistics;
mod parts;
mod rank_sum;
mod regression;
mod selection;
mod sequential;
mod signed_rank;
mod signed_rank_ratio;
mod student_t;
mod tails;
#[cfg(test)]
mod testing;
mod variance_component;
mod wander;
mod welch;

pub use alpha_spending::AlphaSpending;
pub use autocorrelation::{autocorrelation_time, median_interval_of_series};
pub use blocked_anova::{BlockedAnova, Classed, blocked_anova};
pub use bootstrap::{Bootstrap, DEFAULT_RESAMPLES, bca_interval, expanded_confidence};
pub use change_points::{ChangePoints, LevelChange, change_points};
pub use crossed_effects::{Crossed, CrossedEffects, LevelMean, RandomEffect, crossed_effects};
pub use dip::{dip, unimodality_p_value};
pub use false_discovery::false_discovery_q_values;
pub use interval::Interval;
pub use location::huber_location;
pub use midmean::Midmean;
pub use monotone_cubic::MonotoneCubic;
pub use order_statistics::{
    mad, median, median_interval, median_min_n, quantile, robust_deviation,
};
pub use rank_sum::{
    MannWhitney, hodges_lehmann_shift, mann_whitney, mann_whitney_interval, mann_whitney_p_value,
};
pub use regression::{antitonic_regression, nonnegative_fit};
pub use sequential::Sequential;
pub use signed_rank::{hodges_lehmann, wilcoxon_interval, wilcoxon_min_n, wilcoxon_p_value};
pub use signed_rank_ratio::{SignedRankRatio, signed_rank_ratio};
pub use student_t::{StudentT, mean_interval};
pub use tails::heavy_tails;
pub use variance_component::{VarianceComponent, variance_component};
pub use wander::{Wander, wander};
pub use welch::{Welch, welch_interval};
