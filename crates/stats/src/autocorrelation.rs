//! Autocorrelation of a series: how many independent values it is worth, and the interval of its
//! median.

use crate::interval::Interval;
use crate::order_statistics::{binomial_depth, centred_ranks, sorted};

/// Fewest values of which [`median_interval_of_series`] estimates the correlation.
const LEAST_SERIES: usize = 20;

/// The integrated autocorrelation time 1 + 2 (r_1 + r_2 + ...) of the ranks of a series.
///
/// The variance of a location estimate of the series is this many times that of as many independent
/// values; n divided by it is the effective sample size. The sum is cut off by Geyer's initial
/// positive sequence ("Practical Markov chain Monte Carlo", Statistical Science 7, 1992): at the
/// first pair of neighbouring lags whose sum is not positive, and with no pair larger than the one
/// before it.
///
/// Correlations are those of ranks, so that one outlier does not hide what the other values have in
/// common. `values` are in the order of measurement, at equal intervals.
///
/// At least 1 and at most n/3. 1 for fewer than eight values, too few to estimate it, and for a
/// constant series. `None` when a value is not finite. O(n^2) at worst.
///
/// ```
/// let drifting: Vec<f64> = (0..60).map(f64::from).collect();
/// assert_eq!(zc_stats::autocorrelation_time(&drifting), Some(20.0));
/// ```
pub fn autocorrelation_time(values: &[f64]) -> Option<f64> {
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let n = values.len();
    if n < 8 {
        return Some(1.0);
    }
    let ranks = centred_ranks(values)?;
    let at = |lag: usize| ranks.iter().zip(&ranks[lag..]).map(|(a, b)| a * b).sum::<f64>();
    let variance = at(0);
    if variance <= 0.0 {
        return Some(1.0);
    }
    let mut sum = -1.0;
    let mut last = f64::INFINITY;
    for lag in (0..n / 2).step_by(2) {
        let pair = (at(lag) + at(lag + 1)) / variance;
        if pair <= 0.0 {
            break;
        }
        last = last.min(pair);
        sum += 2.0 * last;
    }
    Some(sum.clamp(1.0, n as f64 / 3.0))
}

/// [`median_interval`](crate::median_interval) of a series whose neighbours are alike, in the order
/// of measurement.
///
/// The variance of the median is [`autocorrelation_time`] times that of as many independent values.
/// So the interval reaches that much further into the order statistics: `sqrt(time)` times as many
/// ranks from the median. With independent values the time is 1 and a little, because it is
/// estimated: the interval is then some 5 % wider than need be.
///
/// Fewer than 20 values show no correlation that could be distinguished from chance: they are taken
/// for independent. `None` with fewer than [`median_min_n`](crate::median_min_n) independent values'
/// worth, and where a value is not finite. O(n^2) at worst.
///
/// ```
/// let rising: Vec<f64> = (0..60).map(f64::from).collect();
/// let scattered: Vec<f64> = (0..60).map(|n| f64::from(n * 23 % 60)).collect();
/// let interval = |values: &[f64]| zc_stats::median_interval_of_series(values, 0.95);
/// assert!(interval(&rising).is_none()); // worth three values
/// assert_eq!(interval(&scattered), zc_stats::median_interval(&scattered, 0.95));
/// ```
pub fn median_interval_of_series(values: &[f64], confidence: f64) -> Option<Interval> {
    let n = values.len();
    let time = if n < LEAST_SERIES { 1.0 } else { autocorrelation_time(values)? };
    let sorted = sorted(values)?;
    let (depth, tail) = binomial_depth(n, confidence)?;
    let ranks = (n as f64 / 2.0 - depth as f64 + 0.5) * time.sqrt();
    // The half takes part in the rounding: with a time of 1 the depth is the same.
    let depth = (n as f64 / 2.0 + 0.5 - ranks + 1e-9).floor();
    (depth >= 1.0).then(|| Interval {
        low: sorted[depth as usize - 1],
        high: sorted[n - depth as usize],
        achieved_confidence: 1.0 - 2.0 * tail,
    })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_pcg::Pcg64;

    use super::*;

    /// A first-order autoregressive series: `phi` times the value before it, plus noise.
    fn series(phi: f64, n: usize, seed: u64) -> Vec<f64> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut noise = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let mut last = 0.0;
        (0..n)
            .map(|_| {
                last = phi * last + noise();
                last
            })
            .collect()
    }

    fn mean_time(phi: f64, n: usize) -> f64 {
        (0..200).map(|seed| autocorrelation_time(&series(phi, n, seed)).unwrap()).sum::<f64>()
            / 200.0
    }

    #[test]
    fn independent_values_have_a_time_near_one() {
        assert!((1.0..1.35).contains(&mean_time(0.0, 100)), "{}", mean_time(0.0, 100));
    }

    #[test]
    fn an_autoregressive_series_has_the_time_of_theory() {
        // (1 + 0.6) / (1 - 0.6) = 4. Ranks correlate a little less than values, and a short series
        // cannot show all lags.
        assert!((3.2..4.8).contains(&mean_time(0.6, 400)), "{}", mean_time(0.6, 400));
        assert!(mean_time(0.6, 100) > 2.8);
    }

    #[test]
    fn one_outlier_does_not_hide_the_correlation() {
        let mut values = series(0.6, 400, 3);
        let before = autocorrelation_time(&values).unwrap();
        assert!(before > 2.5, "{before}");
        values[200] = 1e9;
        let after = autocorrelation_time(&values).unwrap();
        assert!((after / before - 1.0).abs() < 0.3, "{before} {after}");
    }

    #[test]
    fn short_and_constant_series_are_one_and_nan_is_none() {
        assert_eq!(autocorrelation_time(&[]), Some(1.0));
        assert_eq!(autocorrelation_time(&[1.0; 50]), Some(1.0));
        assert_eq!(autocorrelation_time(&[1.0, f64::NAN]), None);
        let climbing: Vec<f64> = (0..60).map(f64::from).collect();
        assert_eq!(autocorrelation_time(&climbing), Some(20.0));
    }
}
