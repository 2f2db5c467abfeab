//! The cells of a server's run: its states, and the two controls of the first.

use crate::plan::spec::{CONTROL_SUFFIX, POSITIVE_SUFFIX};
use zc_run::{Cell, HostState, Levels, Transfer};

/// Cost added by the positive control, as a share of the reference's: see
/// [`positive`](super::super::positive).
const SHARE: f64 = 0.1;

/// A cell for each state, and the first once more as the A/A control.
pub(super) fn cells<'s>(states: impl Iterator<Item = &'s HostState>) -> Vec<Cell> {
    let of = |state: &HostState, label: String, control| Cell {
        label,
        control,
        levels: Levels { state: Some(state.clone()), ..Levels::default() },
        ..Cell::with_transfer(Transfer::Server)
    };
    let mut states = states.peekable();
    let control = states.peek().map(|first| of(first, format!("{first}{CONTROL_SUFFIX}"), true));
    states.map(|state| of(state, state.to_string(), false)).chain(control).collect()
}

/// The label of the positive control of `reference`.
pub(super) fn positive_label(reference: &Cell) -> String {
    format!("{}{POSITIVE_SUFFIX}", reference.label)
}

/// The positive control: the reference, beside which a soaker's units of work are done on the
/// server's CPU. At its top speed the server keeps that CPU about busy.
pub(super) fn positive(
    reference: &Cell,
    top_requests_per_s: f64,
    body_bytes: u64,
    unit_s: f64,
) -> Cell {
    let cost_s_per_mb = 1e6 / (top_requests_per_s * body_bytes as f64);
    Cell {
        label: positive_label(reference),
        control: true,
        burn_units_per_mb: Some(SHARE * cost_s_per_mb / unit_s),
        ..reference.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_state_is_there_a_second_time_as_the_control() {
        let states: Vec<HostState> = ["off", "on"].map(|name| name.parse().unwrap()).into();
        let cells = cells(states.iter());
        let seen: Vec<(&str, bool)> =
            cells.iter().map(|cell| (cell.label.as_str(), cell.control)).collect();
        assert_eq!(seen, [("off", false), ("on", false), ("off (A/A)", true)]);
        assert_eq!(cells[2].levels, cells[0].levels);
    }

    #[test]
    fn a_tenth_of_what_a_busy_cpu_spends_on_a_megabyte_is_burned() {
        let reference = cells([HostState::a()].iter()).remove(0);
        // 100 responses of 100 kB are 10 MB per second of a CPU: 0.1 s per MB.
        let positive = positive(&reference, 100.0, 100_000, 1e-3);
        assert!((positive.burn_units_per_mb.unwrap() - 10.0).abs() < 1e-9);
        assert!(positive.is_positive_control());
    }
}
