//! The rate at which a server's states are measured.

use std::collections::BTreeMap;

use super::super::steps::Steps;
use zc_rig::trial::Bench as _;
use zc_run::{Cell, Error, Result};
use zc_servers::ServerRig;

/// Measurements of every state's top speed. The best counts: a disturbed window makes a server
/// slower, never faster.
const ROUNDS: usize = 3;

/// A chosen rate is at most this share of the slowest state's top speed. Near saturation requests
/// wait for each other, and soakers change the workload.
const SHARE: f64 = 0.5;

/// A load generator's rates in two states may differ by this share.
const SAME_RATE: f64 = 0.05;

/// And by so many requests in a window, of which one is where it begins, and one where it ends.
const FEW_REQUESTS: f64 = 3.0;

/// A rate that zc does not choose may be this share of the slowest state's top speed.
pub(super) const MOST_SHARE: f64 = 0.85;

/// A chosen rate is one of these times a power of ten: few and far apart, so that runs of one
/// machine have the same rate, and are comparable.
const STEPS: [f64; 3] = [5.0, 2.0, 1.0];

/// The highest rate that is chosen, in requests per second. The more often a server is asked, the
/// fewer of its wake-ups find one request alone: at 20,000 per second 1k cost zc's own 22 us here,
/// and at 30,000 4k cost 17. Costs of different lengths are to differ by the length, and those of
/// two runs by the server.
const HIGHEST: f64 = 5_000.0;

/// The rate for a mix: one that the present state can well sustain. A state that cannot is reported
/// and does not lower it for all: at a low rate costs are less certain.
///
/// # Errors
/// Same as [`choose`].
pub(super) fn of_mix(present: &str, top_speeds: &BTreeMap<String, f64>) -> Result<f64> {
    let own = top_speeds.get_key_value(present).map(|(state, speed)| (state.clone(), *speed));
    choose(&own.into_iter().collect())
}

/// The top speed of every state in requests per second, by the cell's label.
pub(super) fn top_speeds(
    rig: &mut ServerRig,
    cells: &[Cell],
    steps: &mut Steps<'_>,
) -> Result<BTreeMap<String, f64>> {
    speeds_unless(rig, cells, steps, |_, error| Err(error))
}

/// Same as [`top_speeds`], but a state other than the first may fail: if it does so each time, it
/// has no speed, and its error is returned instead.
pub(super) fn top_speeds_or_errors(
    rig: &mut ServerRig,
    cells: &[Cell],
    steps: &mut Steps<'_>,
) -> Result<(BTreeMap<String, f64>, BTreeMap<String, Error>)> {
    let mut failed = BTreeMap::new();
    let first = cells.first().map(|first| &first.label);
    let speeds = speeds_unless(rig, cells, steps, |cell, error| {
        if Some(&cell.label) == first {
            return Err(error);
        }
        failed.insert(cell.label.clone(), error);
        Ok(())
    })?;
    failed.retain(|label, _| !speeds.contains_key(label));
    Ok((speeds, failed))
}

/// The top speeds. `failed` decides what becomes of a cell that fails.
fn speeds_unless(
    rig: &mut ServerRig,
    cells: &[Cell],
    steps: &mut Steps<'_>,
    mut failed: impl FnMut(&Cell, Error) -> Result<()>,
) -> Result<BTreeMap<String, f64>> {
    let mut best = BTreeMap::<String, f64>::new();
    for cell in (0..ROUNDS).flat_map(|_| cells.iter().filter(|cell| !cell.control)) {
        steps.enter(cell, "top speed of")?;
        match rig.top_speed(cell) {
            Ok(speed) => {
                let best = best.entry(cell.label.clone()).or_default();
                *best = best.max(speed);
            }
            Err(error) if error.kind.ends_a_run() => return Err(error),
            Err(error) => {
                // Of a server that is gone, the failures of its last requests say little.
                rig.begin_block(0)?;
                failed(cell, error)?;
            }
        }
    }
    Ok(best)
}

