//! Looking at an interval more than once, and stopping when it pleases, without it becoming worth less than it says.
//!
//! The error that all looks together may make is spent bit by bit (Lan and DeMets, Biometrika 1983), by the function
//! that resembles O'Brien and Fleming's bounds: hardly anything early, nearly all at the end. Each look's interval has
//! the confidence 1 - (what was spent since the look before). By Bonferroni's inequality the probability that *any* of
//! the intervals misses is at most alpha, whatever their dependence and whatever decides when to stop. The price at the
//! last of looks at 1/4, 1/2, 3/4 and 1 is an interval of 2.22 sigma instead of 1.96; bounds that use the correlation
//! between looks (Lan and DeMets's own) would pay less, but they bound the error of one test that stops at its own
//! rejection. An interval that is stopped by its width, among a dozen others, deserves the plain inequality.

use crate::normal::{phi, z};

/// How the error of an interval is spread over looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AlphaSpending {
    alpha: f64,
}

impl AlphaSpending {
    /// Spends 1 - `confidence` in all. `None` when that is not between 0 and 1.
    pub fn new(confidence: f64) -> Option<Self> {
        crate::alpha(confidence).map(|alpha| Self { alpha })
    }

    /// What has been spent when the share `t` (0 to 1) of all information is in: 2 - 2 Phi(z(1 - alpha/2) / sqrt(t)).
    pub fn spent(&self, t: f64) -> f64 {
        if t.is_nan() || t <= 0.0 {
            return 0.0;
        }
        if t >= 1.0 {
            return self.alpha;
        }
        // The lower tail directly: 1 - Phi loses its digits where Phi is nearly 1.
        (2.0 * phi(z(self.alpha / 2.0) / t.sqrt())).min(self.alpha)
    }

    /// What a look at `t_now` may spend when the one before was at `t_previous` (0 before the first).
    pub fn increment(&self, t_previous: f64, t_now: f64) -> f64 {
        (self.spent(t_now) - self.spent(t_previous)).max(0.0)
    }

    /// The confidence at which intervals are computed at that look.
    pub fn level(&self, t_previous: f64, t_now: f64) -> f64 {
        1.0 - self.increment(t_previous, t_now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_o_brien_fleming_like_function_has_the_values_of_its_formula() {
        // 2 - 2 Phi(1.959964 / sqrt(t)), by SciPy: 2 * norm.sf(norm.ppf(.975) / sqrt(t)).
        let spending = AlphaSpending::new(0.95).unwrap();
        for (t, expected) in [(0.25, 0.000_088_6), (0.5, 0.005_574_6), (0.75, 0.023_625), (1.0, 0.05)] {
            assert!((spending.spent(t) / expected - 1.0).abs() < 1e-3, "{t}: {}", spending.spent(t));
        }
    }

    #[test]
    fn all_increments_add_up_to_alpha() {
        let spending = AlphaSpending::new(0.95).unwrap();
        let looks = [0.0, 0.25, 0.5, 0.75, 1.0];
        let total: f64 = looks.windows(2).map(|pair| spending.increment(pair[0], pair[1])).sum();
        assert!((total - 0.05).abs() < 1e-12);
        assert!((spending.level(0.75, 1.0) - 0.9736).abs() < 1e-4);
        assert!((spending.level(0.0, 1.0) - 0.95).abs() < 1e-12);
    }

    #[test]
    fn odd_fractions_spend_nothing_more() {
        let spending = AlphaSpending::new(0.95).unwrap();
        assert_eq!(spending.spent(0.0), 0.0);
        assert_eq!(spending.spent(-1.0), 0.0);
        assert_eq!(spending.spent(f64::NAN), 0.0);
        assert!(spending.spent(7.0) <= 0.05 + 1e-12);
        assert_eq!(spending.increment(0.8, 0.5), 0.0);
        assert_eq!(AlphaSpending::new(1.0), None);
        assert_eq!(AlphaSpending::new(f64::NAN), None);
    }
}
