//! The location of values some of which are far off.

/// Huber's M-estimate of location: the point from which the deviations of the values, each cut off
/// at `reach`, add up to nothing (Annals of Mathematical Statistics 35, 1964). Where no value is
/// farther away than `reach`, that is the mean, also of values that take few and uneven steps, for
/// which a median or a trimmed mean is one of the steps. A value that is farther away counts as if
/// it were that far. Where all of several points fulfil it, it is the middle of them.
///
/// `None` without a value, with one that is not finite, and unless `reach` is above 0. O(n) with a
/// factor of some 100.
///
/// ```
/// let bytes = [11.0, 12.0, 13.0, 12.0, 2.0];
/// assert!((zc_stats::huber_location(&bytes, 1.0).unwrap() - 35.0 / 3.0).abs() < 1e-9);
/// assert_eq!(zc_stats::huber_location(&bytes, 100.0), Some(10.0));
/// ```
pub fn huber_location(values: &[f64], reach: f64) -> Option<f64> {
    let all_finite = values.iter().all(|value| value.is_finite());
    if values.is_empty() || !all_finite || reach.is_nan() || reach <= 0.0 {
        return None;
    }
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let pull = |at: f64| values.iter().map(|value| (value - at).clamp(-reach, reach)).sum::<f64>();
    // The pull falls as the point rises: it is above 0 below the first of the points, and below 0
    // above the last.
    let first = bisect(low, high, |at| pull(at) > 0.0);
    let last = bisect(low, high, |at| pull(at) >= 0.0);
    Some(first.midpoint(last))
}

/// The last point from `low` to `high` of which `is_below` is true, which it is up to some point.
fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = low.midpoint(high);
        if middle <= low || middle >= high {
            return middle;
        }
        if is_below(middle) { low = middle } else { high = middle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_values_have_their_mean_and_a_short_reach_their_median() {
        let values = [3.0, 1.0, 2.0, 10.0, 4.0];
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}");
        near(huber_location(&values, 8.0).unwrap(), 4.0);
        near(huber_location(&values, 1e-12).unwrap(), 3.0);
        // Every point between the two in the middle balances four values: the middle of them.
        near(huber_location(&[1.0, 2.0, 3.0, 9.0], 1e-12).unwrap(), 2.5);
        near(huber_location(&[7.0; 3], 1.0).unwrap(), 7.0);
    }

    #[test]
    fn a_value_counts_for_no_more_than_the_reach() {
        for outlier in [-5.0, -1e9, -1e300] {
            let values = [12.0, 11.0, 13.0, 12.0, outlier];
            let found = huber_location(&values, 1.0).unwrap();
            assert!((found - 35.0 / 3.0).abs() < 1e-9, "{found}");
        }
    }

    #[test]
    fn uneven_steps_have_their_mean() {
        // A window of 1.2 bursts holds two of them once in five times.
        let values = [1.0, 1.0, 2.0, 1.0, 1.0];
        assert!((huber_location(&values, 1.0).unwrap() - 1.2).abs() < 1e-9);
    }

    #[test]
    fn copper_in_flour_agrees_with_r() {
        // Data set chem of Venables and Ripley, "Modern Applied Statistics with S" (2002), section
        // 5.5, where huber(chem), 1.5 times the MAD of 0.526323, gives 3.206724.
        let parts_per_million = [
            2.90, 3.10, 3.40, 3.40, 3.70, 3.70, 2.80, 2.50, 2.40, 2.40, 2.70, 2.20, 5.28, 3.37,
            3.03, 3.03, 28.95, 3.77, 3.40, 2.20, 3.50, 3.60, 3.70, 3.70,
        ];
        let found = huber_location(&parts_per_million, 1.5 * 0.526323).unwrap();
        assert!((found - 3.206724).abs() < 1e-6, "{found}");
    }

    #[test]
    fn what_has_no_location_is_none() {
        assert_eq!(huber_location(&[], 1.0), None);
        for values in [[1.0, f64::NAN], [1.0, f64::INFINITY]] {
            assert_eq!(huber_location(&values, 1.0), None);
        }
        for reach in [0.0, -1.0, f64::NAN] {
            assert_eq!(huber_location(&[1.0], reach), None);
        }
        let extreme = huber_location(&[f64::MIN, f64::MAX, f64::MAX], f64::MAX).unwrap();
        assert!(extreme.is_finite());
    }
}
