//! How much less a series of values knows than as many independent ones.
//!
//! Values that follow one another are alike when something slow moves them all. The variance of their mean is then larger
//! than s^2/n, by the factor 1 + 2 (r1 + r2 + ...) of their autocorrelations. The sum is cut off where Geyer's initial positive
//! sequence ends (Statistical Science 7, 1992): at the first pair of neighbouring lags whose sum is not above 0, and no pair
//! counts for more than the one before it.

use crate::sorted;

/// By what the variance of a centre of these values, in the order in which they came, is larger than if they were independent.
/// At least 1, at most a third of their number. From their ranks, so that one wild value does not hide what the others have in
/// common. 1 for fewer than eight values, which cannot tell. `None` when one is not finite.
pub fn correlation_inflation(values: &[f64]) -> Option<f64> {
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

/// Ranks less their mean; equal values share theirs.
fn centred_ranks(values: &[f64]) -> Option<Vec<f64>> {
    let sorted = sorted(values)?;
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let rank = |value: &f64| {
        let below = sorted.partition_point(|other| other < value);
        let upto = sorted.partition_point(|other| other <= value);
        (below + upto) as f64 / 2.0 - 0.5 - middle
    };
    Some(values.iter().map(rank).collect())
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_pcg::Pcg64;

    use super::*;

    /// An autoregressive series: each value is `memory` of the one before it, and noise.
    fn series(memory: f64, n: usize, seed: u64) -> Vec<f64> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut noise = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let mut last = 0.0;
        (0..n)
            .map(|_| {
                last = memory * last + noise();
                last
            })
            .collect()
    }

    fn mean_inflation(memory: f64, n: usize) -> f64 {
        (0..200).map(|seed| correlation_inflation(&series(memory, n, seed)).unwrap()).sum::<f64>() / 200.0
    }

    #[test]
    fn independent_values_are_hardly_inflated() {
        assert!((1.0..1.35).contains(&mean_inflation(0.0, 100)), "{}", mean_inflation(0.0, 100));
    }

    #[test]
    fn an_autoregressive_series_is_inflated_as_theory_has_it() {
        // (1 + 0.6) / (1 - 0.6) = 4; ranks are a little less alike than values are, and a short series cannot show all of it.
        assert!((3.2..4.8).contains(&mean_inflation(0.6, 400)), "{}", mean_inflation(0.6, 400));
        assert!(mean_inflation(0.6, 100) > 2.8);
    }

    #[test]
    fn one_wild_value_hides_nothing() {
        let mut values = series(0.6, 400, 3);
        let before = correlation_inflation(&values).unwrap();
        values[200] = 1e9;
        let after = correlation_inflation(&values).unwrap();
        assert!((after / before - 1.0).abs() < 0.3, "{before} {after}");
    }

    #[test]
    fn what_cannot_be_told_is_one_or_none() {
        assert_eq!(correlation_inflation(&[]), Some(1.0));
        assert_eq!(correlation_inflation(&[1.0; 50]), Some(1.0));
        assert_eq!(correlation_inflation(&[1.0, f64::NAN]), None);
        let climbing: Vec<f64> = (0..60).map(f64::from).collect();
        assert_eq!(correlation_inflation(&climbing), Some(20.0));
    }
}
