//! Which of the lines to change are enough, as their effects overlap.
//!
//! The lines are added one after the other, in an order that is fixed before they are measured:
//! those that save most first, and those that only lower p99 last, as one of these may cost CPU
//! beside the others. Each step is a state of one run. The answer is the shortest step than which no
//! other is better: shown to cost less, and by a margin, or with a lower p99 and not shown to cost
//! more. So a line that is advised is shown to add something to those before it. Leaving out each
//! line by itself would not do: of two lines that do the same each adds nothing beside the other,
//! and both would go.
//!
//! Without the margin a line that adds 1.5 % came and went with the width of the intervals.
//!
//! The intervals are Bonferroni's, over the other steps: that the shortest of equally cheap ones
//! is beaten by another's CPU has a chance of at most 2.5 %, the error at one end of an interval.

use super::latency::may_fall;
use super::model::Step;
use super::phase::{Phase, State};
use super::states::step_name;
use crate::cells::ratio_by;
use crate::costs::Side;
use crate::interim::level_of;
use crate::kept::KeptBlocks;
use crate::model::figure::RatioFigure;
use crate::model::verdict::{Comparison, EQUIVALENCE_MARGIN};
use crate::ratios::pairs;
use crate::wanders::wander_of_pairs;
use zc_stats::Wander;

/// The costs of the steps of a run, divided by each other. What the present state wanders by, which
/// under a congestion control that paces is most, is in all ratios to it and in none of these. They
/// are widened by what they wander themselves: one figure for all, from those to all lines.
struct Among<'a> {
    kept: KeptBlocks<'a>,
    /// The places of the steps in the plan, from the first line on.
    places: Vec<Option<usize>>,
    wander: Option<Wander>,
}

impl<'a> Among<'a> {
    fn new(kept: KeptBlocks<'a>, lines: usize) -> Self {
        let place = |count: usize| kept.index.place(&step_name(count, lines));
        let places: Vec<Option<usize>> = (1..=lines).map(place).collect();
        let wander = places.split_last().and_then(|(all, fewer)| {
            let by_all = |step: usize| Some(pairs(&kept.costs, step, &[(*all)?], Side::Both));
            wander_of_pairs(fewer.iter().copied().flatten().filter_map(by_all))
        });
        Self { kept, places, wander }
    }

    /// The step of so many lines, divided by another one.
    fn ratio(&self, lines: usize, by: usize) -> Option<RatioFigure> {
        let place = |lines: usize| self.places.get(lines.checked_sub(1)?).copied().flatten();
        ratio_by(&self.kept, place(lines)?, place(by)?, self.wander)
    }
}

/// The steps of the run that has all of so many lines in one state, from the first line on.
pub(super) fn steps(phase: Phase<'_>, lines: usize) -> Vec<Step> {
    let among = Among::new(KeptBlocks::from_run(phase.run), lines);
    let step = |count: usize| {
        let label = step_name(count, lines);
        let state = phase.state(&label);
        Step {
            lines: count,
            ratio: state.and_then(|state| state.cell.ratio.both),
            by_all: among.ratio(count, lines).filter(|_| count < lines),
            latency: state.and_then(|state| state.latency()),
            broke: phase.broke(&label),
        }
    };
    (1..=lines).map(step).collect()
}

/// How many of the lines are enough. If they are to save CPU, so many of them that CPU is shown to
/// be saved; all, if no step is shown to.
pub(super) fn enough(phase: Phase<'_>, steps: &[Step], must_save: bool) -> usize {
    let Some(all) = steps.last() else { return 0 };
    if !phase.estimates.verdict.stands() || all.broke.is_some() {
        return all.lines;
    }
    let saves = |step: &Step| {
        let state = phase.state(&step_name(step.lines, steps.len()));
        state.is_some_and(|state| cheaper(phase, &state))
    };
    let serves = |step: &&Step| step.broke.is_none() && (!must_save || saves(step));
    let steps_that_serve: Vec<&Step> = steps.iter().filter(serves).collect();
    let error = 1.0 - level_of(&phase.run.header.plan, phase.run.end.as_ref());
    let others = steps.len().saturating_sub(1).max(1) as f64;
    let among = Among::new(KeptBlocks::at_level(phase.run, 1.0 - error / others), steps.len());
    let control = 1.0 + phase.estimates.verdict.control_error.unwrap_or_default();
    // By how much of the other's cost one is shown to cost less.
    let shown = |step: &Step, than: &Step| {
        let ratio = among.ratio(step.lines, than.lines)?;
        (ratio.interval?.high? * control < 1.0).then_some(1.0 - ratio.value)
    };
    let costs_less = |step: &Step, than: &Step| {
        let saves = step.ratio.map_or(0.0, |ratio| (1.0 - ratio.value).max(0.0));
        shown(step, than).is_some_and(|less| less >= EQUIVALENCE_MARGIN.min(saves / 2.0))
    };
    let present = phase.present_latency();
    let is_faster = |step: &Step, than: &Step| match (step.latency, than.latency, present) {
        (Some(less), Some(more), Some(present)) => may_fall(&(less, more), &present),
        _ => true,
    };
    // As with a line by itself, no p99 is worth CPU.
    let is_better = |step: &Step, than: &Step| {
        costs_less(step, than) || is_faster(step, than) && shown(than, step).is_none()
    };
    let is_beaten = |step: &Step| {
        let mut others = steps_that_serve.iter().filter(|other| other.lines != step.lines);
        others.any(|other| is_better(other, step))
    };
    steps_that_serve.iter().find(|step| !is_beaten(step)).map_or(all.lines, |step| step.lines)
}

/// Whether a state of a run is shown to cost less than the present one.
pub(super) fn cheaper(phase: Phase<'_>, state: &State<'_>) -> bool {
    matches!(phase.comparison(state), Some(Comparison::Cheaper { .. }))
}
