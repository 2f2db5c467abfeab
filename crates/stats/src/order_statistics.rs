//! Order statistics of one sample: median, quantiles, spread, and a distribution-free interval of
//! the median.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::interval::{Interval, ROUNDING, alpha};

/// A sorted copy; `None` when it is empty or holds NaN.
pub(crate) fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

/// Ranks minus their mean; ties have their mean rank.
pub(crate) fn centred_ranks(values: &[f64]) -> Option<Vec<f64>> {
    let sorted = sorted(values)?;
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let rank = |value: &f64| {
        let below = sorted.partition_point(|other| other < value);
        let upto = sorted.partition_point(|other| other <= value);
        (below + upto) as f64 / 2.0 - 0.5 - middle
    };
    Some(values.iter().map(rank).collect())
}

/// The median; for an even number of values the mean of the middle two.
///
/// `None` for an empty slice, NaN, and when the middle two are infinities of opposite sign. O(n log
/// n).
///
/// ```
/// assert_eq!(zc_stats::median(&[3.0, 1.0, 2.0]), Some(2.0));
/// assert_eq!(zc_stats::median(&[]), None);
/// ```
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile at probability `p`, linear between order statistics.
///
/// Type 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages" (The American Statistician
/// 50, 1996): the default of R and NumPy. `None` for an empty slice, NaN, `p` outside of 0 to 1,
/// and between infinities of opposite sign. O(n log n).
///
/// ```
/// assert_eq!(zc_stats::quantile(&[1.0, 2.0, 4.0, 8.0, 16.0], 0.25), Some(2.0));
/// ```
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    sorted(values).and_then(|sorted| quantile_of_sorted(&sorted, p))
}

pub(crate) fn quantile_of_sorted(sorted: &[f64], p: f64) -> Option<f64> {
    if sorted.is_empty() || !(0.0..=1.0).contains(&p) {
        return None;
    }
    let at = p * (sorted.len() - 1) as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let weight = at - below as f64;
    // Equal neighbours are returned as they are: interpolation would round.
    if weight == 0.0 || sorted[below] == sorted[above] {
        return Some(sorted[below]);
    }
    // Infinities of opposite sign have no value between them.
    let between = sorted[below] * (1.0 - weight) + sorted[above] * weight;
    (!between.is_nan()).then_some(between)
}

/// The median absolute deviation from the median, times 1.4826.
///
/// The factor makes it a consistent estimate of sigma for normal values (Hampel, "The Influence
/// Curve and Its Role in Robust Estimation", JASA 69, 1974; R's `mad`). `None` where the median is
/// `None`, and where the centre is infinite. O(n log n).
///
/// ```
/// assert_eq!(zc_stats::mad(&[1.0, 2.0, 3.0, 4.0, 100.0]), Some(1.4826));
/// ```
pub fn mad(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    Some(1.4826 * median(&distances)?)
}

/// The order-statistics interval of the median, the one that inverts the sign test.
///
/// Exact for independent values of any continuous distribution: the number of values below the
/// median is binomial(n, 1/2) (Hahn and Meeker, "Statistical Intervals", 1991, section 5.2). `None`
/// with fewer than [`median_min_n`] values, and for NaN. O(n log n).
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let sorted = sorted(values)?;
    let (depth, tail) = binomial_depth(sorted.len(), confidence)?;
    Some(Interval {
        low: sorted[depth - 1],
        high: sorted[sorted.len() - depth],
        achieved_confidence: 1.0 - 2.0 * tail,
    })
}

/// The smallest sample for which [`median_interval`] has an interval: 6 at 95 %, 8 at 99 %.
///
/// `None` unless `confidence` is strictly between 0 and 1, and when more than 1023 values are
/// needed.
pub fn median_min_n(confidence: f64) -> Option<usize> {
    // The widest interval, from the smallest to the largest value, misses with probability 2 / 2^n.
    let alpha = alpha(confidence)?;
    (1..=1023)
        .find(|n| 2.0 * 0.5f64.powi(*n) <= alpha + ROUNDING)
        .and_then(|n| usize::try_from(n).ok())
}

/// The largest depth (1 is the extreme value) whose two tails together stay within alpha, and the
/// probability of one tail.
pub(crate) fn binomial_depth(n: usize, confidence: f64) -> Option<(usize, f64)> {
    let limit = alpha(confidence)? / 2.0 + ROUNDING;
    let below = Binomial::new(0.5, n as u64).ok()?;
    let tail = |depth: usize| below.cdf(depth as u64 - 1);
    // Bisection: depth 1 must hold, and depth n/2 + 1 would cross the middle.
    let (mut holds, mut fails) = (1, n / 2 + 1);
    if n < 2 || tail(holds) > limit {
        return None;
    }
    while fails - holds > 1 {
        let middle = usize::midpoint(holds, fails);
        if tail(middle) <= limit { holds = middle } else { fails = middle }
    }
    Some((holds, tail(holds)))
}

