//! Decides whether a path saves, costs more, or neither.
//!
//! Each path is compared with that of today, so there are as many comparisons as other paths:
//! intervals that decide have the error divided by their number (Bonferroni), and are a little
//! wider than those that are printed.

use super::figures::{Encrypted, Sampled, Values};
use super::model::{PathVerdict, Untold};
use super::tls::TlsCosts;
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

impl Judged {
    /// The same where what another run says of encryption decides as well.
    pub(super) fn also(&self, tls: &TlsCosts) -> Self {
        let Limits { error, resolution } = tls.limits;
        Self {
            withheld: self.withheld || !tls.withheld.is_empty(),
            limits: Limits {
                error: self.limits.error.max(error),
                resolution: self.limits.resolution.max(resolution),
            },
            ..*self
        }
    }
}

/// What a path saves in comparison with that of today; all in one unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Saving<'v> {
    pub(super) saved: Option<&'v Values>,
    /// The same of responses no longer than the longest measured.
    pub(super) within: Option<&'v Values>,
    /// What today's path costs, and what the path does, of what is compared.
    pub(super) today: f64,
    pub(super) path: f64,
    /// Encryption in what is saved, where it is done in another way than today.
    pub(super) encrypted: Option<Encrypted>,
    /// All that today's path costs, what is the same by both included.
    pub(super) all_of_today: f64,
}

/// The verdict about a path.
pub(super) fn verdict(judged: &Judged, sampled: &Sampled, saving: &Saving<'_>) -> PathVerdict {
    let untold = |why| PathVerdict::Untold { why };
    if judged.withheld {
        return untold(Untold::Withheld);
    }
    let Saving { saved, within, today, path, encrypted, all_of_today } = *saving;
    let level = 1.0 - (1.0 - sampled.level) / judged.others.max(1) as f64;
    let interval = |values: &Values| sampled.saving(values, path, encrypted, level).interval;
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
    let share = values.observed.abs() / all_of_today;
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
