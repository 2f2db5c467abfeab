//! What may be said: a word for each cell by Holm's procedure over all of them, and the answer to "is any dearer by more than x".
//!
//! The answer is a three-way one, so that neither of its two ends is said by chance. *No cell is* claims something of every cell, and each
//! must bear it by itself at one-sided 5 %; the claim as a whole is then wrong no more often (an intersection-union test, Berger 1982).
//! *Some cell is* is claimed as soon as one cell shows it, so it is corrected for their number, by Holm's first step. Everything else is
//! undecided.

use super::effect::{CONFIDENCE, Effect};
use super::model::{Change, Word};
use crate::verdict::SAME_WITHIN;

/// What all words may be wrong in together.
pub(super) const ALPHA: f64 = 1.0 - CONFIDENCE;

/// A word for each piece of evidence, all of it taken together.
pub(super) fn words(effect: &[Option<&Effect>]) -> Vec<Word> {
    let mut words = vec![Word::Undecided; effect.len()];
    let all: Vec<(usize, &Effect)> = effect.iter().enumerate().filter_map(|(at, each)| Some((at, (*each)?))).collect();
    let mut ordered: Vec<(f64, usize, Change)> = all
        .iter()
        .filter_map(|(at, effect)| {
            let (above, below) = effect.against(0.0)?;
            Some(((2.0 * above.min(below)).min(1.0), *at, effect.change()?))
        })
        .collect();
    ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
    let tested = ordered.len();
    let mut differs = true;
    for (rank, (p, at, change)) in ordered.into_iter().enumerate() {
        differs &= p <= alpha_of(effect[at]) / (tested - rank) as f64;
        words[at] = word(&change, differs);
    }
    words
}

/// In one session its looks have spent a part.
fn alpha_of(effect: Option<&Effect>) -> f64 {
    match effect {
        Some(Effect::Paired { level, .. }) => 1.0 - level,
        _ => ALPHA,
    }
}

fn word(change: &Change, differs: bool) -> Word {
    match (differs, change.within()) {
        (true, _) if change.ratio < 1.0 => Word::Better { by: 1.0 - change.ratio },
        (true, _) if change.ratio > 1.0 => Word::Worse { by: change.ratio - 1.0 },
        (_, Some(within)) if within <= SAME_WITHIN => Word::Same { within },
        _ => Word::Undecided,
    }
}

/// Whether one piece of evidence is above, below, or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// Above the margin, all of them taken together.
    Above,
    /// Not above it.
    NotAbove,
    /// Neither can be said.
    Open,
}

/// Each piece of evidence held against a margin.
pub(super) fn held_against(effect: &[Option<&Effect>], margin: f64) -> Vec<Held> {
    let tested = effect.iter().flatten().count().max(1);
    let found: Vec<Option<(f64, f64)>> = effect.iter().map(|each| each.and_then(|each| each.against(margin))).collect();
    let mut ordered: Vec<(f64, usize)> =
        found.iter().enumerate().filter_map(|(at, found)| Some(((*found)?.0, at))).collect();
    ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut held: Vec<Held> = found
        .iter()
        .map(|found| if found.is_some_and(|(_, below)| below <= ALPHA) { Held::NotAbove } else { Held::Open })
        .collect();
    for (rank, (p, at)) in ordered.into_iter().enumerate() {
        if p > alpha_of(effect[at]) / (tested - rank) as f64 {
            break;
        }
        held[at] = Held::Above;
    }
    held
}

/// No ratio is further above 1 than this; `None` where one has no bound.
pub(super) fn none_worse_by(effect: &[Option<&Effect>]) -> Option<f64> {
    let bounds: Option<Vec<f64>> = effect.iter().map(|each| each.as_ref()?.below(ALPHA)).collect();
    bounds?.into_iter().reduce(f64::max).map(|most| (most - 1.0).max(0.0))
}
