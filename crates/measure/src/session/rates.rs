//! The rate at which costs are measured: one that the slowest path can well hold, found from what all of them can do at most.

use std::collections::HashMap;

use crate::plan::spec::{Cells, Rates};
use crate::trial::Rig;
use zc_run::{Cell, Factor, Result, SupportRow, Unavailable};

use super::RunOptions;
use super::prepare::{Steps, cannot_run, to_try};

/// The rates that zc chooses from: few and far apart, so that runs on one machine have the same rate and compare.
const RATES: [f64; 9] = [1600e6, 800e6, 400e6, 200e6, 100e6, 50e6, 20e6, 10e6, 5e6];

/// How often every path's top speed is measured before the rate is chosen. The best of them counts: what takes a window away,
/// or is slow only at first, makes a path slower and never faster.
const TOP_SPEED_ROUNDS: usize = 3;

/// But no more rounds are begun when so much of the budget is spent: a plan of many cells needs it for its blocks.
const TOP_SPEED_SHARE: f64 = 0.15;

/// A chosen rate is at most this share of the slowest path's top speed: at saturation soakers change the workload. A cost is known
/// the better the more of it there is in a window (at 400 MB/s intervals were a third wider than at 800 MB/s), so no less
/// than needed.
const RATE_SHARE: f64 = 0.6;

/// The highest rate that is ever chosen.
pub(super) const HIGHEST: f64 = RATES[0];

/// What a cell can do at most: its label, and bytes a second.
pub(super) type TopSpeed = (String, f64);

/// Measures every cell's top speed, in the plan's order. One that has none is no cell any more, and a row with its reason.
///
/// # Errors
/// It is the reference that has none, or the run is to end.
pub(super) fn top_speeds(
    rig: &mut Rig,
    cells: &mut Cells,
    steps: &mut Steps,
) -> Result<(Vec<TopSpeed>, Vec<SupportRow>)> {
    let mut best: HashMap<String, f64> = HashMap::new();
    let mut why_none: HashMap<String, String> = HashMap::new();
    for round in 0..TOP_SPEED_ROUNDS {
        if round > 0 && steps.budget.spent_share() > TOP_SPEED_SHARE {
            break;
        }
        for cell in to_try(&cells.cells) {
            steps.enter(cell, "top speed of")?;
            match rig.top_speed(cell) {
                Ok(speed) => {
                    let best = best.entry(cell.label.clone()).or_default();
                    *best = best.max(speed);
                }
                Err(error) if error.kind.ends_a_run() => return Err(error),
                Err(error) => {
                    why_none.insert(cell.label.clone(), error.message);
                }
            }
        }
    }
    // A rate that a cell without a top speed could hold would be none.
    let has_none =
        |cell: &Cell| !cell.control && best.get(&cell.label).is_none_or(|best| *best == 0.0);
    let mut broken = Vec::new();
    for cell in cells.cells.extract_if(.., |cell| has_none(cell)) {
        let why = why_none.remove(&cell.label);
        let why = why.unwrap_or_else(|| {
            "nothing arrived in the windows in which its top speed was measured".to_owned()
        });
        broken.push(cannot_run(cell.label, &cells.reference, Unavailable::failed(why))?);
    }
    let found =
        cells.cells.iter().filter_map(|cell| Some((cell.label.clone(), *best.get(&cell.label)?)));
    Ok((found.collect(), broken))
}

/// Takes a rate that the slowest can well hold, of all cells or of those that are compared with one another, where the user gave none.
pub(super) fn choose(rig: &mut Rig, cells: &mut Cells, speeds: &[TopSpeed], options: &RunOptions) {
    if options.held.rate_bytes_per_s.is_some() || options.plan.levels(Factor::Rate).is_some() {
        return;
    }
    let Cells { cells, reference } = cells;
    let compared_with = |cell: &Cell| cell.by.clone().unwrap_or_else(|| reference.clone());
    // By what those that share a rate are compared with.
    let mut slowest: HashMap<String, f64> = HashMap::new();
    for cell in cells.iter() {
        let speed = speeds.iter().find(|(label, _)| *label == cell.label).map(|(_, speed)| *speed);
        let slowest = slowest.entry(compared_with(cell)).or_insert(f64::INFINITY);
        *slowest = slowest.min(speed.unwrap_or(f64::INFINITY));
    }
    match options.plan.rates {
        Rates::One => {
            rig.set_rate(fitting(slowest.values().copied().fold(f64::INFINITY, f64::min)), true)
        }
        Rates::ByLevel => {
            for cell in cells {
                let rate = fitting(slowest[&compared_with(cell)]);
                if cell.label == *reference {
                    rig.set_rate(rate, true);
                }
                cell.levels.rate_bytes_per_s = Some(rate);
            }
        }
    }
}

/// The highest of the rates that leaves the slowest cell its room.
fn fitting(slowest_bytes_per_s: f64) -> f64 {
    let most = slowest_bytes_per_s * RATE_SHARE;
    RATES.into_iter().find(|rate| *rate <= most).unwrap_or(most)
}
