//! Values that come in clusters: by how much an interval over single values is too narrow where the
//! values of one cluster are alike.

use crate::normal::{normal_cdf, normal_quantile};
use crate::order_statistics::centred_ranks;
use crate::student_t::StudentT;

/// The factor by which the half-width of an interval over values must grow if it is to hold for
/// values drawn in clusters: `clusters` has the cluster of each value.
///
/// It is the root of the variance of the mean by the sums of the clusters (the cluster-robust
/// estimator with the factor k/(k-1); Liang and Zeger, "Longitudinal data analysis using
/// generalized linear models", Biometrika 73, 1986) divided by that of independent values, times
/// Student's critical value for k clusters divided by that for n values. All of that is of ranks,
/// so that one outlier does not decide it, and infinities count by their place.
///
/// At least 1. Independent values give 1 to 1.3, more often 1 the more clusters there are: with
/// fewer than half a dozen a factor is mostly chance. `None` with fewer than two clusters, for NaN,
/// when the slices differ in length, and unless `confidence` is strictly between 0 and 1. O(n log
/// n).
///
/// ```
/// let values = [1.0, 1.1, 5.0, 5.1, 9.0, 9.1];
/// let apart = zc_stats::cluster_inflation(&values, &[0, 1, 2, 3, 4, 5], 0.95);
/// let alike = zc_stats::cluster_inflation(&values, &[0, 0, 1, 1, 2, 2], 0.95);
/// assert_eq!(apart, Some(1.0));
/// assert!(alike.unwrap() > 2.0);
/// ```
pub fn cluster_inflation(values: &[f64], clusters: &[usize], confidence: f64) -> Option<f64> {
    if values.len() != clusters.len() {
        return None;
    }
    let ranks = centred_ranks(values)?;
    let mut members: Vec<(usize, f64)> = std::iter::zip(clusters.iter().copied(), ranks).collect();
    members.sort_unstable_by_key(|(cluster, _)| *cluster);
    let sums = members
        .chunk_by(|one, other| one.0 == other.0)
        .map(|cluster| cluster.iter().map(|(_, rank)| rank).sum::<f64>());
    let (k, n) = (sums.clone().count() as f64, members.len() as f64);
    if k < 2.0 {
        return None;
    }
    let by_clusters = sums.map(|sum| sum * sum).sum::<f64>() * k / (k - 1.0);
    let by_values = members.iter().map(|(_, rank)| rank * rank).sum::<f64>() * n / (n - 1.0);
    let critical = |n: f64| StudentT::new(n - 1.0)?.critical_value(confidence);
    let factor = (by_clusters / by_values).sqrt() * (critical(k)? / critical(n)?);
    // Equal values have no variance of either kind.
    Some(if factor.is_nan() { 1.0 } else { factor.max(1.0) })
}

/// The two-sided p-value of an estimate whose standard error is `inflation` times what `p_value`
/// was computed with. `None` unless `p_value` is between 0 and 1 and `inflation` is above 0.
///
/// ```
/// let p = zc_stats::inflated_p_value(0.05, 1.959_964 / 1.644_854).unwrap();
/// assert!((p - 0.1).abs() < 1e-6);
/// ```
pub fn inflated_p_value(p_value: f64, inflation: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&p_value) || inflation.is_nan() || inflation <= 0.0 {
        return None;
    }
    if p_value == 0.0 || p_value == 1.0 || inflation == 1.0 {
        return Some(p_value);
    }
    Some(2.0 * normal_cdf(normal_quantile(p_value / 2.0) / inflation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_of_equal_values_count_as_one_value_each() {
        // The mean of four clusters of five values is known as well as that of four values.
        let values: Vec<f64> = (0..20).map(|at| f64::from(at / 5)).collect();
        let clusters: Vec<usize> = (0..20).map(|at| at / 5).collect();
        let found = cluster_inflation(&values, &clusters, 0.95).unwrap();
        let critical = |n: f64| StudentT::new(n - 1.0).unwrap().critical_value(0.95).unwrap();
        let by_hand =
            (5.0 * (4.0 / 3.0) / (20.0 / 19.0_f64)).sqrt() * critical(4.0) / critical(20.0);
        assert!((found - by_hand).abs() < 1e-9, "{found} for {by_hand}");
    }

    #[test]
    fn one_outlier_does_not_make_clusters_unlike() {
        let mut values: Vec<f64> = (0..40).map(|at| f64::from(at * 23 % 40)).collect();
        let clusters: Vec<usize> = (0..40).map(|at| at / 5).collect();
        let before = cluster_inflation(&values, &clusters, 0.95);
        let most = values.iter().position(|value| *value == 39.0).unwrap();
        values[most] = f64::INFINITY;
        assert_eq!(cluster_inflation(&values, &clusters, 0.95), before);
    }

    #[test]
    fn there_is_no_factor_without_clusters_or_for_what_is_not_a_number() {
        assert_eq!(cluster_inflation(&[1.0, 2.0], &[7, 7], 0.95), None);
        assert_eq!(cluster_inflation(&[1.0, f64::NAN], &[0, 1], 0.95), None);
        assert_eq!(cluster_inflation(&[1.0, 2.0], &[0], 0.95), None);
        assert_eq!(cluster_inflation(&[1.0, 2.0], &[0, 1], 1.0), None);
        assert_eq!(cluster_inflation(&[], &[], 0.95), None);
        assert_eq!(cluster_inflation(&[3.0; 4], &[0, 0, 1, 1], 0.95), Some(1.0));
    }

    #[test]
    fn an_inflated_p_value_is_that_of_a_smaller_deviation() {
        assert_eq!(inflated_p_value(0.3, 1.0), Some(0.3));
        assert!(inflated_p_value(1e-12, 3.0).unwrap() > 0.01);
        assert_eq!(inflated_p_value(0.0, 2.0), Some(0.0));
        assert_eq!(inflated_p_value(1.0, 2.0), Some(1.0));
        assert_eq!(inflated_p_value(0.5, 0.0), None);
        assert_eq!(inflated_p_value(f64::NAN, 2.0), None);
    }
}
