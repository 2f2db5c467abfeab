//! Two independent samples: the Hodges-Lehmann shift, the Mann-Whitney interval and the test.
//!
//! The counterpart of the signed-rank methods for samples that are not paired. All three rest on
//! the m n pairwise differences, whose null distribution is that of Mann and Whitney's U (Hollander
//! and Wolfe, "Nonparametric Statistical Methods", 1973, sections 4.1 to 4.3). The differences are
//! counted, not stored: O((m + n) log(m + n)), plus O(m^2 n^2) for the exact null distribution of
//! samples of up to 50 values each. For larger samples it is the normal approximation with
//! continuity correction.

use crate::interval::{Interval, ROUNDING, alpha};
use crate::normal::{normal_cdf, normal_quantile};
use crate::order_statistics::sorted;
use crate::selection::{kth_smallest, middle};

/// Largest sample for which the null distribution is exact (as in R).
const EXACT: usize = 50;

/// Estimate, interval and test of a shift between two samples.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct MannWhitney {
    /// [`hodges_lehmann_shift`].
    pub shift: f64,
    /// [`mann_whitney_interval`].
    pub interval: Option<Interval>,
    /// [`mann_whitney_p_value`].
    pub p_value: f64,
}

/// Estimate, interval and test of the shift `first` - `second` in one pass.
///
/// `None` where [`hodges_lehmann_shift`] is `None`, and unless `confidence` is strictly between 0
/// and 1.
pub fn mann_whitney(first: &[f64], second: &[f64], confidence: f64) -> Option<MannWhitney> {
    let differences = Differences::between(first, second)?;
    let null = Null::for_sizes(first.len(), second.len());
    Some(MannWhitney {
        shift: differences.median(),
        interval: differences.interval(&null, alpha(confidence)?),
        p_value: differences.p_value(&null),
    })
}

/// The Hodges-Lehmann estimate of the shift: the median of all differences `first` - `second`
/// (Hodges and Lehmann, Annals of Mathematical Statistics 34, 1963).
///
/// `None` when a sample is empty or holds NaN or an infinity.
///
/// ```
/// assert_eq!(zc_stats::hodges_lehmann_shift(&[5.0, 6.0, 9.0], &[1.0, 2.0]), Some(4.5));
/// ```
pub fn hodges_lehmann_shift(first: &[f64], second: &[f64]) -> Option<f64> {
    Some(Differences::between(first, second)?.median())
}

/// The interval of the shift `first` - `second` that inverts the Mann-Whitney test.
///
/// Has its confidence for two distributions of the same shape. `None` where
/// [`hodges_lehmann_shift`] is `None`, and with too few values: 95 % needs samples of 4 and 4, 3
/// and 5, or 2 and 8.
pub fn mann_whitney_interval(first: &[f64], second: &[f64], confidence: f64) -> Option<Interval> {
    let differences = Differences::between(first, second)?;
    differences.interval(&Null::for_sizes(first.len(), second.len()), alpha(confidence)?)
}

/// Two-sided p-value of the hypothesis that there is no shift (Mann and Whitney, Annals of
/// Mathematical Statistics 18, 1947).
///
/// The smallest alpha at which [`mann_whitney_interval`] excludes 0. `None` where
/// [`hodges_lehmann_shift`] is `None`.
pub fn mann_whitney_p_value(first: &[f64], second: &[f64]) -> Option<f64> {
    Some(Differences::between(first, second)?.p_value(&Null::for_sizes(first.len(), second.len())))
}

/// All pairwise differences first - second, sorted samples standing for them.
struct Differences {
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Differences {
    fn between(first: &[f64], second: &[f64]) -> Option<Self> {
        let finite = first.iter().chain(second).all(|value| value.is_finite());
        finite.then_some(Self { first: sorted(first)?, second: sorted(second)? })
    }

    fn median(&self) -> f64 {
        middle(self.count(), |rank| self.kth(rank))
    }

    fn interval(&self, null: &Null, alpha: f64) -> Option<Interval> {
        let cut = null.cut(alpha);
        (cut > 0).then(|| Interval {
            low: self.kth(cut),
            high: self.kth(self.count() + 1 - cut),
            achieved_confidence: 1.0 - 2.0 * null.lower_tail(cut - 1),
        })
    }

    fn p_value(&self, null: &Null) -> f64 {
        let not_above = self.pairs(|difference| difference <= 0.0);
        let not_below = self.count() - self.pairs(|difference| difference < 0.0);
        (2.0 * null.lower_tail(not_above.min(not_below))).min(1.0)
    }

    fn count(&self) -> u64 {
        self.first.len() as u64 * self.second.len() as u64
    }

    fn kth(&self, rank: u64) -> f64 {
        let (low, high) = (self.first[0], self.first[self.first.len() - 1]);
        let (least, greatest) = (self.second[0], self.second[self.second.len() - 1]);
        kth_smallest(low - greatest, high - least, rank, |x| {
            self.pairs(|difference| difference <= x)
        })
    }

    /// Number of differences that satisfy a condition which holds for all of them up to some value.
    /// Both samples are sorted, so one pass suffices.
    fn pairs(&self, holds: impl Fn(f64) -> bool) -> u64 {
        let mut from = 0;
        let mut count = 0;
        for value in &self.first {
            while from < self.second.len() && !holds(value - self.second[from]) {
                from += 1;
            }
            count += (self.second.len() - from) as u64;
        }
        count
    }
}

/// The null distribution of U.
enum Null {
    /// P(U <= u) for u = 0, 1 ... m*n.
    Exact(Vec<f64>),
    /// Mean and standard deviation.
    Normal(f64, f64),
}

impl Null {
    fn for_sizes(m: usize, n: usize) -> Self {
        if m > EXACT || n > EXACT {
            let (m, n) = (m as f64, n as f64);
            return Self::Normal(m * n / 2.0, (m * n * (m + n + 1.0) / 12.0).sqrt());
        }
        // counts[i][u]: number of orders of i and j values with U = u, for j = 0, 1 ... n in turn.
        // The recurrence removes the largest value, which is of one sample or of the other.
        let top = m * n;
        let mut counts = vec![vec![0.0; top + 1]; m + 1];
        for row in &mut counts {
            row[0] = 1.0;
        }
        for j in 1..=n {
            for i in 1..=m {
                // i * j is the largest that U can be.
                for u in (j..=i * j).rev() {
                    counts[i][u] += counts[i - 1][u - j];
                }
            }
        }
        let counts = &counts[m];
        let orders: f64 = counts.iter().sum();
        let mut below = 0.0;
        Self::Exact(
            counts
                .iter()
                .map(|count| {
                    below += count;
                    below / orders
                })
                .collect(),
        )
    }

