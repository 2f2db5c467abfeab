//! One sample, or paired samples differenced: the Hodges-Lehmann estimate, the Wilcoxon signed-rank
//! interval and the test.
//!
//! All three rest on the n(n+1)/2 Walsh averages, the means of two values (each with itself too).
//! The estimate is their median. The interval cuts off as many at each end as the null distribution
//! of Wilcoxon's T allows. The test counts how many lie on the wrong side of 0 (Hollander and
//! Wolfe, "Nonparametric Statistical Methods", 1973, sections 3.1 to 3.3). Ties and zeros widen the
//! interval and never narrow it. The averages are counted, not stored: O(n log n).
//!
//! Infinities of one sign are allowed and rank beyond all other values: the log ratio of a cost of
//! 0 is minus infinity.

use std::sync::OnceLock;

use crate::interval::{Interval, ROUNDING, alpha};
use crate::normal::{normal_cdf, normal_quantile};
use crate::order_statistics::{median_min_n, sorted};
use crate::selection::{kth_smallest, middle};

/// Largest sample for which the null distribution is exact. Beyond, the normal approximation with
/// continuity correction is conservative: T has lighter tails.
const EXACT: usize = 100;

/// The Hodges-Lehmann estimate of the centre of symmetry (pseudomedian): the median of all Walsh
/// averages (Hodges and Lehmann, Annals of Mathematical Statistics 34, 1963).
///
/// `None` for an empty slice, NaN, and infinities of both signs.
///
/// ```
/// // Averages of 1, 2, 6: 1, 1.5, 2, 3.5, 4, 6.
/// assert_eq!(zc_stats::hodges_lehmann(&[1.0, 2.0, 6.0]), Some(2.75));
/// ```
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    let walsh = Walsh::from_values(values)?;
    Some(middle(walsh.count(), |rank| walsh.kth(rank)))
}

/// The interval of the centre of symmetry that inverts Wilcoxon's signed-rank test.
///
/// Exact for independent values of any symmetric continuous distribution with up to 100 values.
/// `None` with fewer than [`wilcoxon_min_n`] values, and where [`hodges_lehmann`] is `None`.
///
/// ```
/// let interval = zc_stats::wilcoxon_interval(&[0.1, 0.3, 0.2, 0.5, 0.4, 0.6], 0.95).unwrap();
/// assert_eq!((interval.low, interval.high), (0.1, 0.6));
/// assert_eq!(interval.achieved_confidence, 0.96875);
/// ```
pub fn wilcoxon_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let walsh = Walsh::from_values(values)?;
    let (cut, tail) = cut(walsh.sorted.len(), alpha(confidence)?)?;
    Some(Interval {
        low: walsh.kth(cut),
        high: walsh.kth(walsh.count() + 1 - cut),
        achieved_confidence: 1.0 - 2.0 * tail,
    })
}

/// The smallest sample for which [`wilcoxon_interval`] has an interval: 6 at 95 %, 8 at 99 %.
///
/// `None` where [`median_min_n`] is `None`.
pub fn wilcoxon_min_n(confidence: f64) -> Option<usize> {
    // The median's bound holds here too: the widest interval misses when all values lie on one
    // side, 2 / 2^n.
    median_min_n(confidence)
}

/// Two-sided p-value of the hypothesis that the centre of symmetry is 0 (Wilcoxon, "Individual
/// Comparisons by Ranking Methods", Biometrics Bulletin 1, 1945).
///
/// The smallest alpha at which [`wilcoxon_interval`] excludes 0. `None` where [`hodges_lehmann`] is
/// `None`.
pub fn wilcoxon_p_value(values: &[f64]) -> Option<f64> {
    let walsh = Walsh::from_values(values)?;
    let not_above = walsh.at_most(0.0);
    let not_below = walsh.count() - walsh.below(0.0);
    Some((2.0 * lower_tail(walsh.sorted.len(), not_above.min(not_below))).min(1.0))
}

/// The Walsh averages of a sample, represented by the sorted sample.
struct Walsh {
    sorted: Vec<f64>,
}

impl Walsh {
    fn from_values(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values)?;
        // Infinities of opposite sign have no mean.
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

