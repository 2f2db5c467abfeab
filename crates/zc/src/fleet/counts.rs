//! Number of measurements in each state, in words.

use zc_fleet::{CellState, Count};

/// Number of measurements in each state: `3 of 4 done, 1 failed`.
pub(super) fn in_words(states: &[CellState]) -> String {
    let count = Count::from_states(states);
    let mut parts = vec![format!("{} of {} done", count.done, count.all)];
    for (number, what) in [
        (count.running, "running"),
        (count.waiting, "waiting"),
        (count.part, "in part"),
        (count.unusable, "unusable"),
        (count.failed, "failed"),
        (count.missing, "missing"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    }
    parts.join(", ")
}
