//! Which of the lines to change are enough, as their effects overlap.
//!
//! The lines are added one after the other, in an order that is fixed before they are measured:
//! those that save most first, and those that only lower p99 last, as one of these may cost CPU
//! beside the others. Each step is a state of one run. From the end they are taken away again, as in
//! backward elimination, as long as what is left is shown to cost less than a margin more than all
//! of them, and p99 does not seem to be lower with all, or only by CPU. Leaving out each line by
//! itself would not do: of two lines that do the same each adds nothing beside the other, and both
//! would go.
//!
//! Where a step is shown to cost less than all lines, the walk begins with the cheapest such step: a
//! line in the middle may cost CPU beside the others, and one after it save less than that. As any
//! step may be that one, these intervals are Bonferroni's.
//!
//! The first step that is not shown to be enough ends the walk, so each may be tested with the
//! whole error (P. R. Rosenbaum, Testing hypotheses in order, Biometrika 95, 2008, 248-252). That
//! any line goes that saves more than the margin beside those that stay has a chance of at most 5 %:
//! 2.5 %, the error at one end of an interval, for where the walk begins, and as much for the walk.

use super::latency::may_fall;
use super::model::Step;
use super::phase::{Phase, State};
use super::states::step_name;
use crate::cells::ratio_by;
use crate::kept::KeptBlocks;
use crate::model::verdict::{Comparison, EQUIVALENCE_MARGIN};

/// The share of what all lines save that may be lost.
const MOST_LOST: f64 = 0.5;

/// The steps of the run that has all of so many lines in one state, from the first line on.
pub(super) fn steps(phase: Phase<'_>, lines: usize) -> Vec<Step> {
    let kept = KeptBlocks::from_run(phase.run);
    let all = kept.index.place(&step_name(lines, lines));
    let step = |count: usize| {
        let label = step_name(count, lines);
        let state = phase.state(&label);
        let place = kept.index.place(&label).filter(|_| count < lines);
        Step {
            lines: count,
            ratio: state.and_then(|state| state.cell.ratio.both),
            by_all: place.and_then(|place| ratio_by(&kept, place, all?)),
            latency: state.and_then(|state| state.latency()),
            broke: phase.broke(&label),
        }
    };
    (1..=lines).map(step).collect()
}

/// How many of the lines are enough: all, unless fewer are shown to be. If they are to save CPU and
/// all of them are not shown to, only those go without which CPU is shown to be saved.
pub(super) fn enough(phase: Phase<'_>, steps: &[Step], must_save: bool) -> usize {
    let Some((all, fewer)) = steps.split_last() else { return 0 };
    if !phase.estimates.verdict.stands() || all.broke.is_some() {
        return all.lines;
    }
    let is_cheaper = |step: &Step| {
        let state = phase.state(&step_name(step.lines, steps.len()));
        state.is_some_and(|state| cheaper(phase, &state))
    };
    let kept = KeptBlocks::from_run(phase.run);
    let error = 1.0 + phase.estimates.verdict.control_error.unwrap_or_default();
    // At most so many times as much as another step does one cost.
    let most_by = |kept: &KeptBlocks<'_>, step: &Step, by: &Step| {
        let place = |step: &Step| kept.index.place(&step_name(step.lines, steps.len()));
        let ratio = ratio_by(kept, place(step)?, place(by)?)?;
        Some(ratio.interval?.high? * error)
    };
    // The cheapest of those that are shown to cost less than all, or all.
    let level = 1.0 - (1.0 - kept.level) / fewer.len().max(1) as f64;
    let careful = KeptBlocks::at_level(phase.run, level);
    let costs_less = |step: &&Step| {
        step.broke.is_none() && most_by(&careful, step, all).is_some_and(|most| most < 1.0)
    };
    let by_all = |step: &Step| step.by_all.map_or(f64::INFINITY, |ratio| ratio.value);
    let cheapest = fewer.iter().filter(costs_less);
    let first = cheapest.min_by(|a, b| by_all(a).total_cmp(&by_all(b))).unwrap_or(all);
    // What costs least of the steps that were passed, and what is left.
    let (mut best, mut left) = (first, first);
    for step in fewer.iter().rev().skip_while(|step| step.lines >= first.lines) {
        let saves = is_cheaper(best);
        let most = most_by(&kept, step, best);
        let Some(most) = most.filter(|_| step.broke.is_none() && (!saves || is_cheaper(step)))
        else {
            break;
        };
        let margin = match best.ratio.filter(|_| saves) {
            Some(ratio) => EQUIVALENCE_MARGIN.min(MOST_LOST * (1.0 - ratio.value)),
            None => EQUIVALENCE_MARGIN,
        };
        let is_as_fast = best.latency.zip(step.latency).is_some_and(|both| !may_fall(&both));
        if most < 1.0 {
            // As with a line by itself, no p99 is worth CPU.
            best = step;
        } else if most > 1.0 + margin || !is_as_fast || must_save && !saves {
            break;
        }
        left = step;
    }
    left.lines
}

/// Whether a state of a run is shown to cost less than the present one.
pub(super) fn cheaper(phase: Phase<'_>, state: &State<'_>) -> bool {
    matches!(phase.comparison(state), Some(Comparison::Cheaper { .. }))
}
