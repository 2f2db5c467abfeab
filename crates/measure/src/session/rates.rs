//! Chooses the rate at which costs are measured: one that the slowest path can well sustain, found
//! from the top speeds of all paths. Paced clients have a rate of their own, and what is measured
//! in place of their top speed is whether they get it.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::earlier::{EarlierRates, KnownRates};
use super::options::RunOptions;
use super::proving::{cannot_run, to_try};
use super::steps::Steps;
use crate::plan::spec::{Cells, Rates};
use zc_rig::trial::Rig;
use zc_run::{Cell, Error, ErrorKind, Factor, Result, SupportRow, Timing, Unavailable, Warning};

/// The rates to choose from: few and far apart, and the first one such that most machines hold it
/// with room, so that runs on one machine have the same rate and are comparable.
const RATES: [f64; 8] = [800e6, 400e6, 200e6, 100e6, 50e6, 20e6, 10e6, 5e6];

/// Measurements of every path's top speed before the rate is chosen. The best counts: a disturbed
/// window or a slow start makes a path slower, never faster.
const TOP_SPEED_ROUNDS: usize = 3;

/// Once this share of the budget is spent, further rounds are only for cells in whose windows
/// nothing arrived yet: a plan of many cells needs the time for its blocks.
const TOP_SPEED_SHARE: f64 = 0.15;

/// Cells in whose windows nothing arrived are measured again until this share of the budget is
/// spent: on a machine that others use, a thread may not get a CPU for the length of a window.
const PATIENCE: f64 = 0.25;

/// A chosen rate is at most this share of the slowest path's top speed: at saturation soakers
/// change the workload. A cost is known better the more of it there is in a window (at 400 MB/s
/// intervals were a third wider than at 800 MB/s). So the rate is not lower than needed.
const RATE_SHARE: f64 = 0.6;

/// The highest rate that is chosen.
pub(super) const HIGHEST: f64 = RATES[0];

/// Bytes in a window without which its speed is that of buffers on the way, such as the bucket of a
/// shaper, which is full after a pause.
const ENOUGH_BYTES: f64 = 512.0 * 1024.0;

/// The longest window that a slow link is given for that.
const LONGEST_WINDOW_NS: u64 = 500_000_000;

const WHAT: &str = "top speed of";

/// Trials of a block that are of none of the plan's cells alone: of the harness and of the positive
/// control, and an unsoaked one.
const OF_ZC: usize = 3;

/// Label of a cell, and its top speed in bytes per second.
pub(super) type TopSpeed = (String, f64);

/// Measures every cell's top speed, in the plan's order. A cell without one is removed and becomes
/// a row with its reason. Where windows are too short for a slow link, they become longer if they
/// may.
///
/// # Errors
/// The reference has no top speed, or the run is to end: also where its budget holds no block.
pub(super) fn top_speeds(
    rig: &mut Rig,
    cells: &mut Cells,
    may_be_longer: bool,
    steps: &mut Steps,
) -> Result<(Vec<TopSpeed>, Vec<SupportRow>)> {
    let mut best: HashMap<String, f64> = HashMap::new();
    let mut why_none: HashMap<String, Error> = HashMap::new();
    let trials = cells.cells.len() + OF_ZC;
    let mut quickest = Duration::MAX;
    for round in 0.. {
        let mut is_done = true;
        for cell in to_try(&cells.cells) {
            if !is_due(round, steps.budget.spent_share(), best.get(&cell.label).copied()) {
                continue;
            }
            is_done = false;
            steps.enter(cell, WHAT)?;
            let measured = rig.top_speed(cell);
            if measured.is_err() {
                steps.goes_on(&format!("{WHAT} {}", cell.label))?;
            }
            match measured {
                Ok(speed) => {
                    quickest = quickest.min(rig.until_closed());
                    steps.budget.holds(trials, quickest)?;
                    let best = best.entry(cell.label.clone()).or_default();
                    *best = best.max(speed);
                }
                Err(error) if error.kind.ends_a_run() => return Err(error),
                Err(error) => {
                    why_none.insert(cell.label.clone(), error);
                }
            }
        }
        if is_done {
            break;
        }
        if round == 0 && may_be_longer {
            let paced = cells.cells.iter().filter(|cell| is_of_clients(rig, cell));
            let paced: HashSet<&str> = paced.map(|cell| cell.label.as_str()).collect();
            lengthen(rig, &mut best, &paced);
        }
    }
    // A cell without a top speed can sustain no rate.
    let has_none =
        |cell: &Cell| !cell.control && best.get(&cell.label).is_none_or(|best| *best == 0.0);
    let mut broken = Vec::new();
    for cell in cells.cells.extract_if(.., |cell| has_none(cell)) {
        let why = why_none.remove(&cell.label);
        broken.push(without_speed(cell.label, &cells.reference, why)?);
    }
    let found =
        cells.cells.iter().filter_map(|cell| Some((cell.label.clone(), *best.get(&cell.label)?)));
    Ok((found.collect(), broken))
}

