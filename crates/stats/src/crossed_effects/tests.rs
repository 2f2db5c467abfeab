use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use super::*;
use crate::testing::{DYESTUFF, normal};

/// Values of units in levels, each with partners in turn.
#[derive(Clone, Copy)]
struct World {
    levels: usize,
    units_of_level: usize,
    values_of_unit: usize,
    /// Standard deviations of units, partners, sessions, errors.
    by: [f64; 4],
    with_partners: bool,
}

impl World {
    fn draw(&self, seed: u64) -> Vec<Crossed> {
        let mut random = Pcg64::seed_from_u64(seed);
        let units = self.levels * self.units_of_level;
        let effects = |random: &mut Pcg64, by: f64| -> Vec<f64> {
            (0..units).map(|_| by * normal(random)).collect()
        };
        let (own, far) = (effects(&mut random, self.by[0]), effects(&mut random, self.by[1]));
        let mut values = Vec::new();
        for (unit, of_unit) in own.iter().enumerate() {
            for turn in 0..self.values_of_unit {
                // Partners at several distances around a circle.
                let partner = (unit + 1 + turn * (turn + 3) / 2) % units;
                let error = self.by[3] * (0.5 + random.random::<f64>());
                let value = of_unit
                    + if self.with_partners { far[partner] } else { 0.0 }
                    + self.by[2] * normal(&mut random)
                    + error * normal(&mut random);
                let partner = self.with_partners.then_some(partner);
                values.push(Crossed { value, error, level: unit % self.levels, unit, partner });
            }
        }
        values
    }
}

/// REML of a small design by brute force: the likelihood from the dense covariance.
fn ln_likelihood(values: &[Crossed], variances: [f64; 3]) -> f64 {
    let n = values.len();
    let levels = values.iter().map(|each| each.level).max().unwrap() + 1;
    let covariance = |i: usize, j: usize| {
        let (a, b) = (values[i], values[j]);
        let mut sum = 0.0;
        sum += if a.unit == b.unit { variances[0] } else { 0.0 };
        sum += if a.partner.is_some() && a.partner == b.partner { variances[1] } else { 0.0 };
        sum + if i == j { variances[2] + a.error.powi(2) } else { 0.0 }
    };
    let mut matrix = crate::dense::Symmetric::zeros(n);
    for i in 0..n {
        for j in 0..=i {
            matrix.add(i, j, covariance(i, j));
        }
    }
    let factor = matrix.cholesky().unwrap();
    let solved = |column: Vec<f64>| {
        let mut column = column;
        factor.solve(&mut column);
        column
    };
    let y: Vec<f64> = values.iter().map(|each| each.value).collect();
    let of_level = |level: usize| -> Vec<f64> {
        values.iter().map(|each| f64::from(u8::from(each.level == level))).collect()
    };
    let mut normal = crate::dense::Symmetric::zeros(levels);
    let mut right = Vec::new();
    for level in 0..levels {
        let column = solved(of_level(level));
        for other in 0..=level {
            normal.add(level, other, crate::dense::dot(&column, &of_level(other)));
        }
        right.push(crate::dense::dot(&column, &y));
    }
    let of_normal = normal.cholesky().unwrap();
    let mut means = right.clone();
    of_normal.solve(&mut means);
    let squares = crate::dense::dot(&y, &solved(y.clone())) - crate::dense::dot(&right, &means);
    -0.5 * (factor.ln_determinant() + of_normal.ln_determinant() + squares)
}

const SMALL: World = World {
    levels: 2,
    units_of_level: 5,
    values_of_unit: 4,
    by: [1.0, 0.7, 0.6, 0.4],
    with_partners: true,
};

#[test]
fn the_variances_have_the_largest_restricted_likelihood() {
    for seed in 0..20 {
        for world in [SMALL, World { by: [0.3, 0.0, 0.0, 1.0], ..SMALL }] {
            let values = world.draw(seed);
            let found = crossed_effects(&values).unwrap();
            let at = [
                found.unit_variance,
                found.partner_variance.unwrap(),
                found.session_variance.unwrap(),
            ];
            let best = ln_likelihood(&values, at);
            for each in 0..3 {
                for step in [-0.05, 0.05] {
                    let mut other = at;
                    other[each] = (other[each] * (1.0 + step)).max(0.0) + 0.002 * step.max(0.0);
                    let there = ln_likelihood(&values, other);
                    assert!(there < best + 1e-3, "{seed}: {at:?} {best}, {other:?} {there}");
                }
            }
        }
    }
}

