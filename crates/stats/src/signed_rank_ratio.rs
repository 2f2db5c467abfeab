//! The ratio of two paired quantities by signed ranks, where noise makes some of them negative and
//! not every pair has a log ratio.
//!
//! If the true ratio is r, then a - r b is symmetric about 0, whatever the signs of a and b. The
//! estimate is the r at which as many Walsh averages of a - r b are above 0 as below. The interval
//! holds each r that Wilcoxon's test does not reject. This is Fieller's method (Journal of the
//! Royal Statistical Society B 16, 1954) with signed ranks in place of Student's t. An outlier
//! counts as one pair; in a ratio of sums it would outweigh all others.

use crate::interval::{Interval, alpha};
use crate::signed_rank::cut;

/// Estimate and interval of [`signed_rank_ratio`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SignedRankRatio {
    /// The estimate, at least 0: both quantities are taken to be nonnegative apart from noise.
    pub estimate: f64,
    /// `None` with fewer than [`wilcoxon_min_n`](crate::wilcoxon_min_n) pairs. The upper end is
    /// infinite where the pairs do not show that the second quantity is above 0.
    pub interval: Option<Interval>,
}

/// The ratio of the first quantity of each pair to the second.
///
/// Exact for up to 100 independent pairs with a - r b symmetric at the true r and b > 0; nearly
/// exact with some b below 0. `None` without pairs, for a number that is not finite, unless
/// `confidence` is strictly between 0 and 1, and where the second quantity is not above 0 on the
/// whole. At most 64 sorts for each of four bisections: O(n log n).
///
/// ```
/// let pairs =
///     [(0.5, 1.0), (-0.1, 0.1), (1.1, 2.0), (1.0, 2.1), (0.6, 1.0), (0.4, -0.1), (0.5, 1.1)];
/// let ratio = zc_stats::signed_rank_ratio(&pairs, 0.95).unwrap();
/// assert!((ratio.estimate - 0.5).abs() < 0.05);
/// assert!(ratio.interval.unwrap().contains(0.5));
/// ```
pub fn signed_rank_ratio(pairs: &[(f64, f64)], confidence: f64) -> Option<SignedRankRatio> {
    if pairs.is_empty() || pairs.iter().any(|(a, b)| !a.is_finite() || !b.is_finite()) {
        return None;
    }
    let mut averages = Averages { pairs: pairs.to_vec() };
    let all = (pairs.len() * (pairs.len() + 1) / 2) as u64;
    // The estimate has as many means above it as below. With an even number that may hold over a
    // range, whose middle is taken.
    let estimate = 0.5 * averages.falls_to(all / 2)
        + 0.5 * averages.falls_to(all.div_ceil(2).saturating_sub(1));
    if !estimate.is_finite() {
        return None;
    }
    let interval = cut(pairs.len(), alpha(confidence)?).map(|(cut, tail)| Interval {
        low: averages.falls_to(all - cut).min(estimate),
        high: averages.falls_to(cut.saturating_sub(1)).max(estimate),
        achieved_confidence: 1.0 - 2.0 * tail,
    });
    Some(SignedRankRatio { estimate, interval })
}

/// The largest finite ratio. Small enough for sums of differences to be finite.
const LARGEST: f64 = 1e12;

/// The Walsh averages of a - r b.
struct Averages {
    /// In the order of the last sort: the next order is similar, and an adaptive sort finds it
    /// fast.
    pairs: Vec<(f64, f64)>,
}

impl Averages {
    /// The r at which the number of averages above 0 falls to `most`: 0 where r = 0 has as few,
    /// infinite where [`LARGEST`] has more.
    ///
    /// An average with a positive b falls below 0 as r rises, so the number falls. An average with
    /// a negative b may rise and make the number cross `most` more than once; any crossing is a
    /// valid end of an interval, and this is one of them. The averages are not stored: there are
    /// millions of them for a few thousand pairs.
    fn falls_to(&mut self, most: u64) -> f64 {
        if self.above(0.0) <= most {
            return 0.0;
        }
        if self.above(LARGEST) > most {
            return f64::INFINITY;
        }
        // Positive floats have the order of their bits.
        let (mut before, mut behind) = (0_u64, LARGEST.to_bits());
        while behind - before > 1 {
            let middle = before.midpoint(behind);
            if self.above(f64::from_bits(middle)) > most {
                before = middle;
            } else {
                behind = middle;
            }
        }
        f64::from_bits(behind)
    }

