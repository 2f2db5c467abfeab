//! One sample, or pairs differenced: the Hodges-Lehmann estimate, the signed-rank interval that belongs to it, and the
//! test.
//!
//! All three rest on the Walsh averages, the n(n+1)/2 means of two values (each with itself too): the estimate is
//! their median, the interval cuts off as many at each end as the null distribution of Wilcoxon's signed-rank statistic
//! T allows, and the test counts how many lie on the wrong side of 0 (Hollander and Wolfe, "Nonparametric Statistical
//! Methods", sections 3.1 to 3.3). Ties and zeros need no care that way: they make the interval wider, never narrower.
//!
//! One kind of infinity is welcome and counts as "beyond all others": a log ratio of a cost of 0 is minus infinity.

use std::sync::OnceLock;

use crate::normal::{phi, z};
use crate::select::{kth_smallest, middle};
use crate::{Interval, ROUNDING, alpha, sorted};

/// Up to this many values the null distribution is exact. Beyond, the normal approximation with continuity correction
/// errs to the safe side: T has lighter tails.
const EXACT: usize = 100;

/// The Hodges-Lehmann estimate: the median of all Walsh averages. `None` when there is nothing, a NaN, or infinities
/// of both signs.
///
/// ```
/// // Averages of 1, 2, 6: 1, 1.5, 2, 3.5, 4, 6.
/// assert_eq!(zc_stats::hodges_lehmann(&[1.0, 2.0, 6.0]), Some(2.75));
/// ```
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    let walsh = Walsh::of(values)?;
    Some(middle(walsh.count(), |rank| walsh.kth(rank)))
}

/// The interval that inverts Wilcoxon's signed-rank test. `None` with fewer than [`wilcoxon_least_n`] values, and
/// where [`hodges_lehmann`] is `None`.
///
/// It covers the centre of any symmetric distribution with just the confidence it states.
pub fn wilcoxon_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let walsh = Walsh::of(values)?;
    let (cut, tail) = cut(walsh.sorted.len(), alpha(confidence)?)?;
    Some(Interval {
        low: walsh.kth(cut),
        high: walsh.kth(walsh.count() + 1 - cut),
        confidence_reached: 1.0 - 2.0 * tail,
    })
}

/// The least number of values that [`wilcoxon_interval`] can serve at this confidence: 6 at 95 %.
pub fn wilcoxon_least_n(confidence: f64) -> Option<usize> {
    // As with the median: the widest interval misses when all values lie on one side, 2 / 2^n.
    crate::median_least_n(confidence)
}

/// Two-sided p-value of "the centre is 0": just the one at which [`wilcoxon_interval`] begins to exclude 0. `None`
/// where [`hodges_lehmann`] is `None`.
pub fn signed_rank_p(values: &[f64]) -> Option<f64> {
    let walsh = Walsh::of(values)?;
    let not_above = walsh.at_most(0.0);
    let not_below = walsh.count() - walsh.below(0.0);
    Some((2.0 * lower_tail(walsh.sorted.len(), not_above.min(not_below))).min(1.0))
}

/// The Walsh averages of a sample, by their order, without writing them down.
struct Walsh {
    sorted: Vec<f64>,
}

impl Walsh {
    fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values)?;
        // Minus and plus infinity have no mean.
        let both = sorted[0] == f64::NEG_INFINITY && sorted[sorted.len() - 1] == f64::INFINITY;
        (!both).then_some(Self { sorted })
    }

    fn count(&self) -> u64 {
        let n = self.sorted.len() as u64;
        n * (n + 1) / 2
    }

    fn kth(&self, rank: u64) -> f64 {
        kth_smallest(self.sorted[0], self.sorted[self.sorted.len() - 1], rank, |x| self.at_most(x))
    }

    fn at_most(&self, x: f64) -> u64 {
        self.pairs(|mean| mean <= x)
    }

    fn below(&self, x: f64) -> u64 {
        self.pairs(|mean| mean < x)
    }

    /// How many averages satisfy a condition that holds for all below some number. Halving first is exact and cannot
    /// overflow; rounding the sum keeps the order, so the two ends walk towards one another.
    fn pairs(&self, holds: impl Fn(f64) -> bool) -> u64 {
        let mut above = self.sorted.len();
        let mut count = 0;
        for (first, value) in self.sorted.iter().enumerate() {
            while above > first && !holds(0.5 * value + 0.5 * self.sorted[above - 1]) {
                above -= 1;
            }
            if above <= first {
                break;
            }
            count += (above - first) as u64;
        }
        count
    }
}