/// A robust standard deviation: Q_n of Rousseeuw and Croux ("Alternatives to the Median Absolute
/// Deviation", Journal of the American Statistical Association 88, 1993), the first quartile of the
/// distances between two values, or nearly, made consistent for normal values with their factors
/// for small samples.
///
/// Like the median absolute deviation it tolerates that nearly half of the values lie far off. It
/// is as efficient as the ordinary standard deviation of 82 % of the values; the median absolute
/// deviation, of 37 %.
///
/// `None` with fewer than two values and for a value that is not finite. O(n^2).
///
/// ```
/// let mut values: Vec<f64> = (0..200).map(|at| f64::from(at * 37 % 200)).collect();
/// let before = zc_stats::robust_deviation(&values).unwrap();
/// values[3] = 1e9;
/// assert!((zc_stats::robust_deviation(&values).unwrap() / before - 1.0).abs() < 0.1);
/// ```
pub fn robust_deviation(values: &[f64]) -> Option<f64> {
    let n = values.len();
    if n < 2 || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut distances: Vec<f64> = values
        .iter()
        .enumerate()
        .flat_map(|(place, a)| values[..place].iter().map(move |b| (a - b).abs()))
        .collect();
    let half = n / 2 + 1;
    let rank = half * (half - 1) / 2;
    let (_, at, _) = distances.select_nth_unstable_by(rank - 1, f64::total_cmp);
    const OF_FEW: [f64; 10] = [0.0, 0.0, 0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872];
    let count = n as f64;
    let factor = match OF_FEW.get(n) {
        Some(factor) => *factor,
        None if n % 2 == 1 => count / (count + 1.4),
        None => count / (count + 3.8),
    };
    Some(2.2219 * factor * *at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_opposite_infinities_have_no_median() {
        assert_eq!(median(&[f64::NEG_INFINITY, f64::INFINITY]), None);
        assert_eq!(median(&[f64::INFINITY, f64::INFINITY]), Some(f64::INFINITY));
    }

    #[test]
    fn quantiles_agree_with_r_type_7() {
        // R: quantile(c(1, 2, 4, 8, 16), c(.1, .25, .5, .9)) -> 1.4 2.0 4.0 12.8
        let values = [8.0, 1.0, 16.0, 2.0, 4.0];
        for (p, expected) in
            [(0.1, 1.4), (0.25, 2.0), (0.5, 4.0), (0.9, 12.8), (0.0, 1.0), (1.0, 16.0)]
        {
            assert!((quantile(&values, p).unwrap() - expected).abs() < 1e-12, "{p}");
        }
        assert_eq!(median(&[1.0, 2.0]), Some(1.5));
    }

    #[test]
    fn mad_agrees_with_r() {
        // R: mad(c(1:9)) -> 2.9652; mad(c(1, 2, 3, 4, 100)) -> 1.4826
        let one_to_nine: Vec<f64> = (1..=9).map(f64::from).collect();
        assert!((mad(&one_to_nine).unwrap() - 2.9652).abs() < 1e-12);
        assert!((mad(&[1.0, 2.0, 3.0, 4.0, 100.0]).unwrap() - 1.4826).abs() < 1e-12);
    }

    #[test]
    fn empty_samples_and_nan_are_none() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
        assert_eq!(quantile(&[1.0], 1.5), None);
        assert_eq!(quantile(&[1.0], f64::NAN), None);
        assert_eq!(mad(&[]), None);
        assert_eq!(median_interval(&[1.0; 20], 1.0), None);
        assert_eq!(median_interval(&[1.0; 20], f64::NAN), None);
    }

    #[test]
    fn depths_agree_with_tables_of_the_sign_test() {
        // R: qbinom(0.025, n, 0.5), and 1 - 2 * pbinom(depth - 1, n, 0.5): the two-sided 5 % points
        // of the sign test. The interval runs from the depth-th smallest to the depth-th largest
        // value.
        for (n, depth, confidence) in [
            (6, 1, 0.96875),
            (8, 1, 0.9922),
            (10, 2, 0.9785),
            (15, 4, 0.9648),
            (20, 6, 0.9586),
            (25, 8, 0.9567),
        ] {
            let (found, tail) = binomial_depth(n, 0.95).unwrap();
            assert_eq!(found, depth, "n = {n}");
            assert!((1.0 - 2.0 * tail - confidence).abs() < 5e-5, "n = {n}: {}", 1.0 - 2.0 * tail);
        }
        assert_eq!(binomial_depth(5, 0.95), None);
        assert_eq!(median_min_n(0.95), Some(6));
        assert_eq!(median_min_n(0.99), Some(8));
        assert!(binomial_depth(100_000, 0.95).is_some());
    }

    #[test]
    fn the_robust_deviation_of_normal_values_is_their_standard_deviation() {
        // Normal scores of n values, whose deviation is nearly 1.
        for n in [30_u32, 101, 400] {
            let scores: Vec<f64> = (0..n)
                .map(|at| crate::normal::normal_quantile((f64::from(at) + 0.5) / f64::from(n)))
                .collect();
            let found = robust_deviation(&scores).unwrap();
            assert!((found - 1.0).abs() < 0.05, "{found} of {n}");
        }
        assert_eq!(robust_deviation(&[1.0]), None);
        assert_eq!(robust_deviation(&[1.0, f64::NAN]), None);
        assert_eq!(robust_deviation(&[1.0; 9]), Some(0.0));
    }
}