/// The rate of a load generator, in requests per second: that of the state in which it is lowest.
///
/// # Errors
/// It is not the same in all states: the generator asks as fast as the server answers. Or it is too
/// near to what the slowest state can.
pub(super) fn of_generator(
    rig: &mut ServerRig,
    cells: &[Cell],
    top_speeds: &BTreeMap<String, f64>,
    steps: &mut Steps<'_>,
) -> Result<f64> {
    let mut rates = BTreeMap::<String, Vec<f64>>::new();
    for cell in (0..ROUNDS).flat_map(|_| cells.iter().filter(|cell| !cell.control)) {
        steps.enter(cell, "the load generator's rate in")?;
        rates.entry(cell.label.clone()).or_default().push(rig.unsoaked_rate(cell)?);
    }
    let median = |(label, mut each): (String, Vec<f64>)| {
        each.sort_unstable_by(f64::total_cmp);
        (label, each[each.len() / 2])
    };
    let window_s = rig.unsoaked_window_s();
    one_rate(&rates.into_iter().map(median).collect(), window_s, top_speeds)
}

/// See [`of_generator`].
fn one_rate(
    rates: &BTreeMap<String, f64>,
    window_s: f64,
    top_speeds: &BTreeMap<String, f64>,
) -> Result<f64> {
    let by_rate = |a: &(&String, &f64), b: &(&String, &f64)| a.1.total_cmp(b.1);
    let (Some((slow, low)), Some((fast, high))) =
        (rates.iter().min_by(by_rate), rates.iter().max_by(by_rate))
    else {
        return Err(Error::failed("state-missing", "no state was asked"));
    };
    const HELP: &str = "give it a rate that every state can well sustain: wrk2 -R 2000, oha -q \
                        2000, h2load --rps 2000, hey -q 250 -c 8";
    if *low <= 0.0 || *high > *low * (1.0 + SAME_RATE) + FEW_REQUESTS / window_s {
        return Err(Error::failed("rate-not-kept", format!(
            "the load generator does not keep to one rate: {low:.0} requests per second in state \
             {slow}, {high:.0} in state {fast}"
        ))
        .help(HELP));
    }
    match top_speeds.iter().min_by(by_rate) {
        Some((slow, top)) if *low > *top * MOST_SHARE => Err(Error::failed("rate-too-high", format!(
            "the load generator's {low:.0} requests per second are too near to the {top:.0} that \
             state {slow} can: near its top speed a server's cost is another"
        ))
        .help(HELP)),
        _ => Ok(*low),
    }
}

/// Returns a rate for each length of responses, which leaves the slowest of the states of that
/// length enough headroom. `states` has each state with its length in bytes.
///
/// # Errors
/// Same as [`choose`].
pub(super) fn by_length(
    states: &[(String, u64)],
    top_speeds: &BTreeMap<String, f64>,
) -> Result<BTreeMap<u64, f64>> {
    let mut rates = BTreeMap::new();
    for (_, bytes) in states {
        let alike = states.iter().filter(|(_, other)| other == bytes);
        let speeds = alike.filter_map(|(cell, _)| Some((cell.clone(), *top_speeds.get(cell)?)));
        rates.insert(*bytes, choose(&speeds.collect())?);
    }
    Ok(rates)
}

/// The highest of the rates that leaves the slowest state enough headroom, up to [`HIGHEST`].
///
/// # Errors
/// Nothing was answered in the windows in which the top speed was measured.
pub(super) fn choose(top_speeds: &BTreeMap<String, f64>) -> Result<f64> {
    Ok(round_below(slowest(top_speeds)? * SHARE).min(HIGHEST))
}

/// The states with the top speed, in bytes per second, of the slowest of those whose responses have
/// the same length, for [`KnownRates`](super::super::earlier::KnownRates).
pub(super) fn shared(
    states: &[(String, u64)],
    top_speeds: &BTreeMap<String, f64>,
) -> Vec<(String, f64)> {
    let slowest = |bytes: u64| {
        let alike = states.iter().filter(|(_, other)| *other == bytes);
        let speeds = alike.map(|(cell, _)| top_speeds.get(cell).copied().unwrap_or(0.0));
        speeds.fold(f64::INFINITY, f64::min) * bytes as f64
    };
    states.iter().map(|(cell, bytes)| (cell.clone(), slowest(*bytes))).collect()
}

