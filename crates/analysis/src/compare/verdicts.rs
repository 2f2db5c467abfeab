//! Verdicts for each cell by Holm's procedure over all of them, and the test whether any cell is
//! dearer by more than a margin.
//!
//! The test has three outcomes, so that neither of the two claims is made by chance. *No cell is
//! dearer* claims something of every cell, and each must support it by itself at one-sided 5 %. The
//! claim as a whole is then wrong no more often (an intersection-union test, Berger 1982). *Some
//! cell is dearer* is claimed as soon as one cell shows it, so it is corrected for their number by
//! Holm's procedure. Everything else is undecided.

use super::effect::{CONFIDENCE, Effect};
use super::model::{Change, ChangeVerdict};
use crate::model::verdict::EQUIVALENCE_MARGIN;

/// Family-wise error of all verdicts.
pub(super) const ALPHA: f64 = 1.0 - CONFIDENCE;

/// A verdict for each effect, with Holm's correction for all of them.
pub(super) fn verdicts(effects: &[Option<&Effect>]) -> Vec<ChangeVerdict> {
    let mut verdicts = vec![ChangeVerdict::Undecided; effects.len()];
    let all: Vec<(usize, &Effect)> =
        effects.iter().enumerate().filter_map(|(at, each)| Some((at, (*each)?))).collect();
    let mut ordered: Vec<(f64, usize, Change)> = all
        .iter()
        .filter_map(|(at, effect)| {
            let (above, below) = effect.one_sided_p_values(0.0)?;
            Some(((2.0 * above.min(below)).min(1.0), *at, effect.change()?))
        })
        .collect();
    ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
    let tested = ordered.len();
    let mut differs = true;
    for (rank, (p, at, change)) in ordered.into_iter().enumerate() {
        differs &= p <= alpha_of(effects[at]) / (tested - rank) as f64;
        let within = effects[at].and_then(Effect::within);
        let is_resolved = effects[at].is_some_and(Effect::is_resolved);
        verdicts[at] = verdict(&change, differs && is_resolved, within);
    }
    verdicts
}

/// Family-wise error for an effect. A run that ended early has less left of it.
fn alpha_of(effect: Option<&Effect>) -> f64 {
    match effect {
        Some(Effect::Paired { level, .. }) => 1.0 - level,
        _ => ALPHA,
    }
}

fn verdict(change: &Change, differs: bool, within: Option<f64>) -> ChangeVerdict {
    match (differs, within) {
        (true, _) if change.ratio < 1.0 => ChangeVerdict::Better { by: 1.0 - change.ratio },
        (true, _) if change.ratio > 1.0 => ChangeVerdict::Worse { by: change.ratio - 1.0 },
        (_, Some(within)) if within <= EQUIVALENCE_MARGIN => ChangeVerdict::Same { within },
        _ => ChangeVerdict::Undecided,
    }
}

/// Result of testing one effect against a margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarginTest {
    /// Above the margin, corrected for all effects.
    Above,
    /// Shown to be not above the margin.
    NotAbove,
    /// Neither was shown.
    Undecided,
}

/// Tests each effect against a margin.
pub(super) fn against_margin(effects: &[Option<&Effect>], margin: f64) -> Vec<MarginTest> {
    let tested = effects.iter().flatten().count().max(1);
    let p_values: Vec<Option<(f64, f64)>> =
        effects.iter().map(|each| each.and_then(|each| each.one_sided_p_values(margin))).collect();
    let mut ordered: Vec<(f64, usize)> =
        p_values.iter().enumerate().filter_map(|(at, found)| Some(((*found)?.0, at))).collect();
    ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut tests: Vec<MarginTest> = std::iter::zip(effects, &p_values)
        .map(|(effect, p_values)| {
            let is_resolved = effect.is_some_and(|effect| effect.resolves(margin));
            if p_values.is_some_and(|(_, below)| below <= ALPHA) && is_resolved {
                MarginTest::NotAbove
            } else {
                MarginTest::Undecided
            }
        })
        .collect();
    for (rank, (p, at)) in ordered.into_iter().enumerate() {
        if p > alpha_of(effects[at]) / (tested - rank) as f64 {
            break;
        }
        if effects[at].is_some_and(Effect::is_resolved) {
            tests[at] = MarginTest::Above;
        }
    }
    tests
}

/// Upper confidence bound of all ratios minus 1, not below 0; `None` where one has no bound.
pub(super) fn none_worse_by(effects: &[Option<&Effect>]) -> Option<f64> {
    let bounds: Option<Vec<f64>> =
        effects.iter().map(|each| each.as_ref()?.upper_bound(ALPHA)).collect();
    bounds?.into_iter().reduce(f64::max).map(|most| (most - 1.0).max(0.0))
}
