use rand::SeedableRng as _;
use rand_pcg::Pcg64;

use super::limits::{LENGTHS, TAILS};
use super::*;
use crate::testing::normal;

/// The table of `change_point_limits`.
#[test]
#[ignore = "takes minutes"]
fn simulate_the_table() {
    for n in LENGTHS {
        let times = match n {
            0..=20 => 400_000,
            21..=50 => 300_000,
            51..=100 => 150_000,
            101..=200 => 80_000,
            _ => 40_000,
        };
        let mut random = Pcg64::seed_from_u64(n as u64);
        let mut gains: Vec<f64> = (0..times)
            .map(|_| {
                let values = (0..n).map(|_| (normal(&mut random), 1.0));
                let (sums, _) = partitions(&Series::weighted(values, 0.0), most(n).min(AT_A_TIME));
                (1..=AT_A_TIME).filter_map(|more| gain(&sums, n, 0, more)).fold(0.0, f64::max)
            })
            .collect();
        gains.sort_unstable_by(|a, b| b.total_cmp(a));
        let row: Vec<String> = TAILS
            .iter()
            .map(|tail| format!("{:.2}", gains[(tail * times as f64) as usize]))
            .collect();
        println!("    [{}],", row.join(", "));
    }
}

/// A series with a step at each of these places, noise of 1 beyond errors of `error`.
fn series(n: usize, steps: &[(usize, f64)], error: f64, random: &mut Pcg64) -> Vec<(f64, f64)> {
    let level =
        |at: usize| steps.iter().filter(|step| step.0 <= at).map(|step| step.1).sum::<f64>();
    (0..n).map(|at| (level(at) + normal(random) + error * normal(random), error)).collect()
}

#[test]
fn a_series_without_a_change_has_one_as_rarely_as_it_says() {
    let mut random = Pcg64::seed_from_u64(1);
    for (n, error, alarm, times) in [
        (5, 0.0, 0.05, 4000),
        (9, 0.0, 0.05, 4000),
        (17, 1.0, 0.05, 4000),
        (40, 0.5, 0.05, 1000),
        (40, 0.0, 0.01, 2000),
        (130, 0.3, 0.05, 200),
    ] {
        let found = (0..times)
            .filter(|_| {
                let values = series(n, &[], error, &mut random);
                !change_points(&values, alarm, 0.95).unwrap().changes.is_empty()
            })
            .count();
        let share = found as f64 / times as f64;
        println!("{n} values, errors {error}: {share:.4} of {alarm}");
        let scatter = 3.0 * (alarm / times as f64).sqrt();
        assert!(
            share < 1.1 * alarm + scatter && share > 0.5 * alarm - scatter,
            "{share} of {alarm}"
        );
    }
}

#[test]
fn errors_that_differ_from_value_to_value_do_not_raise_the_alarm() {
    let mut random = Pcg64::seed_from_u64(2);
    for scatter in [0.0, 1.0] {
        let found = (0..3000)
            .filter(|_| {
                let error_of = |at: usize| {
                    if at.is_multiple_of(5) { 2.0 } else { 0.5 + 0.1 * (at % 3) as f64 }
                };
                let values: Vec<(f64, f64)> = (0..25)
                    .map(|at| {
                        (
                            scatter * normal(&mut random) + error_of(at) * normal(&mut random),
                            error_of(at),
                        )
                    })
                    .collect();
                !change_points(&values, 0.05, 0.95).unwrap().changes.is_empty()
            })
            .count();
        println!("scatter {scatter}: {found} of 3000");
        assert!((60..220).contains(&found), "{found} of 3000");
    }
}

/// Share of steps of this size, in units of the scatter, that is found, and the shares of these
/// whose positions and whose sizes are in their intervals.
fn power(n: usize, at: usize, step: f64, alarm: f64, times: u64) -> (f64, f64, f64) {
    let mut random = Pcg64::seed_from_u64(n as u64);
    let (mut found, mut positions, mut sizes) = (0, 0, 0);
    for _ in 0..times {
        let values = series(n, &[(at, step)], 0.5, &mut random);
        let changes = change_points(&values, alarm, 0.95).unwrap().changes;
        let Some(change) = changes.iter().min_by_key(|change| change.at.abs_diff(at)) else {
            continue;
        };
        found += 1;
        positions += u64::from((change.earliest..=change.latest).contains(&at));
        sizes += u64::from(change.low <= step && step <= change.high);
    }
    let share = |part: u64, of: u64| part as f64 / of as f64;
    (share(found, times), share(positions, found), share(sizes, found))
}