/// The highest of the rates that is not above `most`.
pub(super) fn round_below(most: f64) -> f64 {
    let digit = 10_f64.powf((most.log10()).floor());
    let times = STEPS.into_iter().find(|times| times * digit <= most).unwrap_or(1.0);
    times * digit
}

/// The slowest of the top speeds.
///
/// # Errors
/// Same as [`choose`].
pub(super) fn slowest(top_speeds: &BTreeMap<String, f64>) -> Result<f64> {
    let slowest = top_speeds.values().copied().fold(f64::INFINITY, f64::min);
    if !(slowest.is_finite() && slowest > 0.0) {
        return Err(Error::failed(
            "server-silent",
            "the server answered no request in the windows in which its top speed was measured",
        )
        .help("--window 500ms makes them longer"));
    }
    Ok(slowest)
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
            (&[30.0], 10.0),
            (&[1.9], 0.5),
            // What servers of one machine can, in two minutes of it.
            (&[10_100.0, 19_000.0], 5_000.0),
            (&[90_000.0], 5_000.0),
        ] {
            let chosen = chosen(speeds).unwrap();
            assert!((chosen - rate).abs() < 1e-9, "{speeds:?}: {chosen}");
        }
    }

    #[test]
    fn the_rate_of_a_mix_is_that_of_the_present_state() {
        let speeds = BTreeMap::from([("present".to_owned(), 9_000.0), ("slow".to_owned(), 10.0)]);
        assert!((of_mix("present", &speeds).unwrap() - 2_000.0).abs() < 1e-9);
        assert_eq!(of_mix("gone", &speeds).unwrap_err().id, "server-silent");
    }

    #[test]
    fn a_load_generator_has_one_rate_below_what_every_state_can() {
        let of = |each: [f64; 2]| {
            BTreeMap::from([("off".to_owned(), each[0]), ("on".to_owned(), each[1])])
        };
        let rate = |rates, speeds| one_rate(&of(rates), 0.25, &of(speeds));
        let one = rate([2_000.0, 2_040.0], [5_000.0, 9_000.0]).unwrap();
        assert!((one - 2_000.0).abs() < 1e-9, "{one}");
        let closed = rate([4_900.0, 8_800.0], [5_000.0, 9_000.0]).unwrap_err();
        assert!(closed.id == "rate-not-kept" && closed.message.contains("8800"), "{closed:?}");
        let saturated = rate([4_900.0, 4_900.0], [5_000.0, 9_000.0]).unwrap_err();
        assert_eq!(saturated.id, "rate-too-high");
        assert!(saturated.message.contains("5000"), "{saturated}");
        let few = rate([96.0, 104.0], [5_000.0, 9_000.0]).unwrap();
        assert!((few - 96.0).abs() < 1e-9, "24 and 26 in a window");
        assert!(rate([0.0, 0.0], [5_000.0, 9_000.0]).is_err());
    }

    #[test]
    fn each_length_has_a_rate_of_its_own_that_both_of_its_states_can_hold() {
        let states = [("a", 64), ("b", 64), ("c", 4096), ("d", 4096)];
        let states: Vec<_> = states.map(|(name, bytes)| (name.to_owned(), bytes)).into();
        let speeds = [("a", 90_000.0), ("b", 40_000.0), ("c", 900.0), ("d", 4_100.0)];
        let speeds = speeds.map(|(name, speed)| (name.to_owned(), speed)).into();
        let rates = by_length(&states, &speeds).unwrap();
        assert_eq!(rates, BTreeMap::from([(64, 5_000.0), (4096, 200.0)]));
    }

    #[test]
    fn a_server_that_answers_nothing_has_no_rate() {
        for speeds in [&[100.0, 0.0][..], &[]] {
            assert_eq!(chosen(speeds).unwrap_err().id, "server-silent");
        }
    }
}