#[test]
fn balanced_values_agree_with_the_analysis_of_variance() {
    // Box and Tiao's dyestuff, six batches of five samples: REML is the ANOVA estimate of 1764
    // between and 2451 within (Bates, "lme4", section 1.3: 42.00^2 and 49.51^2; mean 1527.5, error
    // 19.38).
    let values: Vec<Crossed> = (0..30)
        .map(|at| Crossed {
            value: DYESTUFF[at / 5][at % 5],
            error: 1e-3,
            level: 0,
            unit: at / 5,
            partner: None,
        })
        .collect();
    let found = crossed_effects(&values).unwrap();
    assert!((found.unit_variance.sqrt() - 42.00).abs() < 0.05, "{found:?}");
    assert!((found.session_variance.unwrap().sqrt() - 49.51).abs() < 0.05, "{found:?}");
    let mean = found.means[0].unwrap();
    assert!((mean.value - 1527.5).abs() < 1e-6);
    // Balanced, q is 1 and the interval that of the six means: 1527.5 +- 2.5706 x 19.38.
    assert!((mean.error().unwrap() - 19.38).abs() < 0.02, "{mean:?}");
    assert!((mean.interval(0.95).unwrap().low - 1477.7).abs() < 0.1);
    // lme4's ranef of batches A and E.
    let predicted = |unit: usize| found.units[unit].unwrap().predicted;
    assert!((predicted(0) + 17.60).abs() < 0.05 && (predicted(4) - 56.73).abs() < 0.05);
    let seen = found.units[4].unwrap().seen;
    assert!(
        (seen - (1600.0 - (1527.5 * 6.0 - 1600.0) / 5.0)).abs() < 0.2,
        "itself left out: {seen}"
    );
}

#[test]
fn an_effect_that_cannot_be_told_is_left_out() {
    let crossed = |unit, partner, value| Crossed { value, error: 0.1, level: 0, unit, partner };
    // Each unit has one partner.
    let alone: Vec<Crossed> =
        (0..12).map(|at| crossed(at / 2, Some(100 + at / 2), (at * 7 % 5) as f64)).collect();
    let found = crossed_effects(&alone).unwrap();
    assert_eq!(found.partner_variance, None);
    assert!(found.partners.iter().all(Option::is_none));
    assert!(found.session_variance.is_some());
    // Each unit has one value.
    let once: Vec<Crossed> = (0..6).map(|at| crossed(at, None, (at * 7 % 5) as f64)).collect();
    let found = crossed_effects(&once).unwrap();
    assert_eq!((found.partner_variance, found.session_variance), (None, None));
    assert!((found.unit_variance - 2.6567).abs() < 1e-3, "{found:?}");
    // One value at all.
    let one = crossed_effects(&once[..1]).unwrap();
    assert_eq!(one.means[0].unwrap().interval(0.95), None);
    assert_eq!(one.one_more(0, 0.95), None);
}

#[test]
fn nonsense_has_no_estimate_and_gaps_in_numbers_are_none() {
    let crossed = |value, error| Crossed { value, error, level: 2, unit: 3, partner: Some(1) };
    assert_eq!(crossed_effects(&[]), None);
    assert_eq!(crossed_effects(&[crossed(f64::NAN, 1.0)]), None);
    assert_eq!(crossed_effects(&[crossed(1.0, -1.0)]), None);
    let found =
        crossed_effects(&[crossed(1.0, 0.1), crossed(1.5, 0.1), crossed(1.2, 0.1)]).unwrap();
    assert_eq!(found.means.len(), 3);
    assert!(found.means[0].is_none() && found.means[2].is_some());
    assert!(found.units[0].is_none() && found.units[3].is_some());
    assert_eq!(found.covariance[0], [0.0; 3]);
    // Equal values without errors: nothing varies.
    let same = crossed_effects(&[crossed(1.0, 0.0), crossed(1.0, 0.0)]).unwrap();
    assert!(same.unit_variance < 1e-12 && same.means[2].unwrap().value == 1.0, "{same:?}");
}

