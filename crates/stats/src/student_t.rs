//! Student's t distribution, and the t interval of a mean.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::interval::{Interval, alpha};

/// More degrees of freedom change a quantile by less than 2 parts in 10,000. statrs inverts an
/// incomplete beta function, which does not converge for 10^9.
const MAX_DEGREES_OF_FREEDOM: f64 = 10_000.0;

/// Student's t distribution ("The Probable Error of a Mean", Biometrika 6, 1908).
///
/// ```
/// let t = zc_stats::StudentT::new(10.0).unwrap();
/// assert!((t.critical_value(0.95).unwrap() - 2.228).abs() < 1e-3);
/// assert!((t.survival(2.228) - 0.025).abs() < 1e-5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudentT {
    distribution: StudentsT,
}

impl StudentT {
    /// `None` unless `degrees_of_freedom` is above 0; it need not be an integer. Above 10,000 the
    /// distribution is that of 10,000, which is normal to within 2 parts in 10,000.
    pub fn new(degrees_of_freedom: f64) -> Option<Self> {
        if degrees_of_freedom.is_nan() {
            return None; // `min` would ignore it
        }
        let distribution =
            StudentsT::new(0.0, 1.0, degrees_of_freedom.min(MAX_DEGREES_OF_FREEDOM)).ok()?;
        Some(Self { distribution })
    }

    /// The two-sided critical value t(1 - alpha/2), alpha = 1 - `confidence`: how many standard
    /// errors the interval of an estimate reaches to either side. `None` unless `confidence` is
    /// strictly between 0 and 1.
    pub fn critical_value(&self, confidence: f64) -> Option<f64> {
        Some(self.distribution.inverse_cdf(1.0 - alpha(confidence)? / 2.0))
    }

    /// The survival function P(T > t), the p-value of a one-sided test; NaN for NaN.
    pub fn survival(&self, t: f64) -> f64 {
        if t.is_nan() { f64::NAN } else { self.distribution.cdf(-t) }
    }
}

/// Student's t interval of the mean.
///
/// Exact for independent normal values; covers too little with few values of a heavy-tailed
/// distribution. `None` with fewer than two values, for a value that is not finite, and unless
/// `confidence` is strictly between 0 and 1. O(n).
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    if values.len() < 2 || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let half =
        StudentT::new(n - 1.0)?.critical_value(confidence)? * (squares / (n - 1.0) / n).sqrt();
    half.is_finite().then_some(Interval {
        low: mean - half,
        high: mean + half,
        achieved_confidence: confidence,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_s_sleep_data_agree_with_r() {
        // R: t.test(sleep$extra[sleep$group == 2]): 95 percent confidence interval 0.8976775
        // 3.7623225.
        let values = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let interval = mean_interval(&values, 0.95).unwrap();
        assert!((interval.low - 0.897_677_5).abs() < 5e-8, "{interval:?}");
        assert!((interval.high - 3.762_322_5).abs() < 5e-8, "{interval:?}");
    }

    #[test]
    fn critical_values_and_tails_agree_with_tables() {
        let ten = StudentT::new(10.0).unwrap();
        assert!((ten.critical_value(0.95).unwrap() - 2.228_138_85).abs() < 1e-6);
        assert!((ten.survival(2.228_138_85) - 0.025).abs() < 1e-8);
        assert!((ten.survival(-2.228_138_85) - 0.975).abs() < 1e-8);
        assert!(ten.survival(f64::NAN).is_nan());
        // Does not hang, and is the normal distribution's 1.959964.
        let many = StudentT::new(1e9).unwrap();
        assert!(
            (many.critical_value(0.95).unwrap() / 1.959_964 - 1.0).abs() < 2e-4,
            "{:?}",
            many.critical_value(0.95)
        );
        assert!((many.survival(1.959_964) / 0.025 - 1.0).abs() < 1e-3);
        assert_eq!(StudentT::new(f64::INFINITY), StudentT::new(1e9));
        assert_eq!(
            (ten.critical_value(1.0), StudentT::new(0.0), StudentT::new(f64::NAN)),
            (None, None, None)
        );
    }

    #[test]
    fn too_few_values_and_nan_are_none() {
        assert_eq!(mean_interval(&[1.0], 0.95), None);
        assert_eq!(mean_interval(&[1.0, f64::NAN], 0.95), None);
        assert_eq!(mean_interval(&[1.0, 2.0], 1.0), None);
        let same = mean_interval(&[3.0, 3.0], 0.95).unwrap();
        assert_eq!((same.low, same.high), (3.0, 3.0));
    }
}
