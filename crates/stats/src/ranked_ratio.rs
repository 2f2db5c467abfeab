//! The ratio of two paired quantities, either of which may be at or below zero by noise, so that not every pair has a logarithm.
//!
//! If the quantities' true ratio is r, then a - r b lies symmetrically about 0, whatever the sign of either. So the signed ranks of
//! a - r b are asked of every r: the estimate is the r at which as many Walsh averages lie above 0 as below, and the interval holds
//! each r that Wilcoxon's test does not reject. That is Fieller's way to a ratio (1954) with signed ranks in the place of Student's
//! t; one pair that is far off counts as one pair, where it would outweigh all others in a ratio of sums.

use crate::signed_rank::cut;
use crate::{Interval, alpha};

/// A ratio that was found by ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedRatio {
    /// Not below 0: quantities that are nothing or more have no ratio below it.
    pub value: f64,
    /// `None` with fewer than [`wilcoxon_least_n`](crate::wilcoxon_least_n) pairs. Its upper end is infinite where the pairs do not
    /// show that the second quantity is above 0.
    pub interval: Option<Interval>,
}

/// The ratio of the first of each pair by the second. `None` without a pair, with one that is not finite, and where the second
/// quantities are not above 0 on the whole.
///
/// ```
/// let pairs = [(0.5, 1.0), (-0.1, 0.1), (1.1, 2.0), (1.0, 2.1), (0.6, 1.0), (0.4, -0.1), (0.5, 1.1)];
/// let found = zc_stats::ranked_ratio(&pairs, 0.95).unwrap();
/// assert!((found.value - 0.5).abs() < 0.05);
/// assert!(found.interval.unwrap().contains(0.5));
/// ```
pub fn ranked_ratio(pairs: &[(f64, f64)], confidence: f64) -> Option<RankedRatio> {
    if pairs.is_empty() || pairs.iter().any(|(a, b)| !a.is_finite() || !b.is_finite()) {
        return None;
    }
    let mut averages = Averages { pairs: pairs.to_vec() };
    let all = (pairs.len() * (pairs.len() + 1) / 2) as u64;
    // Where as many are above 0 as below: with an even number a whole stretch may be so.
    let value = 0.5 * averages.falls_to(all / 2) + 0.5 * averages.falls_to(all.div_ceil(2).saturating_sub(1));
    if !value.is_finite() {
        return None;
    }
    let interval = cut(pairs.len(), alpha(confidence)?).map(|(cut, tail)| Interval {
        low: averages.falls_to(all - cut).min(value),
        high: averages.falls_to(cut.saturating_sub(1)).max(value),
        confidence_reached: 1.0 - 2.0 * tail,
    });
    Some(RankedRatio { value, interval })
}

/// What a ratio is at most, unless it is infinite. Far enough from the largest number for sums of differences to be finite.
const LARGEST: f64 = 1e12;

/// The Walsh averages of a - r b.
struct Averages {
    /// In the order that they were last sorted in: the next is a similar one, and soon found.
    pairs: Vec<(f64, f64)>,
}