/// Shares of worlds in which intervals hold the truth: of means (0), of one more unit, of units'
/// predictors by two standard errors.
fn coverage(world: World, times: u64) -> (f64, f64, f64) {
    let (mut means, mut more, mut predicted, mut of_means, mut of_predicted) = (0, 0, 0, 0, 0);
    for seed in 0..times {
        let found = crossed_effects(&world.draw(seed)).unwrap();
        let mut random = Pcg64::seed_from_u64(seed + 1_000_000);
        for level in 0..world.levels {
            let mean = found.means[level].unwrap();
            means += u64::from(mean.interval(0.95).unwrap().contains(0.0));
            let partners = if world.with_partners { world.by[1] } else { 0.0 };
            let next = world.by[0] * normal(&mut random)
                + partners * normal(&mut random)
                + world.by[2] * normal(&mut random);
            more += u64::from(found.one_more(level, 0.95).unwrap().contains(next));
            of_means += 1;
        }
        for unit in found.units.iter().flatten() {
            of_predicted += 1;
            // Units that are like the others: how often their effect is within its error.
            predicted += u64::from(unit.seen.abs() < 1.96 * unit.variance.sqrt());
        }
    }
    let share = |part: u64, all: u64| part as f64 / all as f64;
    (share(means, of_means), share(more, of_means), share(predicted, of_predicted))
}

#[test]
fn intervals_hold_as_often_as_they_say() {
    let base = World {
        levels: 3,
        units_of_level: 8,
        values_of_unit: 4,
        by: [0.03, 0.01, 0.015, 0.01],
        with_partners: true,
    };
    for (world, times) in [
        (base, 400),
        (World { by: [0.03, 0.0, 0.015, 0.01], ..base }, 400),
        (World { by: [0.0, 0.02, 0.01, 0.02], ..base }, 400),
        (World { with_partners: false, ..base }, 600),
        (World { levels: 1, units_of_level: 4, values_of_unit: 3, ..base }, 900),
        (World { levels: 1, units_of_level: 25, ..base }, 400),
    ] {
        let (means, more, predicted) = coverage(world, times);
        println!(
            "{:?} {} units: means {means:.4}, one more {more:.4}, seen {predicted:.4}",
            world.by, world.units_of_level
        );
        assert!((0.92..0.985).contains(&means), "{means}");
        assert!((0.92..0.985).contains(&more), "{more}");
    }
}

#[test]
fn levels_that_units_go_through_have_differences_net_of_units() {
    // Nights: units are measured in some of them, and differ by ten times the noise.
    let mut random = Pcg64::seed_from_u64(5);
    let mut values = Vec::new();
    for unit in 0..10 {
        let own = normal(&mut random);
        for level in 0..6 {
            if (unit + level) % 3 != 0 {
                let value = own + level as f64 + 0.05 * normal(&mut random);
                values.push(Crossed { value, error: 0.05, level, unit, partner: None });
            }
        }
    }
    let found = crossed_effects(&values).unwrap();
    for level in 1..6 {
        let (difference, error) = found.difference(level, level - 1).unwrap();
        assert!((difference - 1.0).abs() < 4.0 * error, "{difference} +- {error}");
        assert!((0.01..0.06).contains(&error), "{error}");
    }
}

/// Prints how long large designs take; docs/performance.md has the figures.
#[test]
#[ignore = "takes half a minute"]
fn time_of_large_designs() {
    for (units, values) in [(200, 50), (500, 20), (1000, 10), (2000, 5)] {
        let world = World {
            levels: 4,
            units_of_level: units / 4,
            values_of_unit: values,
            by: [0.03, 0.01, 0.015, 0.01],
            with_partners: true,
        };
        let drawn = world.draw(1);
        let began = std::time::Instant::now();
        let found = crossed_effects(&drawn).unwrap();
        let took = began.elapsed();
        println!("{units} units, {} values: {took:?}, {:?}", drawn.len(), found.means[0]);
    }
}
