//! The rate at which a server's states are measured.

use std::collections::BTreeMap;

use super::super::steps::Steps;
use crate::trial::{Bench as _, ServerRig};
use zc_run::{Cell, Error, Result};

/// Measurements of every state's top speed. The best counts: a disturbed window makes a server
/// slower, never faster.
const ROUNDS: usize = 3;

/// A chosen rate is at most this share of the slowest state's top speed. Near saturation requests
/// wait for each other, and soakers change the workload.
const SHARE: f64 = 0.5;

/// A chosen rate is one of these times a power of ten: runs of one machine should have the same rate,
/// and be comparable.
const STEPS: [f64; 8] = [8.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.5, 1.0];

/// The top speed of every state in requests per second, by the cell's label.
pub(super) fn top_speeds(
    rig: &mut ServerRig,
    cells: &[Cell],
    steps: &mut Steps<'_>,
) -> Result<BTreeMap<String, f64>> {
    let mut best = BTreeMap::<String, f64>::new();
    for cell in (0..ROUNDS).flat_map(|_| cells.iter().filter(|cell| !cell.control)) {
        steps.enter(cell, "top speed of")?;
        // Of a server that is gone, the failures of its last requests say little.
        let speed = match rig.top_speed(cell) {
            Err(error) if !error.kind.ends_a_run() => return rig.begin_block(0).and(Err(error)),
            speed => speed?,
        };
        let best = best.entry(cell.label.clone()).or_default();
        *best = best.max(speed);
    }
    Ok(best)
}

/// The highest of the rates that leaves the slowest state enough headroom.
///
/// # Errors
/// Nothing was answered in the windows in which the top speed was measured.
pub(super) fn choose(top_speeds: &BTreeMap<String, f64>) -> Result<f64> {
    let slowest = top_speeds.values().copied().fold(f64::INFINITY, f64::min);
    if !(slowest.is_finite() && slowest > 0.0) {
        return Err(Error::failed(
            "the server answered no request in the windows in which its top speed was measured",
        )
        .help("--window 500ms makes them longer"));
    }
    let most = slowest * SHARE;
    let digit = 10_f64.powf((most.log10()).floor());
    let times = STEPS.into_iter().find(|times| times * digit <= most).unwrap_or(1.0);
    Ok(times * digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(speeds: &[f64]) -> Result<f64> {
        choose(&speeds.iter().enumerate().map(|(at, speed)| (at.to_string(), *speed)).collect())
    }

    #[test]
    fn the_rate_is_a_round_number_below_half_of_the_slowest_state() {
        for (speeds, rate) in [
            (&[9_000.0, 4_100.0][..], 2_000.0),
            (&[10_100.0], 5_000.0),
            (&[2_000.0], 1_000.0),
            (&[30.0], 15.0),
            (&[1.9], 0.8),
        ] {
            let chosen = chosen(speeds).unwrap();
            assert!((chosen - rate).abs() < 1e-9, "{speeds:?}: {chosen}");
        }
    }

    #[test]
    fn a_server_that_answers_nothing_has_no_rate() {
        assert!(chosen(&[100.0, 0.0]).unwrap_err().message.contains("answered no request"));
        assert!(chosen(&[]).is_err());
    }
}