    /// Number of averages that satisfy a condition which holds for all of them up to some value.
    /// Halving before the addition is exact and cannot overflow. Rounding the sum preserves the
    /// order, so one pass from both ends suffices.
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

/// The rank, from either end, of the Walsh average that ends the interval (1 is the extreme), and
/// the probability of one tail beyond it. `None` with too few values.
pub(crate) fn cut(n: usize, alpha: f64) -> Option<(u64, f64)> {
    let limit = alpha / 2.0 + ROUNDING;
    let cut = if n <= EXACT {
        null_distribution(n).partition_point(|cumulative| *cumulative <= limit) as u64
    } else {
        let (mean, sigma) = moments(n);
        (mean + normal_quantile(alpha / 2.0) * sigma + 0.5).floor().max(0.0) as u64
    };
    (cut > 0).then(|| (cut, lower_tail(n, cut - 1)))
}

/// P(T <= t) under the null hypothesis.
fn lower_tail(n: usize, t: u64) -> f64 {
    if n <= EXACT {
        let table = null_distribution(n);
        return usize::try_from(t).ok().and_then(|t| table.get(t)).copied().unwrap_or(1.0);
    }
    let (mean, sigma) = moments(n);
    normal_cdf((t as f64 + 0.5 - mean) / sigma)
}

/// Mean and standard deviation of T under the null hypothesis.
fn moments(n: usize) -> (f64, f64) {
    let n = n as f64;
    (n * (n + 1.0) / 4.0, (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt())
}

/// P(T <= t) for t = 0, 1 ... n(n+1)/2: each rank is in the sum or not, with equal probability.
/// Computed once per n, in O(n^3).
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

    /// Hamilton depression scale factor IV of nine patients, first visit minus second: Hollander
    /// and Wolfe (1973), table 3.1, which is also the example of R's `wilcox.test`.
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
        // Their example 3.3: estimate .46; example 3.4: the 96 % interval (.010, .786). R prints
        // the same, with a two-sided p of 0.03906.
        let drop = depression();
        assert!((hodges_lehmann(&drop).unwrap() - 0.46).abs() < 1e-9);
        let interval = wilcoxon_interval(&drop, 0.95).unwrap();
        assert!(
            (interval.low - 0.010).abs() < 1e-9 && (interval.high - 0.786).abs() < 1e-9,
            "{interval:?}"
        );
        assert!((interval.achieved_confidence - 0.9609375).abs() < 1e-12);
        assert!((wilcoxon_p_value(&drop).unwrap() - 0.0390625).abs() < 1e-12);
    }

    #[test]
    fn the_null_distribution_agrees_with_tables() {
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
    fn exact_and_normal_agree_where_the_approximation_starts() {
        let (exact, tail) = cut(EXACT, 0.05).unwrap();
        let (mean, sigma) = moments(EXACT);
        let approximate = (mean + normal_quantile(0.025) * sigma + 0.5).floor() as u64;
        assert!(exact.abs_diff(approximate) <= 1, "{exact} {approximate}");
        assert!(tail <= 0.025 + ROUNDING);
        // In the far tail of a first interim analysis the approximation must be conservative.
        let exact = cut(EXACT, 1e-4).unwrap().0;
        assert!((mean + normal_quantile(0.5e-4) * sigma + 0.5).floor() as u64 <= exact);
        assert!(cut(EXACT + 1, 0.05).unwrap().0 > cut(EXACT, 0.05).unwrap().0);
    }

    #[test]
    fn too_few_values_have_no_interval() {
        assert_eq!(wilcoxon_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95), None);
        assert!(wilcoxon_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95).is_some());
        assert_eq!(wilcoxon_min_n(0.95), Some(6));
        assert_eq!(wilcoxon_interval(&[], 0.95), None);
        assert_eq!(hodges_lehmann(&[]), None);
        assert_eq!(hodges_lehmann(&[f64::NAN]), None);
        assert_eq!(wilcoxon_p_value(&[]), None);
    }

    #[test]
    fn infinities_of_one_sign_rank_last() {
        let mut values = vec![f64::NEG_INFINITY];
        values.extend((0..20).map(|value| f64::from(value) * 0.1));
        let interval = wilcoxon_interval(&values, 0.95).unwrap();
        assert!(interval.low.is_finite() && interval.high.is_finite());
        assert!(hodges_lehmann(&values).unwrap().is_finite());
        values.push(f64::INFINITY);
        assert_eq!(hodges_lehmann(&values), None);
        assert_eq!(
            wilcoxon_interval(&[f64::NEG_INFINITY; 8], 0.95).unwrap().low,
            f64::NEG_INFINITY
        );
    }

    #[test]
    fn counting_agrees_with_a_list_of_all_averages() {
        let values = [0.3, -1.2, 0.3, 7.5, 2.25, -0.7, 0.0, 3.3, 11.0, -4.0];
        let mut all: Vec<f64> = (0..values.len())
            .flat_map(|i| (i..values.len()).map(move |j| 0.5 * values[i] + 0.5 * values[j]))
            .collect();
        all.sort_unstable_by(f64::total_cmp);
        let walsh = Walsh::from_values(&values).unwrap();
        for (index, expected) in all.iter().enumerate() {
            assert_eq!(walsh.kth(index as u64 + 1), *expected);
        }
        assert_eq!(hodges_lehmann(&values), crate::median(&all));
    }
}