/// Which Walsh average from each end is the interval's end (1 is the extreme), and the probability beyond it.
pub(crate) fn cut(n: usize, alpha: f64) -> Option<(u64, f64)> {
    let limit = alpha / 2.0 + ROUNDING;
    let cut = if n <= EXACT {
        null_distribution(n).partition_point(|cumulative| *cumulative <= limit) as u64
    } else {
        let (mean, sigma) = moments(n);
        (mean + z(alpha / 2.0) * sigma + 0.5).floor().max(0.0) as u64
    };
    (cut > 0).then(|| (cut, lower_tail(n, cut - 1)))
}

/// Probability that T <= t under the null hypothesis.
fn lower_tail(n: usize, t: u64) -> f64 {
    if n <= EXACT {
        let table = null_distribution(n);
        return usize::try_from(t).ok().and_then(|t| table.get(t)).copied().unwrap_or(1.0);
    }
    let (mean, sigma) = moments(n);
    phi((t as f64 + 0.5 - mean) / sigma)
}

fn moments(n: usize) -> (f64, f64) {
    let n = n as f64;
    (n * (n + 1.0) / 4.0, (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt())
}

/// P(T <= t) for t = 0, 1 ... n(n+1)/2: each rank is in the sum or not, with equal probability. Made once per n.
fn null_distribution(n: usize) -> &'static [f64] {
    static TABLES: [OnceLock<Vec<f64>>; EXACT + 1] = [const { OnceLock::new() }; EXACT + 1];
    TABLES[n].get_or_init(|| {
        let mut probability = vec![0.0; n * (n + 1) / 2 + 1];
        probability[0] = 1.0;
        let mut top = 0;
        for rank in 1..=n {
            top += rank;
            for sum in (0..=top).rev() {
                let with = if sum >= rank { probability[sum - rank] } else { 0.0 };
                probability[sum] = 0.5 * (probability[sum] + with);
            }
        }
        let mut cumulative = 0.0;
        for each in &mut probability {
            cumulative += *each;
            *each = cumulative;
        }
        probability
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hamilton depression scale factor IV of nine patients, first visit minus second: Hollander and Wolfe (1973),
    /// table 3.1, which is also the example of R's `wilcox.test`.
    #[allow(clippy::approx_constant)] // 3.14 is a patient
    const DEPRESSION: [(f64, f64); 9] = [
        (1.83, 0.878),
        (0.50, 0.647),
        (1.62, 0.598),
        (2.48, 2.05),
        (1.68, 1.06),
        (1.88, 1.29),
        (1.55, 1.06),
        (3.06, 3.14),
        (1.30, 1.29),
    ];

    fn depression() -> Vec<f64> {
        DEPRESSION.iter().map(|(first, second)| first - second).collect()
    }

    #[test]
    fn hollander_and_wolfe_s_example() {
        // Their example 3.3: estimate .46; example 3.4: the 96 % interval (.010, .786). R prints the same, with a
        // two-sided p of 0.03906.
        let drop = depression();
        assert!((hodges_lehmann(&drop).unwrap() - 0.46).abs() < 1e-9);
        let interval = wilcoxon_interval(&drop, 0.95).unwrap();
        assert!((interval.low - 0.010).abs() < 1e-9 && (interval.high - 0.786).abs() < 1e-9, "{interval:?}");
        assert!((interval.confidence_reached - 0.9609375).abs() < 1e-12);
        assert!((signed_rank_p(&drop).unwrap() - 0.0390625).abs() < 1e-12);
    }

    #[test]
    fn the_null_distribution_is_that_of_the_tables() {
        // Lower tails by Hollander and Wolfe, table A.4, and R's psignrank.
        assert!((lower_tail(8, 3) - 5.0 / 256.0).abs() < 1e-15);
        assert!((lower_tail(5, 0) - 1.0 / 32.0).abs() < 1e-15);
        assert!((lower_tail(10, 8) - 25.0 / 1024.0).abs() < 1e-15);
        assert!((lower_tail(15, 25) - 0.0240).abs() < 5e-5);
        assert!((lower_tail(60, 1830) - 1.0).abs() < 1e-12);
        // Critical values at two-sided 5 %: n = 6 to 25, the table in every textbook.
        let critical = [0, 2, 3, 5, 8, 10, 13, 17, 21, 25, 29, 34, 40, 46, 52, 58, 65, 73, 81, 89];
        for (n, expected) in (6..).zip(critical) {
            assert_eq!(cut(n, 0.05).unwrap().0, expected + 1, "n = {n}");
        }
    }

    #[test]
    fn exact_and_normal_meet_where_one_takes_over() {
        let (exact, tail) = cut(EXACT, 0.05).unwrap();
        let (mean, sigma) = moments(EXACT);
        let approximate = (mean + z(0.025) * sigma + 0.5).floor() as u64;
        assert!(exact.abs_diff(approximate) <= 1, "{exact} {approximate}");
        assert!(tail <= 0.025 + ROUNDING);
        // In the far tail of a first look the approximation must not be bolder than the truth.
        let exact = cut(EXACT, 1e-4).unwrap().0;
        assert!((mean + z(0.5e-4) * sigma + 0.5).floor() as u64 <= exact);
        assert!(cut(EXACT + 1, 0.05).unwrap().0 > cut(EXACT, 0.05).unwrap().0);
    }

    #[test]
    fn too_few_values_have_no_interval() {
        assert_eq!(wilcoxon_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95), None);
        assert!(wilcoxon_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95).is_some());
        assert_eq!(wilcoxon_least_n(0.95), Some(6));
        assert_eq!(wilcoxon_interval(&[], 0.95), None);
        assert_eq!(hodges_lehmann(&[]), None);
        assert_eq!(hodges_lehmann(&[f64::NAN]), None);
        assert_eq!(signed_rank_p(&[]), None);
    }

    #[test]
    fn one_kind_of_infinity_only_ranks_last() {
        let mut values = vec![f64::NEG_INFINITY];
        values.extend((0..20).map(|value| f64::from(value) * 0.1));
        let interval = wilcoxon_interval(&values, 0.95).unwrap();
        assert!(interval.low.is_finite() && interval.high.is_finite());
        assert!(hodges_lehmann(&values).unwrap().is_finite());
        values.push(f64::INFINITY);
        assert_eq!(hodges_lehmann(&values), None);
        assert_eq!(wilcoxon_interval(&[f64::NEG_INFINITY; 8], 0.95).unwrap().low, f64::NEG_INFINITY);
    }

    #[test]
    fn counting_agrees_with_writing_all_averages_down() {
        let values = [0.3, -1.2, 0.3, 7.5, 2.25, -0.7, 0.0, 3.3, 11.0, -4.0];
        let mut all: Vec<f64> =
            (0..values.len()).flat_map(|i| (i..values.len()).map(move |j| 0.5 * values[i] + 0.5 * values[j])).collect();
        all.sort_unstable_by(f64::total_cmp);
        let walsh = Walsh::of(&values).unwrap();
        for (index, expected) in all.iter().enumerate() {
            assert_eq!(walsh.kth(index as u64 + 1), *expected);
        }
        assert_eq!(hodges_lehmann(&values), crate::median(&all));
    }
}
