//! Which of the lines to change are enough, as their effects overlap.
//!
//! The lines are added one after the other, in an order that is fixed before they are measured:
//! those that save most first, and those that only lower p99 last, as one of these may cost CPU
//! beside the others. Each step is a state of one run, and the answer is the shortest step that is
//! shown to cost at most a margin more than the cheapest, with a p99 that does not seem to be
//! higher. Leaving out each line by itself would not do: of two lines that do the same each adds
//! nothing beside the other, and both would go.
//!
//! The cheapest step is all lines, unless others are shown to cost less: a line in the middle may
//! cost CPU beside those before it, and one after it save less than that.
//!
//! Any step may be the cheapest, and any may be enough, so the intervals are Bonferroni's. That any
//! line goes that saves more than the margin beside those that stay has a chance of at most 5 %:
//! 2.5 %, the error at one end of an interval, for which step is the cheapest, and as much for which
//! are enough. Taking lines away from the end until the first step that is not shown to be enough
//! would ask for no correction. But a line that costs CPU beside the others ends that walk in one
//! run and not in the next, and their advice differs by lines that add nothing.

use super::latency::may_fall;
use super::model::Step;
use super::phase::{Phase, State};
use super::states::step_name;
use crate::cells::ratio_by;
use crate::interim::level_of;
use crate::kept::KeptBlocks;
use crate::model::verdict::{Comparison, EQUIVALENCE_MARGIN};

/// The share of what the cheapest step saves that may be lost.
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
/// all of them are not shown to, only those go without which less CPU is shown to be taken.
pub(super) fn enough(phase: Phase<'_>, steps: &[Step], must_save: bool) -> usize {
    let Some((all, fewer)) = steps.split_last() else { return 0 };
    if !phase.estimates.verdict.stands() || all.broke.is_some() {
        return all.lines;
    }
    let is_cheaper = |step: &Step| {
        let state = phase.state(&step_name(step.lines, steps.len()));
        state.is_some_and(|state| cheaper(phase, &state))
    };
    let error = 1.0 - level_of(&phase.run.header.plan, phase.run.end.as_ref());
    let kept = KeptBlocks::at_level(phase.run, 1.0 - error / fewer.len().max(1) as f64);
    let control = 1.0 + phase.estimates.verdict.control_error.unwrap_or_default();
    // At most so many times as much as another step does one cost.
    let most_by = |step: &Step, by: &Step| {
        let place = |step: &Step| kept.index.place(&step_name(step.lines, steps.len()));
        let ratio = ratio_by(&kept, place(step)?, place(by)?)?;
        Some(ratio.interval?.high? * control)
    };
    let works = |step: &&Step| step.broke.is_none();
    let costs_less = |step: &&Step| most_by(step, all).is_some_and(|most| most < 1.0);
    let by_all = |step: &Step| step.by_all.map_or(f64::INFINITY, |ratio| ratio.value);
    let cheapest = fewer.iter().filter(works).filter(costs_less);
    let cheapest = cheapest.min_by(|a, b| by_all(a).total_cmp(&by_all(b))).unwrap_or(all);
    let saves = is_cheaper(cheapest);
    if must_save && !saves {
        return cheapest.lines;
    }
    let margin = match cheapest.ratio.filter(|_| saves) {
        Some(ratio) => EQUIVALENCE_MARGIN.min(MOST_LOST * (1.0 - ratio.value)),
        None => EQUIVALENCE_MARGIN,
    };
    let is_enough = |step: &&Step| {
        let is_as_fast = cheapest.latency.zip(step.latency).is_some_and(|both| !may_fall(&both));
        is_as_fast
            && (!saves || is_cheaper(step))
            && most_by(step, cheapest).is_some_and(|most| most <= 1.0 + margin)
    };
    let shorter = fewer.iter().take_while(|step| step.lines < cheapest.lines);
    shorter.filter(works).find(is_enough).unwrap_or(cheapest).lines
}

/// Whether a state of a run is shown to cost less than the present one.
pub(super) fn cheaper(phase: Phase<'_>, state: &State<'_>) -> bool {
    matches!(phase.comparison(state), Some(Comparison::Cheaper { .. }))
}