/// Whether a cell has paced clients.
fn is_of_clients(rig: &Rig, cell: &Cell) -> bool {
    rig.fixed().at(&cell.levels).clients().is_some()
}

/// Makes unsoaked windows longer where little arrived in them. The top speeds measured for these
/// cells do not count. Cells that are `paced` do not count either: the rig gives them windows of a
/// length that suits their rate.
fn lengthen(rig: &mut Rig, best: &mut HashMap<String, f64>, paced: &HashSet<&str>) {
    let timing = rig.timing();
    let mut unpaced: Vec<&mut f64> = best
        .iter_mut()
        .filter(|(label, _)| !paced.contains(label.as_str()))
        .map(|(_, speed)| speed)
        .collect();
    let speeds = unpaced.iter().map(|speed| **speed);
    let slowest = speeds.filter(|speed| *speed > 0.0).fold(f64::INFINITY, f64::min);
    let Some(unsoaked_ns) = longer(timing.unsoaked_ns, slowest) else { return };
    for speed in unpaced.iter_mut().filter(|it| longer(timing.unsoaked_ns, ***it).is_some()) {
        **speed = 0.0;
    }
    rig.set_timing(Timing { unsoaked_ns, ..timing });
}

/// The length of a window in which a link of this speed moves [`ENOUGH_BYTES`]; `None` if it does
/// so in `window_ns`.
fn longer(window_ns: u64, bytes_per_s: f64) -> Option<u64> {
    let needed_ns = ((ENOUGH_BYTES / bytes_per_s * 1e9) as u64).min(LONGEST_WINDOW_NS);
    (needed_ns > window_ns).then_some(needed_ns)
}

/// The row of a cell that has no top speed; `why` if it failed.
///
/// # Errors
/// It is the reference. Where it got no CPU, its path is not to blame: its bytes were proven a
/// moment ago.
fn without_speed(label: String, reference: &str, why: Option<Error>) -> Result<SupportRow> {
    let (no, starved) = match why {
        Some(Error { kind, message, help, .. }) => {
            let no = Unavailable { remedy: help, ..Unavailable::failed(message) };
            (no, kind == ErrorKind::NothingKept)
        }
        None => (starved(), true),
    };
    if starved && label == reference {
        return Err(no
            .into_error("nothing-kept", "nothing can be measured now")
            .kind(ErrorKind::NothingKept));
    }
    cannot_run(label, reference, no)
}

/// Why a cell whose bytes were proven a moment ago has no top speed.
fn starved() -> Unavailable {
    Unavailable::failed(
        "no byte arrived in any window in which the top speed was measured: other programs may \
         keep the CPUs from it",
    )
    .remedy("wait for a quiet machine: --wait-until-quiet 10min")
}

/// Whether a round is for a cell whose top speed so far is `best`, if it has been measured.
fn is_due(round: usize, spent_share: f64, best: Option<f64>) -> bool {
    match best {
        Some(0.0) => round < TOP_SPEED_ROUNDS || spent_share <= PATIENCE,
        _ => round == 0 || (round < TOP_SPEED_ROUNDS && spent_share <= TOP_SPEED_SHARE),
    }
}