    /// The rank, from either end, of the difference that ends the interval; 0 where there is none.
    fn cut(&self, alpha: f64) -> u64 {
        match self {
            Self::Exact(table) => {
                table.partition_point(|tail| *tail <= alpha / 2.0 + ROUNDING) as u64
            }
            Self::Normal(mean, sigma) => {
                (mean + normal_quantile(alpha / 2.0) * sigma + 0.5).floor().max(0.0) as u64
            }
        }
    }

    /// P(U <= u).
    fn lower_tail(&self, u: u64) -> f64 {
        match self {
            Self::Exact(table) => {
                usize::try_from(u).ok().and_then(|u| table.get(u)).copied().unwrap_or(1.0)
            }
            Self::Normal(mean, sigma) => normal_cdf((u as f64 + 0.5 - mean) / sigma),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Permeability of human chorioamnion at term and at 12 to 26 weeks: Hollander and Wolfe
    /// (1973), table 4.1, the example of R's `wilcox.test`.
    const AT_TERM: [f64; 10] = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    const EARLIER: [f64; 5] = [1.15, 0.88, 0.90, 0.74, 1.21];

    #[test]
    fn hollander_and_wolfe_s_example() {
        // Their estimate is .305; R gives W = 35 and a one-sided p of 0.1272.
        assert!((hodges_lehmann_shift(&AT_TERM, &EARLIER).unwrap() - 0.305).abs() < 1e-9);
        assert!(
            (mann_whitney_p_value(&AT_TERM, &EARLIER).unwrap() - 2.0 * 0.127_206_127).abs() < 1e-8
        );
        let interval = mann_whitney_interval(&AT_TERM, &EARLIER, 0.95).unwrap();
        assert!(
            (interval.low + 0.15).abs() < 1e-9 && (interval.high - 0.76).abs() < 1e-9,
            "{interval:?}"
        );
        assert!((interval.achieved_confidence - 0.960_039_96).abs() < 1e-8);
    }

    #[test]
    fn scipy_s_example_of_mannwhitneyu() {
        // males and females, age at diagnosis of diabetes: U1 = 17, exact two-sided p =
        // 0.1111111111111111.
        let (males, females) = ([19.0, 22.0, 16.0, 29.0, 24.0], [20.0, 11.0, 17.0, 12.0]);
        assert!((mann_whitney_p_value(&males, &females).unwrap() - 1.0 / 9.0).abs() < 1e-12);
        // Too few for 95 %? 5 and 4 allow U <= 1: 2 * 2 / 126.
        let interval = mann_whitney_interval(&males, &females, 0.95).unwrap();
        assert!((interval.achieved_confidence - (1.0 - 4.0 / 126.0)).abs() < 1e-12);
        assert_eq!(mann_whitney_interval(&males[..3], &females[..3], 0.95), None);
    }

    #[test]
    fn one_pass_gives_the_results_of_the_single_functions() {
        let all = mann_whitney(&AT_TERM, &EARLIER, 0.95).unwrap();
        assert_eq!(Some(all.shift), hodges_lehmann_shift(&AT_TERM, &EARLIER));
        assert_eq!(all.interval, mann_whitney_interval(&AT_TERM, &EARLIER, 0.95));
        assert_eq!(Some(all.p_value), mann_whitney_p_value(&AT_TERM, &EARLIER));
        assert_eq!(mann_whitney(&AT_TERM, &EARLIER, 1.0), None);
    }

    #[test]
    fn the_null_distribution_is_symmetric_and_sums_to_one() {
        let Null::Exact(table) = Null::for_sizes(7, 9) else { panic!("small samples are exact") };
        assert!((table[63] - 1.0).abs() < 1e-12);
        for u in 0..63 {
            assert!((table[u] - (1.0 - table[62 - u])).abs() < 1e-12);
        }
    }

    #[test]
    fn exact_and_normal_agree_where_the_approximation_starts() {
        let exact = Null::for_sizes(EXACT, EXACT).cut(0.05);
        let normal = Null::Normal(1250.0, (2500.0f64 * 101.0 / 12.0).sqrt()).cut(0.05);
        assert!(exact.abs_diff(normal) <= 1, "{exact} {normal}");
    }

    #[test]
    fn empty_samples_nan_and_infinity_are_none() {
        assert_eq!(hodges_lehmann_shift(&[], &[1.0]), None);
        assert_eq!(hodges_lehmann_shift(&[1.0], &[f64::NAN]), None);
        assert_eq!(mann_whitney_p_value(&[f64::INFINITY], &[1.0]), None);
    }
}
