//! Decides whether a path saves, costs more, or neither.
//!
//! Each path is compared with that of today, so there are as many comparisons as other paths:
//! intervals that decide have the error divided by their number (Bonferroni), and are a little
//! wider than those that are printed.

use super::figures::{Sampled, Values};
use super::model::{PathVerdict, Untold};
use crate::controls::Limits;
use crate::model::figure::Bounds;

/// Criteria by which all paths are judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judged {
    /// The run's own verdicts are withheld.
    pub(super) withheld: bool,
    /// Limits that the run's controls set.
    pub(super) limits: Limits,
    /// Most of the bytes are in responses longer than the longest that was measured.
    pub(super) mostly_beyond: bool,
    /// Paths that are compared with that of today.
    pub(super) others: usize,
}

/// The verdict about a path, from what it saves in all and in responses no longer than the longest
/// measured, and from what today's path and it cost, all in one unit.
pub(super) fn verdict(
    judged: &Judged,
    sampled: &Sampled,
    saved: Option<&Values>,
    within: Option<&Values>,
    [today, path]: [f64; 2],
) -> PathVerdict {
    let untold = |why| PathVerdict::Untold { why };
    if judged.withheld {
        return untold(Untold::Withheld);
    }
    let level = 1.0 - (1.0 - sampled.level) / judged.others.max(1) as f64;
    let interval = |values: &Values| sampled.saving(values, path, level).interval;
    let (Some(values), Some(bounds)) = (saved, saved.and_then(interval)) else {
        return untold(Untold::TooFewBlocks);
    };
    let Some(saves) = sign(bounds) else { return untold(Untold::ReachesZero) };
    let Limits { error, .. } = judged.limits;
    if error > 1.0 && !beyond_error(bounds, today, error) {
        return untold(Untold::ControlError);
    }
    if !judged.limits.resolve(1.0 - values.observed / today) {
        return untold(Untold::ControlTooWide);
    }
    let agrees = |within: Bounds| sign(within) == Some(saves);
    if judged.mostly_beyond && !within.and_then(interval).is_some_and(agrees) {
        return untold(Untold::Beyond);
    }
    let share = values.observed.abs() / today;
    match saves {
        true => PathVerdict::Saves { share },
        false => PathVerdict::CostsMore { share },
    }
}

/// Whether all of an interval lies above 0, or below; `None` if 0 is in it.
fn sign(Bounds { low, high, .. }: Bounds) -> Option<bool> {
    match high {
        _ if low > 0.0 => Some(true),
        Some(high) if high < 0.0 => Some(false),
        _ => None,
    }
}

/// Whether the ratio of costs is farther from 1 than a factor of `error` could take it.
fn beyond_error(Bounds { low, high, .. }: Bounds, today: f64, error: f64) -> bool {
    let ratio = |saved: f64| 1.0 - saved / today;
    ratio(low) * error < 1.0 || high.is_some_and(|high| ratio(high) > error)
}
