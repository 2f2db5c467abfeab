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
    let steps = Steps::of(pairs);
    let all = steps.all;
    // Where as many are above 0 as below: with an even number a whole stretch may be so.
    let value = 0.5 * steps.first_at_most(all / 2) + 0.5 * steps.last_at_least(all.div_ceil(2));
    if !value.is_finite() {
        return None;
    }
    let interval = cut(pairs.len(), alpha(confidence)?).map(|(cut, tail)| Interval {
        low: steps.first_at_most(all - cut).min(value),
        high: steps.last_at_least(cut).max(value),
        confidence_reached: 1.0 - 2.0 * tail,
    });
    Some(RankedRatio { value, interval })
}

/// How many Walsh averages of a - r b are above 0, for each r from 0 on. The count changes where an average is just 0.
struct Steps {
    /// The number of averages.
    all: u64,
    /// Between the last change and this r, the count is this. The last r is infinite.
    until: Vec<(f64, u64)>,
}

impl Steps {
    fn of(pairs: &[(f64, f64)]) -> Self {
        let mut above = 0_u64;
        let mut changes = Vec::new();
        for (place, first) in pairs.iter().enumerate() {
            for second in &pairs[place..] {
                let (a, b) = (0.5 * first.0 + 0.5 * second.0, 0.5 * first.1 + 0.5 * second.1);
                above += u64::from(a > 0.0 || a == 0.0 && b < 0.0);
                let at = a / b;
                if at > 0.0 && at.is_finite() {
                    changes.push((at, b > 0.0)); // above 0 before it; or, by a noise in b, behind it
                }
            }
        }
        changes.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
        let mut until = Vec::with_capacity(changes.len() + 1);
        for (at, falls) in changes {
            until.push((at, above));
            above = if falls { above - 1 } else { above + 1 };
        }
        until.push((f64::INFINITY, above));
        Self { all: (pairs.len() * (pairs.len() + 1) / 2) as u64, until }
    }

    /// The least r, at which no more than so many are above 0; infinity where there is none.
    fn first_at_most(&self, most: u64) -> f64 {
        let found = self.until.iter().position(|(_, above)| *above <= most);
        found.map_or(f64::INFINITY, |place| if place == 0 { 0.0 } else { self.until[place - 1].0 })
    }

    /// The greatest r, up to which no fewer than so many are above 0; 0 where there is none.
    fn last_at_least(&self, least: u64) -> f64 {
        self.until.iter().rev().find(|(_, above)| *above >= least).map_or(0.0, |(until, _)| *until)
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
