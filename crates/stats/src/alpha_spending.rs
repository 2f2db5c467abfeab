//! Alpha spending: several interim analyses of one interval without losing its confidence.
//!
//! The error that all analyses together may make is spent in parts (Lan and DeMets, "Discrete
//! sequential boundaries for clinical trials", Biometrika 70, 1983). The spending function
//! resembles the bounds of O'Brien and Fleming: little early, most at the end. The interval of each
//! analysis has the confidence 1 - (error spent since the analysis before). By Bonferroni's
//! inequality, the probability that *any* of the intervals misses is at most alpha, whatever their
//! dependence and whatever stopping rule is used. With analyses at 1/4, 1/2, 3/4 and 1, the last
//! interval then reaches 2.22 sigma instead of 1.96. Where only the width of the intervals stops,
//! the last one may have the whole of alpha (`tests/coverage.rs`).
//!
//! Lan and DeMets's own bounds use the correlation between analyses and cost less. They bound the
//! error of a single test that stops when it rejects. A procedure that stops on the width of
//! several intervals needs the plain inequality.

use crate::interval::alpha;
use crate::normal::{normal_cdf, normal_quantile};

/// An O'Brien-Fleming type alpha-spending function (Lan and DeMets 1983).
///
/// ```
/// let spending = zc_stats::AlphaSpending::new(0.95).unwrap();
/// assert!(spending.spent(0.5) < 0.006);
/// // The last of four equally spaced analyses.
/// assert!((spending.confidence(0.75, 1.0) - 0.9736).abs() < 1e-4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AlphaSpending {
    alpha: f64,
}

impl AlphaSpending {
    /// Spends alpha = 1 - `confidence` in total. `None` unless `confidence` is strictly between 0
    /// and 1.
    pub fn new(confidence: f64) -> Option<Self> {
        alpha(confidence).map(|alpha| Self { alpha })
    }

    /// Error spent up to the information fraction `t`: 2 - 2 Phi(z(1 - alpha/2) / sqrt(t)).
    ///
    /// 0 for `t <= 0` and for NaN, alpha for `t >= 1`. Rises with `t`.
    pub fn spent(&self, t: f64) -> f64 {
        if t.is_nan() || t <= 0.0 {
            return 0.0;
        }
        if t >= 1.0 {
            return self.alpha;
        }
        // The lower tail directly: 1 - Phi loses its digits where Phi is nearly 1.
        (2.0 * normal_cdf(normal_quantile(self.alpha / 2.0) / t.sqrt())).min(self.alpha)
    }

    /// Error that the analysis at information fraction `now` may spend, where the analysis before
    /// was at `previous` (0 before the first). 0 when `now` is not after `previous`.
    pub fn increment(&self, previous: f64, now: f64) -> f64 {
        (self.spent(now) - self.spent(previous)).max(0.0)
    }

    /// Confidence of the intervals of that analysis: 1 - [`increment`](Self::increment).
    pub fn confidence(&self, previous: f64, now: f64) -> f64 {
        1.0 - self.increment(previous, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_o_brien_fleming_like_function_has_the_values_of_its_formula() {
        // SciPy: 2 * norm.sf(norm.ppf(.975) / sqrt(t)).
        let spending = AlphaSpending::new(0.95).unwrap();
        for (t, expected) in
            [(0.25, 0.000_088_6), (0.5, 0.005_574_6), (0.75, 0.023_625), (1.0, 0.05)]
        {
            assert!(
                (spending.spent(t) / expected - 1.0).abs() < 1e-3,
                "{t}: {}",
                spending.spent(t)
            );
        }
    }

    #[test]
    fn all_increments_add_up_to_alpha() {
        let spending = AlphaSpending::new(0.95).unwrap();
        let fractions = [0.0, 0.25, 0.5, 0.75, 1.0];
        let total: f64 =
            fractions.windows(2).map(|pair| spending.increment(pair[0], pair[1])).sum();
        assert!((total - 0.05).abs() < 1e-12);
        assert!((spending.confidence(0.75, 1.0) - 0.9736).abs() < 1e-4);
        assert!((spending.confidence(0.0, 1.0) - 0.95).abs() < 1e-12);
    }

    #[test]
    fn fractions_outside_of_0_to_1_spend_nothing_more() {
        let spending = AlphaSpending::new(0.95).unwrap();
        assert_eq!(spending.spent(0.0), 0.0);
        assert_eq!(spending.spent(-1.0), 0.0);
        assert_eq!(spending.spent(f64::NAN), 0.0);
        assert!((spending.spent(7.0) - 0.05).abs() < 1e-12);
        assert_eq!(spending.increment(0.8, 0.5), 0.0);
        assert_eq!(AlphaSpending::new(1.0), None);
        assert_eq!(AlphaSpending::new(f64::NAN), None);
    }
}
