//! Which lines of the screening are measured again, by themselves.
//!
//! The choice need not be right: it decides only what the confirming run spends its time on. It is
//! generous to lines of which the screening could not tell, and holds back those that could not
//! matter.

use super::latency::seems_fallen;
use super::line::{Fate, Line, first_of_each};
use super::phase::{Phase, State};

/// Most lines that go on: the confirming run's time is shared among them.
pub const MOST_PROMISING: usize = 6;

/// A line of which the screening cannot tell goes on if its interval reaches down to this ratio ...
const REACHES: f64 = 0.98;

/// ... and its estimate is below this one.
const ESTIMATE: f64 = 0.99;

/// The indices of the lines that go on, the cheapest first and then those that only change p99: at
/// most [`MOST_PROMISING`], and of lines that set the same only the better one.
pub fn promising(screening: Phase<'_>, lines: &[Line]) -> Vec<usize> {
    let mut cheaper: Vec<(f64, usize)> = Vec::new();
    let mut faster: Vec<(f64, usize)> = Vec::new();
    for (index, state) in screening.lines() {
        let is_tried = lines.get(index).is_some_and(|line| line.fate == Fate::Tried);
        let has_broken = screening.broke(&state.cell.label).is_some();
        if !is_tried || has_broken || state.cell.perturbation.saturated {
            continue;
        }
        let falls = screening.latencies(&state).and_then(|run| seems_fallen(&run));
        if let Some(ratio) = cheaper_ratio(&state) {
            cheaper.push((ratio, index));
        } else if let Some(falls) = falls {
            faster.push((-falls, index));
        }
    }
    // Stable, so that of equal ones the first in the table comes first.
    cheaper.sort_by(|one, other| one.0.total_cmp(&other.0));
    faster.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut chosen =
        first_of_each(lines, cheaper.into_iter().chain(faster).map(|(_, index)| index));
    chosen.truncate(MOST_PROMISING);
    chosen
}

/// The ratio of a state that may cost less than the present one.
fn cheaper_ratio(state: &State<'_>) -> Option<f64> {
    let ratio = state.cell.ratio.both?;
    let interval = ratio.interval?;
    let is_below = interval.high.is_some_and(|high| high < 1.0);
    let may_be = interval.low <= REACHES && ratio.value < ESTIMATE;
    (is_below || may_be).then_some(ratio.value)
}
