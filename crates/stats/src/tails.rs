//! Estimates how heavy the tails of a distribution are.

use crate::order_statistics::quantile;
use crate::student_t::StudentT;

/// The confidences whose critical values are compared: half of all values, and nineteen twentieths.
const MIDDLE: f64 = 0.5;
const TAIL: f64 = 0.95;

/// Variance of the quotient of these quantiles, for normal values, times their number: by the
/// densities of
/// |z| at both (0.636 at 0.674, 0.117 at 1.960).
const VARIANCE: f64 = 14.8;

/// Standard errors by which the quotient must be above that of a normal distribution to be another
/// one.
const SURE: f64 = 2.0;

/// Fewest degrees of freedom: those of Cauchy's distribution.
const LEAST: f64 = 1.0;

/// The degrees of freedom of the Student's t distribution whose tails are as heavy as those of
/// `values`, which have a median of about 0; `None` where a normal distribution is not ruled out,
/// or with a value that is not finite.
///
/// The estimate is by the quotient of two quantiles of absolute values (in the manner of Hogg,
/// Journal of the American Statistical Association 69:909, 1974). A few values that lie far off
/// hardly change it; a twentieth of all do.
///
/// O(n log n).
///
/// ```
/// let cauchy = |at: i32| (f64::from(at) / 1000.0 * std::f64::consts::PI).tan();
/// let values: Vec<f64> = (-499..500).map(cauchy).collect();
/// assert!(zc_stats::heavy_tails(&values).unwrap() < 1.5);
/// let uniform: Vec<f64> = (-499..500).map(f64::from).collect();
/// assert_eq!(zc_stats::heavy_tails(&uniform), None);
/// ```
pub fn heavy_tails(values: &[f64]) -> Option<f64> {
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let absolute: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    let middle = quantile(&absolute, MIDDLE).filter(|middle| *middle > 0.0)?;
    let seen = quantile(&absolute, TAIL)? / middle;
    let error = (VARIANCE / values.len() as f64).sqrt();
    let tail_ratio = |freedom: f64| {
        let student = StudentT::new(freedom)?;
        Some(student.critical_value(TAIL)? / student.critical_value(MIDDLE)?)
    };
    if seen <= tail_ratio(f64::INFINITY)? + SURE * error {
        return None;
    }
    // The quotient falls with the degrees of freedom.
    let (mut low, mut high) = (LEAST, 1e4);
    for _ in 0..40 {
        let freedom = f64::sqrt(low * high);
        if tail_ratio(freedom)? > seen { low = freedom } else { high = freedom }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::normal;
    use rand::SeedableRng as _;
    use rand_pcg::Pcg64;

    #[test]
    fn normal_values_are_seldom_taken_for_others_and_heavy_ones_are_found() {
        let mut found = [0, 0];
        for seed in 0..400 {
            let mut random = Pcg64::seed_from_u64(seed);
            let mut draw = || normal(&mut random);
            let light: Vec<f64> = (0..100).map(|_| draw()).collect();
            found[0] += usize::from(heavy_tails(&light).is_some());
            // Student's t with two degrees of freedom.
            let heavy: Vec<f64> = (0..400)
                .map(|_| draw() / ((draw().powi(2) + draw().powi(2)) / 2.0).sqrt())
                .collect();
            found[1] += usize::from(heavy_tails(&heavy).is_some_and(|freedom| freedom < 10.0));
        }
        assert!(found[0] <= 20, "{found:?}");
        assert!(found[1] >= 380, "{found:?}");
    }

    #[test]
    fn values_that_have_no_quotient_have_no_tails() {
        assert_eq!(heavy_tails(&[]), None);
        assert_eq!(heavy_tails(&[0.0; 50]), None);
        assert_eq!(heavy_tails(&[1.0, f64::NAN, 2.0]), None);
        let mut one_sided = vec![1e-300; 95];
        one_sided.extend([1e300; 15]);
        assert_eq!(heavy_tails(&one_sided).map(f64::round), Some(1.0));
    }
}