    /// Number of averages of a - r b above 0.
    fn above(&mut self, r: f64) -> u64 {
        let difference = |pair: &(f64, f64)| pair.0 - r * pair.1;
        self.pairs.sort_by(|x, y| difference(x).total_cmp(&difference(y)));
        let (mut low, mut high, mut above) = (0, self.pairs.len(), 0);
        // Averages with the largest of the remaining values, itself included: all from the first
        // one whose
        // sum with it is above 0.
        while low < high {
            if difference(&self.pairs[low]) + difference(&self.pairs[high - 1]) > 0.0 {
                above += (high - low) as u64;
                high -= 1;
            } else {
                low += 1;
            }
        }
        above
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wilcoxon_interval;

    #[test]
    fn a_constant_second_quantity_gives_the_signed_rank_interval() {
        let values = [1.2, 0.4, -0.3, 0.9, 2.1, 0.7, 0.1, 1.4, 0.6];
        let found = signed_rank_ratio(&values.map(|value| (value, 1.0)), 0.95).unwrap();
        let expected = wilcoxon_interval(&values, 0.95).unwrap();
        let interval = found.interval.unwrap();
        assert!(
            (found.estimate - crate::hodges_lehmann(&values).unwrap()).abs() < 1e-9,
            "{found:?}"
        );
        assert!(
            (interval.low - expected.low.max(0.0)).abs() < 1e-9
                && (interval.high - expected.high).abs() < 1e-9
        );
        assert_eq!(interval.achieved_confidence, expected.achieved_confidence);
    }

    #[test]
    fn an_outlier_counts_as_one_pair() {
        let mut pairs: Vec<(f64, f64)> =
            (0..20).map(|n| (0.5 + 0.01 * f64::from(n % 5), 1.0)).collect();
        let before = signed_rank_ratio(&pairs, 0.95).unwrap().estimate;
        (pairs[3], pairs[8]) = ((1e6, 1.0), (0.5, -0.2));
        let found = signed_rank_ratio(&pairs, 0.95).unwrap();
        assert!((found.estimate / before - 1.0).abs() < 0.03, "{found:?}");
        assert!(found.interval.unwrap().high < 0.6, "{found:?}");
    }

    #[test]
    fn bisection_agrees_with_a_list_of_all_averages() {
        // Values without repetition, and numbers of pairs that make odd and even numbers of
        // averages.
        let wave = |n: u32, by: f64| (f64::from(n) * by).sin();
        for count in [6, 9, 40, 143] {
            let pairs: Vec<(f64, f64)> =
                (0..count).map(|n| (1.0 + 1.5 * wave(n, 1.7), 2.0 + 1.9 * wave(n, 2.3))).collect();
            let mut falls: Vec<f64> = Vec::new();
            for (place, first) in pairs.iter().enumerate() {
                falls.extend(
                    pairs[place..].iter().map(|second| (first.0 + second.0) / (first.1 + second.1)),
                );
            }
            falls.sort_by(f64::total_cmp);
            let (all, mut averages) = (falls.len(), Averages { pairs });
            for most in [0, all / 40, all / 3, all / 2, all - 2] {
                let listed = falls[all - most - 1].max(0.0);
                assert!(
                    (averages.falls_to(most as u64) - listed).abs() < 1e-9,
                    "{count} pairs, {most} of {all}"
                );
            }
        }
    }

    #[test]
    fn thousands_of_pairs_are_handled() {
        let pairs: Vec<(f64, f64)> = (0..20_000)
            .map(|n| (0.5 + (f64::from(n) * 1.7).sin(), 1.0 + (f64::from(n) * 2.3).sin()))
            .collect();
        let found = signed_rank_ratio(&pairs, 0.95).unwrap();
        assert!(found.interval.unwrap().contains(0.5), "{found:?}");
    }

    #[test]
    fn a_nonpositive_second_quantity_has_no_ratio_and_a_nonpositive_first_has_0() {
        assert_eq!(signed_rank_ratio(&[(1.0, -1.0), (1.0, -1.0), (1.0, -1.0)], 0.95), None);
        assert_eq!(signed_rank_ratio(&[], 0.95), None);
        assert_eq!(signed_rank_ratio(&[(f64::NAN, 1.0)], 0.95), None);
        let none: Vec<(f64, f64)> = (1..10).map(|n| (-0.1 * f64::from(n), 1.0)).collect();
        let found = signed_rank_ratio(&none, 0.95).unwrap();
        assert_eq!(
            (found.estimate, found.interval.map(|interval| (interval.low, interval.high))),
            (0.0, Some((0.0, 0.0)))
        );
    }

    #[test]
    fn a_second_quantity_that_may_be_0_gives_an_infinite_upper_end() {
        let pairs: Vec<(f64, f64)> = (0..12)
            .map(|n| (1.0, if n % 3 == 0 { -0.4 } else { 0.3 + 0.01 * f64::from(n) }))
            .collect();
        let found = signed_rank_ratio(&pairs, 0.95).unwrap();
        assert_eq!(found.interval.unwrap().high, f64::INFINITY, "{found:?}");
        assert!(found.interval.unwrap().low > 0.0);
    }
}
