//! Properties that hold for any sample: equivariance, consistency of intervals and p-values, no
//! panics.

use proptest::prelude::*;
use zc_stats::{
    Interval, bca_interval, hodges_lehmann, hodges_lehmann_shift, huber_location, mad,
    mann_whitney_interval, mann_whitney_p_value, median, median_interval, quantile, welch_interval,
    wilcoxon_interval, wilcoxon_min_n, wilcoxon_p_value,
};

/// Multiples of 1/64: shifting and doubling are exact, ties are frequent, and results can be
/// compared for equality.
fn number() -> impl Strategy<Value = f64> {
    (-6400i32..6400).prop_map(|value| f64::from(value) / 64.0)
}

fn sample(n: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(number(), n)
}

fn shifted(values: &[f64], by: f64) -> Vec<f64> {
    values.iter().map(|value| value + by).collect()
}

fn negated(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| -value).collect()
}

fn any_float() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(0.0),
        Just(-0.0),
        Just(f64::MAX)
    ]
}

proptest! {
    #[test]
    fn order_does_not_matter(values in sample(1..40), seed in any::<u64>()) {
        let mut other = values.clone();
        let mut state = seed;
        for place in (1..other.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            other.swap(place, (state >> 33) as usize % (place + 1));
        }
        prop_assert_eq!(median(&values), median(&other));
        prop_assert_eq!(mad(&values), mad(&other));
        prop_assert_eq!(hodges_lehmann(&values), hodges_lehmann(&other));
        prop_assert_eq!(wilcoxon_interval(&values, 0.95), wilcoxon_interval(&other, 0.95));
        prop_assert_eq!(median_interval(&values, 0.95), median_interval(&other, 0.95));
        prop_assert_eq!(wilcoxon_p_value(&values), wilcoxon_p_value(&other));
    }

    #[test]
    fn a_shift_shifts_and_a_scale_scales(values in sample(1..40), by in number()) {
        let moved = shifted(&values, by);
        prop_assert_eq!(hodges_lehmann(&moved).unwrap(), hodges_lehmann(&values).unwrap() + by);
        prop_assert_eq!(median(&moved).unwrap(), median(&values).unwrap() + by);
        prop_assert_eq!(mad(&moved), mad(&values));
        for interval in [wilcoxon_interval, median_interval] {
            let (before, after) = (interval(&values, 0.9), interval(&moved, 0.9));
            let ends = |interval: Option<Interval>| interval.map(|i| (i.low, i.high));
            prop_assert_eq!(before.map(|i| (i.low + by, i.high + by)), ends(after));
            let doubled: Vec<f64> = values.iter().map(|value| value * 2.0).collect();
            let after = interval(&doubled, 0.9);
            prop_assert_eq!(before.map(|i| (i.low * 2.0, i.high * 2.0)), ends(after));
            let after = interval(&negated(&values), 0.9);
            prop_assert_eq!(before.map(|i| (-i.high, -i.low)), ends(after));
        }
    }

    #[test]
    fn an_interval_contains_its_estimate_and_grows_with_its_confidence(values in sample(1..60)) {
        for (interval, estimate) in [
            (wilcoxon_interval as fn(&[f64], f64) -> _, hodges_lehmann(&values).unwrap()),
            (median_interval, median(&values).unwrap()),
        ] {
            let mut inner: Option<Interval> = None;
            for confidence in [0.5, 0.8, 0.9, 0.95, 0.99, 0.999] {
                let Some(outer) = interval(&values, confidence) else {
                    prop_assert!(values.len() < 11, "11 values are enough for 99.9 %");
                    break;
                };
                prop_assert!(outer.contains(estimate));
                prop_assert!(outer.achieved_confidence >= confidence - 1e-9);
                if let Some(inner) = inner {
                    prop_assert!(outer.low <= inner.low && inner.high <= outer.high);
                }
                inner = Some(outer);
            }
        }
    }

    #[test]
    fn a_p_value_is_the_alpha_at_which_the_interval_excludes_zero(
        values in sample(6..60),
        confidence in 0.5..0.999f64,
    ) {
        let p = wilcoxon_p_value(&values).unwrap();
        prop_assume!((p - (1.0 - confidence)).abs() > 1e-9);
        let interval = wilcoxon_interval(&values, confidence);
        prop_assert_eq!(interval.is_some(), values.len() >= wilcoxon_min_n(confidence).unwrap());
        if let Some(interval) = interval {
            let expected = p > 1.0 - confidence;
            prop_assert_eq!(interval.contains(0.0), expected, "p = {}, {:?}", p, interval);
        }
    }

    #[test]
    fn two_samples_are_equivariant_and_consistent(
        first in sample(1..30),
        second in sample(1..30),
        by in number(),
    ) {
        let shift = hodges_lehmann_shift(&first, &second).unwrap();
        prop_assert_eq!(hodges_lehmann_shift(&shifted(&first, by), &second).unwrap(), shift + by);
        prop_assert_eq!(hodges_lehmann_shift(&second, &first).unwrap(), -shift);
        let p = mann_whitney_p_value(&first, &second);
        prop_assert_eq!(p, mann_whitney_p_value(&second, &first));
        if let Some(interval) = mann_whitney_interval(&first, &second, 0.95) {
            prop_assert!(interval.contains(shift));
            prop_assert!(interval.achieved_confidence >= 0.95 - 1e-9);
            let p = p.unwrap();
            prop_assert_eq!(interval.contains(0.0), p > 0.05, "p = {}", p);
        } else {
            prop_assert!(first.len().min(second.len()) < 4, "four and four are enough for 95 %");
        }
        let all: Vec<f64> = first.iter().flat_map(|a| second.iter().map(move |b| a - b)).collect();
        prop_assert_eq!(median(&all), Some(shift));
    }

    #[test]
    fn welch_contains_the_difference_and_is_antisymmetric(
        first in sample(2..30),
        second in sample(2..30),
    ) {
        if let Some(welch) = welch_interval(&first, &second, 0.95) {
            prop_assert!(welch.interval.contains(welch.difference));
            let least = first.len().min(second.len()) as f64 - 1.0;
            let most = (first.len() + second.len()) as f64 - 2.0;
            prop_assert!(welch.degrees_of_freedom >= least - 1e-6);
            prop_assert!(welch.degrees_of_freedom <= most + 1e-6);
            let other = welch_interval(&second, &first, 0.95).unwrap();
            prop_assert!((welch.interval.low + other.interval.high).abs() < 1e-9);
        } else {
            let constant = |values: &[f64]| values.iter().all(|value| *value == values[0]);
            prop_assert!(constant(&first) && constant(&second));
        }
    }

    #[test]
    fn quantiles_rise(values in sample(1..40), p in 0.0..1.0f64, q in 0.0..1.0f64) {
        let at = |p| quantile(&values, p).unwrap();
        prop_assert!(at(p.min(q)) <= at(p.max(q)) + 1e-12);
        prop_assert_eq!(at(0.0), values.iter().copied().reduce(f64::min).unwrap());
    }

    #[test]
    fn bca_stays_within_the_range_of_the_statistic(values in sample(3..20), seed in any::<u64>()) {
        let mean = |drawn: &[usize]| {
            Some(drawn.iter().map(|i| values[*i]).sum::<f64>() / drawn.len() as f64)
        };
        let interval = bca_interval(values.len(), mean, 0.95, 200, seed).unwrap();
        prop_assert!(interval.low <= interval.high);
        prop_assert!(interval.low >= quantile(&values, 0.0).unwrap() - 1e-9);
        prop_assert!(interval.high <= quantile(&values, 1.0).unwrap() + 1e-9);
    }

    #[test]
    fn no_floats_make_anything_panic_or_nan(
        values in prop::collection::vec(any_float(), 0..30),
        others in prop::collection::vec(any_float(), 0..30),
        confidence in any_float(),
        p in any_float(),
    ) {
        let fine = |value: Option<f64>| value.is_none_or(|value| !value.is_nan());
        let intact = |interval: Option<Interval>| interval.is_none_or(|i| i.low <= i.high);
        prop_assert!(fine(median(&values)));
        prop_assert!(fine(quantile(&values, p)));
        let _ = mad(&values);
        prop_assert!(fine(hodges_lehmann(&values)));
        prop_assert!(fine(huber_location(&values, p)));
        prop_assert!(fine(wilcoxon_p_value(&values)));
        prop_assert!(fine(hodges_lehmann_shift(&values, &others)));
        for confidence in [confidence, 0.95] {
            prop_assert!(intact(wilcoxon_interval(&values, confidence)));
            prop_assert!(intact(median_interval(&values, confidence)));
            prop_assert!(intact(mann_whitney_interval(&values, &others, confidence)));
            let _ = welch_interval(&values, &others, confidence);
            let sum = |drawn: &[usize]| Some(drawn.iter().map(|i| values[*i]).sum::<f64>());
            let _ = bca_interval(values.len(), sum, confidence, 20, 1);
        }
    }
}