/// Chooses a rate that the slowest cell can well sustain, either for all cells or for those that
/// are compared with one another; or takes those of the options, or of an earlier run, which is
/// then said. Does nothing if the user gave a rate, and nothing for cells of paced clients, which
/// have their own.
pub(super) fn choose(
    rig: &mut Rig,
    cells: &mut Cells,
    speeds: &[TopSpeed],
    options: &RunOptions,
) -> Option<Warning> {
    if options.held.rate_bytes_per_s.is_some() || options.plan.levels(Factor::Rate).is_some() {
        return None;
    }
    let Cells { cells, reference } = cells;
    let compared_with = |cell: &Cell| cell.by.clone().unwrap_or_else(|| reference.clone());
    let paced: HashSet<String> = cells
        .iter()
        .filter(|cell| is_of_clients(rig, cell))
        .map(|cell| cell.label.clone())
        .collect();
    let is_free = |cell: &Cell| !paced.contains(&cell.label);
    if !cells.iter().any(is_free) {
        // The rate of the plan is that of its reference, and nobody has chosen it.
        let levels = cells.iter().find(|cell| cell.label == *reference).map(|cell| &cell.levels);
        let rate = levels.map(|levels| rig.fixed().at(levels).rate_bytes_per_s);
        if let Some(rate) = rate {
            rig.set_rate(rate, false);
        }
        return None;
    }
    // The slowest of the cells that share a rate, by the cell that they are compared with.
    let mut slowest: HashMap<String, f64> = HashMap::new();
    for cell in cells.iter().filter(|cell| is_free(cell)) {
        let speed = speeds.iter().find(|(label, _)| *label == cell.label).map(|(_, speed)| *speed);
        let slowest = slowest.entry(compared_with(cell)).or_insert(f64::INFINITY);
        *slowest = slowest.min(speed.unwrap_or(f64::INFINITY));
    }
    let slowest_of_all = slowest.values().copied().fold(f64::INFINITY, f64::min);
    let shared = |cell: &Cell| {
        let slowest = match options.plan.rates {
            Rates::One => slowest_of_all,
            Rates::ByLevel => slowest[&compared_with(cell)],
        };
        (cell.label.clone(), slowest)
    };
    let each: Vec<_> =
        cells.iter().filter(|cell| !cell.control && is_free(cell)).map(shared).collect();
    let earlier = of_a_like_speed(&options.blocks.earlier, &each);
    let KnownRates { rates, note } =
        KnownRates::choose(&options.rates, &earlier, rig.fixed().link, &each);
    let known = |label: &str| rates.get(label).copied();
    match options.plan.rates {
        Rates::One => {
            rig.set_rate(known(reference).unwrap_or_else(|| fitting(slowest_of_all)), true);
        }
        Rates::ByLevel => {
            for cell in cells.iter_mut().filter(|cell| is_free(cell)) {
                let rate =
                    known(&cell.label).unwrap_or_else(|| fitting(slowest[&compared_with(cell)]));
                if cell.label == *reference {
                    rig.set_rate(rate, true);
                }
                cell.levels.rate_bytes_per_s = Some(rate);
            }
        }
    }
    note
}

/// Largest ratio between the rate that would be chosen now and an earlier one that is kept. A link
/// that was ten times as slow then is another one.
const MOST_APART: f64 = 4.0;

/// The earlier runs whose rates are not far below what would be chosen now, from the top speed of
/// the slowest cell that shares each cell's rate.
fn of_a_like_speed(earlier: &[EarlierRates], slowest: &[(String, f64)]) -> Vec<EarlierRates> {
    let is_near = |run: &&EarlierRates| {
        slowest.iter().all(|(label, slowest)| {
            let rate = run.rates.get(label);
            rate.is_none_or(|rate| rate * MOST_APART >= fitting(*slowest))
        })
    };
    earlier.iter().filter(is_near).cloned().collect()
}

