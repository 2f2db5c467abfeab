//! The verdict about each line.

use super::latency::{Pair, Scatter, seems_fallen};
use super::line::{Fate, Line, first_of_each};
use super::model::{LineVerdict, PhaseName};
use super::phase::{Phase, Phases, State};
use crate::model::verdict::Comparison;

/// A line whose CPU per request may be above the present one by more than this factor is not changed
/// for its p99.
const CPU_FOR_LATENCY: f64 = 1.1;

/// The indices of the lines to change, those that save most first, and of lines that set the same
/// only the better one.
pub fn winners(phases: &Phases<'_>, lines: &[Line]) -> Vec<usize> {
    of_verdicts(phases, lines, &verdicts(phases, lines))
}

/// The verdict about each line, before lines are measured together.
pub(super) fn verdicts(phases: &Phases<'_>, lines: &[Line]) -> Vec<LineVerdict> {
    (0..lines.len()).map(|index| verdict(phases, index, &lines[index])).collect()
}

pub(super) fn of_verdicts(
    phases: &Phases<'_>,
    lines: &[Line],
    verdicts: &[LineVerdict],
) -> Vec<usize> {
    let ratio = |index: usize| {
        let (_, _, state) = phases.best(index)?;
        Some(state.cell.ratio.both?.value)
    };
    // Those that save CPU come before those that only lower p99.
    let key = |index: &usize| match verdicts[*index] {
        LineVerdict::Change { saves: Some(_), .. } => ratio(*index).unwrap_or(1.0),
        LineVerdict::Change { p99_falls, .. } => 2.0 - p99_falls.unwrap_or(0.0),
        _ => f64::INFINITY,
    };
    let is_change = |index: &usize| matches!(verdicts[*index], LineVerdict::Change { .. });
    let mut all: Vec<usize> = (0..lines.len()).filter(is_change).collect();
    all.sort_by(|one, other| key(one).total_cmp(&key(other)));
    first_of_each(lines, all)
}

/// The verdict about a line.
fn verdict(phases: &Phases<'_>, index: usize, line: &Line) -> LineVerdict {
    match &line.fate {
        Fate::NotTried { why } => return LineVerdict::NotTried { why: why.clone() },
        Fate::Refused { words } => return LineVerdict::Refused { words: words.clone() },
        Fate::Broke { how } => return LineVerdict::Broke { how: how.clone() },
        Fate::Tried => (),
    }
    let mut runs = [phases.confirming, Some(phases.screening)].into_iter().flatten();
    if let Some(how) = runs.find_map(|phase| phase.line_broke(index)) {
        return LineVerdict::Broke { how };
    }
    let Some((name, phase, state)) = phases.best(index) else {
        return LineVerdict::NotTried { why: "it is in no run".to_owned() };
    };
    let not_shown = |why: &str| LineVerdict::NotShown { why: Some(why.to_owned()) };
    if state.cell.perturbation.saturated {
        return match dearer(&state) {
            Some(adds) => LineVerdict::Worse { adds },
            None => not_shown("the server did not reach the rate with it"),
        };
    }
    let Some(comparison) = phase.comparison(&state) else {
        return match phase.estimates.verdict.stands() {
            true => LineVerdict::NotShown { why: None },
            false => not_shown("the run's verdicts are withheld"),
        };
    };
    // Where lines were confirmed, the others were only looked at.
    let is_only_screened = name == PhaseName::Screening && phases.confirming.is_some();
    match comparison {
        Comparison::Cheaper { .. } if is_only_screened => {
            not_shown("other lines saved more and had the time for a second measurement")
        }
        Comparison::Cheaper { by } => {
            let (scatter, latencies) = (Scatter::of(phases), latencies(phases, index));
            match scatter.risen(&latencies) {
                Some(p99_rises) => LineVerdict::CostsLatency { saves: by, p99_rises },
                None => {
                    let p99_falls = scatter.fallen(&latencies);
                    LineVerdict::Change { saves: Some(by), p99_falls }
                }
            }
        }
        Comparison::Dearer { by } => LineVerdict::Worse { adds: by },
        Comparison::Same { .. } | Comparison::Undecided => {
            match faster(phases, index).filter(|_| !may_cost(&state)) {
                Some(falls) => LineVerdict::Change { saves: None, p99_falls: Some(falls) },
                None => match comparison {
                    Comparison::Same { within } => LineVerdict::Leave { within },
                    _ => LineVerdict::NotShown { why: None },
                },
            }
        }
    }
}

/// The share by which a state is dearer than the present one, by its own interval: one that does
/// not reach the rate is in no comparison of the run.
fn dearer(state: &State<'_>) -> Option<f64> {
    let ratio = state.cell.ratio.both?;
    ratio.interval.is_some_and(|interval| interval.low > 1.0).then_some(ratio.value - 1.0)
}

/// The share by which p99 falls. The screening may have chosen the line for that, so that the
/// confirming run alone is the test.
fn faster(phases: &Phases<'_>, index: usize) -> Option<f64> {
    let confirming = phases.confirming?;
    let screened = phases.screening.latencies(&phases.screening.line(index)?)?;
    seems_fallen(&screened)?;
    let confirmed = confirming.latencies(&confirming.line(index)?)?;
    Scatter::of(phases).fallen(&[confirmed])
}

/// The latencies of a line in all runs that have it by itself.
fn latencies(phases: &Phases<'_>, index: usize) -> Vec<Pair> {
    phases.with_line(index).filter_map(|(phase, state)| phase.latencies(&state)).collect()
}

/// The share by which p99 of a state of one run is above that of the present one.
pub(super) fn risen_p99(phases: &Phases<'_>, phase: Phase<'_>, state: &State<'_>) -> Option<f64> {
    Scatter::of(phases).risen(&[phase.latencies(state)?])
}

/// Whether the CPU per request may be above the present one by more than a gain in latency is worth.
fn may_cost(state: &State<'_>) -> bool {
    let high = state.cell.ratio.both.and_then(|ratio| ratio.interval?.high);
    high.is_none_or(|high| high > CPU_FOR_LATENCY)
}
