//! Which of the lines to change are enough, as their effects overlap.
//!
//! The lines are added one after the other, in an order that is fixed before they are measured: the
//! one that saves most, the one that lowers p99 most without saving, then the others by what they
//! save. Each step is a state of one run. From the end they are taken away again, as in backward
//! elimination, as long as what is left is shown to cost less than a margin more than all of them,
//! and p99 does not seem to be lower with all. Leaving out each line by itself would not do: of two
//! lines that do the same each adds nothing beside the other, and both would go.
//!
//! The first step that is not shown to be enough ends the sequence, so each may be tested with the
//! whole error: that any line goes that saves more than the margin beside those that stay has a
//! chance of at most 2.5 %, the error at one end of an interval (P. R. Rosenbaum, Testing
//! hypotheses in order, Biometrika 95, 2008, 248-252).

use super::latency::may_fall;
use super::line::Line;
use super::model::{LineVerdict, Step};
use super::phase::{Phase, Phases, State};
use super::states::step_name;
use super::verdict;
use crate::cells::ratio_by;
use crate::kept::KeptBlocks;
use crate::model::verdict::{Comparison, EQUIVALENCE_MARGIN};

/// The share of what all lines save that may be lost.
const MOST_LOST: f64 = 0.5;

/// The lines to change, by their indices, in the order in which they are added.
pub fn in_steps(phases: &Phases<'_>, lines: &[Line]) -> Vec<usize> {
    let verdicts = verdict::verdicts(phases, lines);
    order(&verdicts, &verdict::of_verdicts(phases, lines, &verdicts))
}

/// The order of the steps for `winners`, those that save most first.
pub(super) fn order(verdicts: &[LineVerdict], winners: &[usize]) -> Vec<usize> {
    let mut order = winners.to_vec();
    let is_faster = |at: &usize| matches!(verdicts[*at], LineVerdict::Change { saves: None, .. });
    // What gains something else than the first comes next.
    if let Some(place) = order.iter().position(is_faster).filter(|place| *place > 1) {
        order[1..=place].rotate_right(1);
    }
    order
}

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

/// How many of the lines are enough: all, unless fewer are shown to be. If they are to save CPU,
/// all of them have to be shown to do so.
pub(super) fn enough(phase: Phase<'_>, steps: &[Step], must_save: bool) -> usize {
    let lines = steps.len();
    let Some((all, fewer)) = steps.split_last() else { return 0 };
    if !phase.estimates.verdict.stands() || all.broke.is_some() {
        return lines;
    }
    let is_cheaper = |step: &Step| {
        let state = phase.state(&step_name(step.lines, lines));
        state.is_some_and(|state| cheaper(phase, &state))
    };
    let saves = is_cheaper(all);
    if must_save && !saves {
        return lines;
    }
    let margin = match all.ratio.filter(|_| saves) {
        Some(ratio) => EQUIVALENCE_MARGIN.min(MOST_LOST * (1.0 - ratio.value)),
        None => EQUIVALENCE_MARGIN,
    };
    let error = 1.0 + phase.estimates.verdict.control_error.unwrap_or_default();
    let is_enough = |step: &&Step| {
        let most = step.by_all.and_then(|ratio| ratio.interval?.high);
        let latencies = all.latency.zip(step.latency);
        step.broke.is_none()
            && most.is_some_and(|most| most * error <= 1.0 + margin)
            && latencies.is_some_and(|both| !may_fall(&both))
            && (!saves || is_cheaper(step))
    };
    lines - fewer.iter().rev().take_while(is_enough).count()
}

/// Whether a state of a run is shown to cost less than the present one.
pub(super) fn cheaper(phase: Phase<'_>, state: &State<'_>) -> bool {
    matches!(phase.comparison(state), Some(Comparison::Cheaper { .. }))
}