/// The highest of the rates that leaves the slowest cell enough headroom.
fn fitting(slowest_bytes_per_s: f64) -> f64 {
    let most = slowest_bytes_per_s * RATE_SHARE;
    RATES.into_iter().find(|rate| *rate <= most).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_a_link_that_was_slow_is_not_kept_over_a_fast_one() {
        let run = |rate| EarlierRates {
            file: "a.json".to_owned(),
            link: zc_run::LinkKind::Remote,
            rates: [("sendfile".to_owned(), rate)].into(),
        };
        let kept = |rate: f64, slowest| {
            !of_a_like_speed(&[run(rate)], &[("sendfile".to_owned(), slowest)]).is_empty()
        };
        assert!(!kept(722e3, 12.2e6) && kept(722e3, 1.25e6));
        assert!(kept(400e6, 9e9) && kept(800e6, 9e9) && !kept(100e6, 9e9));
    }

    #[test]
    fn when_time_is_short_only_cells_that_received_nothing_are_measured_again() {
        let late = TOP_SPEED_SHARE + 0.01;
        for best in [None, Some(0.0), Some(1e9)] {
            assert!(is_due(0, late, best) && is_due(2, TOP_SPEED_SHARE, best));
        }
        assert!(is_due(1, late, Some(0.0)));
        assert!(!is_due(1, late, Some(1e9)) && !is_due(1, late, None));
    }

    #[test]
    fn a_reference_that_got_no_cpu_is_the_machine_s_fault_and_one_that_failed_its_own() {
        let without = |label: &str, why: Option<&str>| {
            without_speed(
                label.to_owned(),
                "read+send",
                why.map(|why| Error::failed("flow-ended", why)),
            )
        };
        let starved = without("read+send", None).unwrap_err();
        assert_eq!((starved.kind, &*starved.id), (ErrorKind::NothingKept, "nothing-kept"));
        assert_eq!(
            starved.help.as_deref(),
            Some("wait for a quiet machine: --wait-until-quiet 10min")
        );
        let failed = without("read+send", Some("it was reset")).unwrap_err();
        assert_eq!(failed.kind, ErrorKind::Failed);
        assert!(failed.message.contains("it was reset"), "{failed}");
        assert_eq!(without("splice", None).unwrap().name, "splice");
        // So it is where something else had the CPU whenever the counters were read.
        let unread = Error::new(
            ErrorKind::NothingKept,
            "counters-not-simultaneous",
            "the counters could not be read",
        )
        .help("wait");
        let error = without_speed("read+send".to_owned(), "read+send", Some(unread)).unwrap_err();
        assert_eq!((error.kind, &*error.id), (ErrorKind::NothingKept, "nothing-kept"));
        assert_eq!(error.help.as_deref(), Some("wait"));
    }

    #[test]
    fn a_rate_is_the_same_wherever_the_slowest_path_holds_it_with_room() {
        let rates = [1.34e9, 2.6e9, 2.7e9, 40e9].map(fitting);
        assert!(rates.iter().all(|rate| (rate - 800e6).abs() < 1.0), "{rates:?}");
        assert!((fitting(1.3e9) - 400e6).abs() < 1.0 && (fitting(1e6) - 0.6e6).abs() < 1.0);
    }

    #[test]
    fn windows_are_longer_over_a_slow_link_up_to_half_a_second() {
        let usual = 30_000_000;
        assert_eq!(longer(usual, 1e9), None);
        assert_eq!(longer(usual, 12.5e6), Some(41_943_040));
        assert_eq!(longer(usual, 1.25e6), Some(419_430_400));
        assert_eq!(longer(usual, 1.0), Some(LONGEST_WINDOW_NS));
        assert_eq!(longer(LONGEST_WINDOW_NS, 1.0), None);
        assert_eq!(longer(usual, f64::INFINITY), None);
    }

    #[test]
    fn a_cell_that_received_nothing_is_measured_until_patience_ends() {
        assert!(is_due(99, PATIENCE, Some(0.0)) && !is_due(99, PATIENCE + 0.01, Some(0.0)));
        assert!(!is_due(TOP_SPEED_ROUNDS, 0.0, Some(1e9)) && !is_due(TOP_SPEED_ROUNDS, 0.0, None));
        assert!(is_due(TOP_SPEED_ROUNDS - 1, 0.9, Some(0.0)), "three rounds in any case");
    }
}