#[test]
fn steps_are_found_and_intervals_hold_position_and_size() {
    // A step of 3 % with 1 % from night to night, and errors of 0.5 %.
    for (n, at, step, least) in [
        (14, 7, 3.0, 0.4),
        (20, 10, 3.0, 0.85),
        (30, 22, 3.0, 0.89),
        (30, 15, 2.5, 0.87),
        (60, 50, 2.0, 0.7),
    ] {
        let (found, positions, sizes) = power(n, at, step, 0.05 / 12.0, 400);
        println!(
            "{step} at {at} of {n}: found {found:.3}, positions {positions:.3}, sizes {sizes:.3}"
        );
        assert!(found > least, "{found}");
        // A change that is seldom found is found where noise makes it look larger.
        let least = if found > 0.8 { 0.93 } else { 0.88 };
        assert!(positions > least, "{positions}");
        assert!((least..0.985).contains(&sizes), "{sizes}");
    }
}

#[test]
fn a_level_that_is_taken_up_again_is_two_changes() {
    let mut random = Pcg64::seed_from_u64(3);
    let values = series(40, &[(15, 4.0), (22, -4.0)], 0.0, &mut random);
    let found = change_points(&values, 0.01, 0.95).unwrap();
    let places: Vec<usize> = found.changes.iter().map(|change| change.at).collect();
    assert_eq!(places, [15, 22]);
    assert_eq!(found.levels.len(), 3);
    let (difference, low, high) = found.difference(2, 0, 0.95).unwrap();
    assert!(low < 0.0 && 0.0 < high && difference.abs() < 1.0);
    assert_eq!(found.difference(3, 0, 0.95), None);
}

#[test]
fn one_disturbed_value_is_no_change_and_a_last_one_may_be() {
    let noise = [0.3, -0.4, 0.1, 0.5, -0.2, -0.5, 0.2, 0.0, 0.4, -0.3];
    let quiet = |at: usize| (noise[at * 7 % 10], 0.1);
    let mut values: Vec<(f64, f64)> = (0..30).map(quiet).collect();
    values[12].0 = 9.0;
    assert!(change_points(&values, 0.05, 0.95).unwrap().changes.is_empty());
    let mut values: Vec<(f64, f64)> = (0..30).map(quiet).collect();
    values[29].0 = 9.0;
    let found = change_points(&values, 0.05, 0.95).unwrap();
    assert_eq!(found.changes[0].at, 29);
}

#[test]
fn scatter_is_what_errors_do_not_explain() {
    let mut random = Pcg64::seed_from_u64(4);
    let mean = |error: f64, random: &mut Pcg64| {
        let all = (0..300).map(|_| scatter(&series(40, &[(20, 5.0)], error, random)));
        all.sum::<f64>() / 300.0
    };
    for error in [0.0, 0.5, 1.0] {
        let found = mean(error, &mut random);
        assert!((0.85..1.15).contains(&found), "{found} beside {error}");
    }
    assert_eq!(scatter(&[(1.0, 3.0), (1.1, 3.0), (0.9, 3.0), (1.0, 3.0), (1.0, 3.0)]), 0.0);
}

#[test]
fn few_values_equal_values_and_nonsense_are_ordinary() {
    for n in 1..5 {
        let found = change_points(&vec![(1.0, 0.1); n], 0.05, 0.95).unwrap();
        assert_eq!((found.changes.len(), found.levels.as_slice()), (0, &[1.0][..]));
    }
    let same = change_points(&[(2.0, 0.0); 20], 0.05, 0.95).unwrap();
    assert!(same.changes.is_empty());
    // A step without any noise is a change without doubt.
    let step: Vec<(f64, f64)> = (0..20).map(|at| (f64::from(at / 10), 0.0)).collect();
    let change = change_points(&step, 0.05, 0.95).unwrap().changes[0];
    assert_eq!((change.at, change.earliest, change.latest), (10, 10, 10));
    assert!((change.low - 1.0).abs() < 1e-6 && (change.high - 1.0).abs() < 1e-6, "{change:?}");
    assert_eq!(change_points(&[], 0.05, 0.95), None);
    assert_eq!(change_points(&[(f64::NAN, 1.0); 9], 0.05, 0.95), None);
    assert_eq!(change_points(&[(1.0, 1.0); 9], 0.0, 0.95), None);
    assert_eq!(change_points(&[(1.0, 1.0); 9], 0.05, 1.0), None);
}

#[test]
fn values_that_follow_their_neighbours_raise_fewer_alarms_than_without_a_look_at_it() {
    // Autocorrelation 0.4: with the limit for independent values it would be 44 %.
    let mut random = Pcg64::seed_from_u64(7);
    let found = (0..400)
        .filter(|_| {
            let mut value = normal(&mut random);
            let values: Vec<(f64, f64)> = (0..40)
                .map(|_| {
                    value = 0.4 * value + 0.84_f64.sqrt() * normal(&mut random);
                    (value, 0.0)
                })
                .collect();
            !change_points(&values, 0.05, 0.95).unwrap().changes.is_empty()
        })
        .count();
    println!("{found} of 400");
    assert!(found < 110, "{found} of 400");
}