impl Averages {
    /// The r at which the number of averages above 0 falls to `most`: 0 where it is so from the beginning, and infinite where it is
    /// not so in the end.
    ///
    /// Every average with a positive b falls below 0 on the way, so the number falls. Those with a negative one may rise, and make it
    /// cross `most` more than once: each such place is as good an end of an interval, and this is one of them. No list of the averages
    /// is made, as there are millions of them for some thousands of pairs.
    fn falls_to(&mut self, most: u64) -> f64 {
        if self.above(0.0) <= most {
            return 0.0;
        }
        if self.above(LARGEST) > most {
            return f64::INFINITY;
        }
        // Numbers above 0 are in the order of their bits.
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

    /// How many are above 0.
    fn above(&mut self, r: f64) -> u64 {
        let difference = |pair: &(f64, f64)| pair.0 - r * pair.1;
        self.pairs.sort_by(|x, y| difference(x).total_cmp(&difference(y)));
        let (mut low, mut high, mut above) = (0, self.pairs.len(), 0);
        // With the greatest of those that are left, its own average included: all from the first whose sum with it is above 0.
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
    fn with_a_second_quantity_that_does_not_vary_it_is_the_signed_rank_interval() {
        let values = [1.2, 0.4, -0.3, 0.9, 2.1, 0.7, 0.1, 1.4, 0.6];
        let found = ranked_ratio(&values.map(|value| (value, 1.0)), 0.95).unwrap();
        let of = wilcoxon_interval(&values, 0.95).unwrap();
        let interval = found.interval.unwrap();
        assert!((found.value - crate::hodges_lehmann(&values).unwrap()).abs() < 1e-9, "{found:?}");
        assert!((interval.low - of.low.max(0.0)).abs() < 1e-9 && (interval.high - of.high).abs() < 1e-9);
        assert_eq!(interval.confidence_reached, of.confidence_reached);
    }

    #[test]
    fn one_pair_far_off_counts_as_one() {
        let mut pairs: Vec<(f64, f64)> = (0..20).map(|n| (0.5 + 0.01 * f64::from(n % 5), 1.0)).collect();
        let before = ranked_ratio(&pairs, 0.95).unwrap().value;
        (pairs[3], pairs[8]) = ((1e6, 1.0), (0.5, -0.2));
        let found = ranked_ratio(&pairs, 0.95).unwrap();
        assert!((found.value / before - 1.0).abs() < 0.03, "{found:?}");
        assert!(found.interval.unwrap().high < 0.6, "{found:?}");
    }

    #[test]
    fn its_ends_are_those_of_a_list_of_all_averages() {
        // Values that do not repeat soon, as many pairs as make odd and even numbers of averages.
        let wave = |n: u32, by: f64| (f64::from(n) * by).sin();
        for count in [6, 9, 40, 143] {
            let pairs: Vec<(f64, f64)> =
                (0..count).map(|n| (1.0 + 1.5 * wave(n, 1.7), 2.0 + 1.9 * wave(n, 2.3))).collect();
            let mut falls: Vec<f64> = Vec::new();
            for (place, first) in pairs.iter().enumerate() {
                falls.extend(pairs[place..].iter().map(|second| (first.0 + second.0) / (first.1 + second.1)));
            }
            falls.sort_by(f64::total_cmp);
            let (all, mut averages) = (falls.len(), Averages { pairs });
            for most in [0, all / 40, all / 3, all / 2, all - 2] {
                let listed = falls[all - most - 1].max(0.0);
                assert!((averages.falls_to(most as u64) - listed).abs() < 1e-9, "{count} pairs, {most} of {all}");
            }
        }
    }

    #[test]
    fn thousands_of_pairs_are_no_trouble() {
        let pairs: Vec<(f64, f64)> =
            (0..20_000).map(|n| (0.5 + (f64::from(n) * 1.7).sin(), 1.0 + (f64::from(n) * 2.3).sin())).collect();
        let found = ranked_ratio(&pairs, 0.95).unwrap();
        assert!(found.interval.unwrap().contains(0.5), "{found:?}");
    }

    #[test]
    fn what_is_divided_by_nothing_has_no_ratio_and_nothing_by_something_is_nothing() {
        assert_eq!(ranked_ratio(&[(1.0, -1.0), (1.0, -1.0), (1.0, -1.0)], 0.95), None);
        assert_eq!(ranked_ratio(&[], 0.95), None);
        assert_eq!(ranked_ratio(&[(f64::NAN, 1.0)], 0.95), None);
        let none: Vec<(f64, f64)> = (1..10).map(|n| (-0.1 * f64::from(n), 1.0)).collect();
        let found = ranked_ratio(&none, 0.95).unwrap();
        assert_eq!(
            (found.value, found.interval.map(|interval| (interval.low, interval.high))),
            (0.0, Some((0.0, 0.0)))
        );
    }

    #[test]
    fn a_second_quantity_that_might_be_nothing_leaves_the_ratio_without_an_upper_end() {
        let pairs: Vec<(f64, f64)> =
            (0..12).map(|n| (1.0, if n % 3 == 0 { -0.4 } else { 0.3 + 0.01 * f64::from(n) })).collect();
        let found = ranked_ratio(&pairs, 0.95).unwrap();
        assert_eq!(found.interval.unwrap().high, f64::INFINITY, "{found:?}");
        assert!(found.interval.unwrap().low > 0.0);
    }
}
