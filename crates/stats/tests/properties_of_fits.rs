//! Properties of fitted effects and of changes of level that hold for any values: equivariance,
//! finite results, no panics.

use proptest::prelude::*;
use zc_stats::{
    Classed, Crossed, blocked_anova, change_points, crossed_effects, false_discovery_q_values,
    robust_deviation,
};

fn any_float() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -100.0..100.0f64,
        1 => any::<f64>(),
        1 => Just(f64::INFINITY),
        1 => Just(0.0),
        1 => Just(f64::MAX),
        1 => Just(f64::MIN_POSITIVE),
    ]
}

fn crossed(value: impl Strategy<Value = f64>) -> impl Strategy<Value = Vec<Crossed>> {
    let one = (value, 0.01..2.0f64, 0..3usize, 0..6usize, prop::option::weighted(0.95, 0..6usize));
    let one = one.prop_map(|(value, error, level, unit, partner)| Crossed {
        value,
        error,
        level,
        // Units are of one level each.
        unit: unit * 3 + level,
        partner,
    });
    prop::collection::vec(one, 1..40)
}

fn near(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-4 * (scale + a.abs() + b.abs())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn effects_move_and_grow_with_the_values(
        values in crossed(-8.0..8.0f64), by in -50.0..50.0f64, times in 0.5..4.0f64,
    ) {
        let Some(before) = crossed_effects(&values) else { return Ok(()) };
        let changed: Vec<Crossed> = values
            .iter()
            .map(|it| Crossed { value: times * it.value + by, error: times * it.error, ..*it })
            .collect();
        let after = crossed_effects(&changed).unwrap();
        for (before, after) in before.means.iter().zip(&after.means) {
            let ends = |mean: &Option<zc_stats::LevelMean>| mean.map(|mean| mean.value);
            if let (Some(before), Some(after)) = (ends(before), ends(after)) {
                prop_assert!(near(times * before + by, after, 1.0), "{before} {after}");
            }
        }
        prop_assert!(near(times.powi(2) * before.unit_variance, after.unit_variance, 1.0));
        prop_assert!(near(before.heterogeneity, after.heterogeneity, 1.0));
    }

    #[test]
    fn effects_of_any_values_are_finite_or_none(
        values in crossed(any_float()),
        scale in any_float(),
    ) {
        let values: Vec<Crossed> =
            values.into_iter().map(|it| Crossed { error: it.error * scale, ..it }).collect();
        let Some(found) = crossed_effects(&values) else { return Ok(()) };
        let effects = found.units.iter().chain(&found.partners).flatten();
        for effect in effects {
            let all = [effect.predicted, effect.error, effect.seen, effect.variance];
            prop_assert!(all.iter().all(|it| !it.is_nan()), "{effect:?}");
        }
        prop_assert!((0.0..=1.0).contains(&found.heterogeneity), "{}", found.heterogeneity);
        for (level, mean) in found.means.iter().enumerate() {
            let Some(mean) = mean else { continue };
            let more = found.one_more(level, 0.95);
            for interval in [mean.interval(0.95), more].into_iter().flatten() {
                prop_assert!(interval.low <= mean.value && mean.value <= interval.high);
            }
        }
    }

    #[test]
    fn changes_move_and_grow_with_the_values(
        seed in any::<u64>(), by in -50.0..50.0f64, times in 0.5..4.0f64, step in 0.0..6.0f64,
    ) {
        let mut state = seed;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f64 / f64::from(1 << 24)
        };
        let values: Vec<(f64, f64)> =
            (0..24).map(|at| (noise() + if at > 9 { step } else { 0.0 }, 0.1)).collect();
        let changed: Vec<(f64, f64)> =
            values.iter().map(|(value, error)| (times * value + by, times * error)).collect();
        let found = |values: &[(f64, f64)]| change_points(values, 0.05, 0.95).unwrap();
        let (before, after) = (found(&values), found(&changed));
        prop_assert_eq!(before.changes.len(), after.changes.len());
        for (before, after) in before.changes.iter().zip(&after.changes) {
            prop_assert_eq!(
                (before.at, before.earliest, before.latest),
                (after.at, after.earliest, after.latest)
            );
            prop_assert!(near(times * before.low, after.low, 1.0));
            prop_assert!(near(times * before.high, after.high, 1.0));
        }
    }

    #[test]
    fn changes_of_any_values_are_in_order_or_none(
        values in prop::collection::vec((any_float(), any_float()), 1..30), alarm in 1e-6..0.5f64,
    ) {
        let Some(found) = change_points(&values, alarm, 0.95) else { return Ok(()) };
        prop_assert_eq!(found.levels.len(), found.changes.len() + 1);
        let mut last = 0;
        for change in &found.changes {
            prop_assert!(last < change.at && change.at < values.len());
            prop_assert!(change.earliest <= change.at && change.at <= change.latest);
            prop_assert!(!change.low.is_nan() && change.low <= change.high);
            last = change.at;
        }
    }

    #[test]
    fn tests_of_any_values_have_p_values(
        values in prop::collection::vec((any_float(), any_float(), 0..3usize, 0..4usize), 0..30),
    ) {
        let classed: Vec<Classed> = values
            .iter()
            .map(|(value, weight, block, class)| Classed {
                value: *value, weight: *weight, block: *block, class: *class,
            })
            .collect();
        if let Some(found) = blocked_anova(&classed) {
            prop_assert!((0.0..=1.0).contains(&found.p_value));
            prop_assert!((0.0..=1.0).contains(&found.explained));
        }
        let numbers: Vec<f64> = values.iter().map(|it| it.0).collect();
        prop_assert!(robust_deviation(&numbers).is_none_or(|it| it >= 0.0));
        let q_values = false_discovery_q_values(&numbers);
        prop_assert!(q_values.is_none_or(|all| all.iter().all(|q| (0.0..=1.0).contains(q))));
    }
}
