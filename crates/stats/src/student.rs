//! Student's t, and the mean of a few values with it.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::{Interval, alpha};

/// More degrees of freedom than these change a quantile by less than 2 parts in 10,000, and statrs, which inverts an incomplete beta
/// function for it, does not come to an end with a thousand million.
const MOST_FREEDOM: f64 = 10_000.0;

/// Student's distribution of an estimate that has a standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Student {
    distribution: StudentsT,
}

impl Student {
    /// With so many degrees of freedom; `None` unless they are a number above 0.
    pub fn new(degrees_of_freedom: f64) -> Option<Self> {
        if degrees_of_freedom.is_nan() {
            return None; // which `min` would take for more than enough
        }
        let distribution = StudentsT::new(0.0, 1.0, degrees_of_freedom.min(MOST_FREEDOM)).ok()?;
        Some(Self { distribution })
    }

    /// How many standard errors an interval reaches to either side at this confidence; `None` unless that is between 0 and 1.
    pub fn reach(&self, confidence: f64) -> Option<f64> {
        Some(self.distribution.inverse_cdf(1.0 - alpha(confidence)? / 2.0))
    }

    /// The probability of so many standard errors, or more; NaN for NaN.
    pub fn above(&self, standard_errors: f64) -> f64 {
        if standard_errors.is_nan() { f64::NAN } else { self.distribution.cdf(-standard_errors) }
    }
}

/// Student's t interval of the mean. `None` with fewer than two values or one that is not finite.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    if values.len() < 2 || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let half = Student::new(n - 1.0)?.reach(confidence)? * (squares / (n - 1.0) / n).sqrt();
    half.is_finite().then_some(Interval { low: mean - half, high: mean + half, confidence_reached: confidence })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_s_sleep_data_as_r_gives_them() {
        // R: t.test(sleep$extra[sleep$group == 2]): 95 percent confidence interval 0.8976775 3.7623225.
        let values = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let interval = mean_interval(&values, 0.95).unwrap();
        assert!((interval.low - 0.897_677_5).abs() < 5e-8, "{interval:?}");
        assert!((interval.high - 3.762_322_5).abs() < 5e-8, "{interval:?}");
    }

    #[test]
    fn quantiles_and_tails_are_those_of_the_tables() {
        let ten = Student::new(10.0).unwrap();
        assert!((ten.reach(0.95).unwrap() - 2.228_138_85).abs() < 1e-6);
        assert!((ten.above(2.228_138_85) - 0.025).abs() < 1e-8);
        assert!((ten.above(-2.228_138_85) - 0.975).abs() < 1e-8);
        assert!(ten.above(f64::NAN).is_nan());
        // The normal distribution's 1.959964, at once.
        let many = Student::new(1e9).unwrap();
        assert!((many.reach(0.95).unwrap() / 1.959_964 - 1.0).abs() < 2e-4, "{:?}", many.reach(0.95));
        assert!((many.above(1.959_964) / 0.025 - 1.0).abs() < 1e-3);
        assert_eq!(Student::new(f64::INFINITY), Student::new(1e9));
        assert_eq!((ten.reach(1.0), Student::new(0.0), Student::new(f64::NAN)), (None, None, None));
    }

    #[test]
    fn too_little_is_none() {
        assert_eq!(mean_interval(&[1.0], 0.95), None);
        assert_eq!(mean_interval(&[1.0, f64::NAN], 0.95), None);
        assert_eq!(mean_interval(&[1.0, 2.0], 1.0), None);
        let same = mean_interval(&[3.0, 3.0], 0.95).unwrap();
        assert_eq!((same.low, same.high), (3.0, 3.0));
    }
}
