//! Welch's t: the difference of two means whose variances may be unequal.

use crate::interval::Interval;
use crate::student_t::StudentT;

/// Estimate and interval of [`welch_interval`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Welch {
    /// Mean of the first sample minus mean of the second.
    pub difference: f64,
    /// Standard error of the difference.
    pub standard_error: f64,
    /// Effective degrees of freedom by the Welch-Satterthwaite equation.
    pub degrees_of_freedom: f64,
    /// Confidence interval of the difference.
    pub interval: Interval,
}

/// Welch's t interval of mean(`first`) - mean(`second`) ("The Generalization of 'Student's' Problem
/// when Several Different Population Variances are Involved", Biometrika 34, 1947).
///
/// Nearly exact for independent normal values. `None` with fewer than two values in a sample, for a
/// value that is not finite, when neither sample varies, and unless `confidence` is strictly
/// between 0 and 1. O(n).
pub fn welch_interval(first: &[f64], second: &[f64], confidence: f64) -> Option<Welch> {
    let (mean1, error1, free1) = mean_and_squared_error(first)?;
    let (mean2, error2, free2) = mean_and_squared_error(second)?;
    let squared = error1 + error2;
    let degrees_of_freedom = squared.powi(2) / (error1.powi(2) / free1 + error2.powi(2) / free2);
    let difference = mean1 - mean2;
    let standard_error = squared.sqrt();
    let half = StudentT::new(degrees_of_freedom)?.critical_value(confidence)? * standard_error;
    (difference.is_finite() && half.is_finite()).then_some(Welch {
        difference,
        standard_error,
        degrees_of_freedom,
        interval: Interval {
            low: difference - half,
            high: difference + half,
            achieved_confidence: confidence,
        },
    })
}

/// Mean, squared standard error of the mean, and degrees of freedom.
fn mean_and_squared_error(values: &[f64]) -> Option<(f64, f64, f64)> {
    if values.len() < 2 || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, squares / (n - 1.0) / n, n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_s_sleep_data_agree_with_r() {
        // R: t.test(extra ~ group, data = sleep), Student (1908) by Cushny and Peebles.
        // t = -1.8608, df = 17.776, 95 percent confidence interval: -3.3654832  0.2054832
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let welch = welch_interval(&first, &second, 0.95).unwrap();
        assert!((welch.difference / welch.standard_error + 1.8608).abs() < 5e-5);
        assert!((welch.degrees_of_freedom - 17.776).abs() < 5e-4);
        assert!((welch.interval.low + 3.365_483_2).abs() < 5e-8, "{welch:?}");
        assert!((welch.interval.high - 0.205_483_2).abs() < 5e-8);
    }

    #[test]
    fn too_few_values_nan_and_constant_samples_are_none() {
        assert_eq!(welch_interval(&[1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(welch_interval(&[1.0, 1.0], &[2.0, 2.0], 0.95), None);
        assert_eq!(welch_interval(&[1.0, f64::NAN], &[1.0, 2.0], 0.95), None);
        assert_eq!(welch_interval(&[1.0, 2.0], &[1.0, 2.0], 0.0), None);
        assert!(welch_interval(&[1.0, 1.0], &[2.0, 2.5], 0.95).is_some());
    }
}
