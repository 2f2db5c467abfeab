//! The variance between groups that their own errors do not explain.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::interval::{Interval, alpha};

/// Estimate of a variance between groups.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct VarianceComponent {
    /// Variance between groups beyond that of their errors; 0 where these explain all of it.
    pub variance: f64,
    /// Variance of the values of the groups, errors included.
    pub total: f64,
    /// Degrees of freedom of `total`.
    pub degrees_of_freedom: f64,
}

/// Estimates by how much groups differ beyond their own errors, from several quantities that each
/// group has and that differ by as much. A quantity is a row: the value and the standard error of
/// each group, in the same order of groups.
///
/// The estimator is that of the analysis of variance: the mean of the quantities' sample variances
/// between groups, less the mean of the squared errors (Searle, Casella and McCulloch, "Variance
/// Components", 1992, section 3.6). It needs no distribution to be unbiased, also where errors
/// differ from group to group, except that what comes out below 0 counts as 0.
///
/// Quantities of one group may be correlated, so that twelve of them are worth less than twelve.
/// With S their sample covariance over k groups, the degrees of freedom are (k - 1) tr(S)^2 /
/// tr(S^2), by Satterthwaite's approximation (Biometrics Bulletin 2, 1946). A sample covariance
/// overstates tr(S^2), so these are rather too few, and never fewer than k - 1.
///
/// `None` without a quantity, with fewer than two groups, with rows of several lengths, and for
/// values that are not finite or errors below 0. O(q^2 k) for q quantities.
///
/// ```
/// // Two quantities of three groups, without errors: variances 1 and 9.
/// let rows = [vec![(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)], vec![(3.0, 0.0), (9.0, 0.0), (6.0, 0.0)]];
/// assert_eq!(zc_stats::variance_component(&rows).unwrap().variance, 5.0);
/// ```
pub fn variance_component(quantities: &[Vec<(f64, f64)>]) -> Option<VarianceComponent> {
    let groups = quantities.first()?.len();
    let valid =
        |(value, error): &(f64, f64)| value.is_finite() && error.is_finite() && *error >= 0.0;
    if groups < 2 || !quantities.iter().all(|row| row.len() == groups && row.iter().all(valid)) {
        return None;
    }
    let centred: Vec<Vec<f64>> = quantities
        .iter()
        .map(|row| {
            let mean = row.iter().map(|(value, _)| value).sum::<f64>() / groups as f64;
            row.iter().map(|(value, _)| value - mean).collect()
        })
        .collect();
    let freedom = (groups - 1) as f64;
    let covariance = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / freedom
    };
    let trace: f64 = centred.iter().map(|row| covariance(row, row)).sum();
    let trace_of_square: f64 =
        centred.iter().flat_map(|a| centred.iter().map(|b| covariance(a, b).powi(2))).sum();
    let total = trace / quantities.len() as f64;
    let errors: f64 = quantities.iter().flatten().map(|(_, error)| error.powi(2)).sum();
    Some(VarianceComponent {
        variance: (total - errors / (quantities.len() * groups) as f64).max(0.0),
        total,
        degrees_of_freedom: if trace_of_square > 0.0 {
            (freedom * trace.powi(2) / trace_of_square).max(freedom)
        } else {
            freedom
        },
    })
}

impl VarianceComponent {
    /// Variance of the estimate: that of `total`, as the groups' errors are taken as known.
    pub fn variance_of_estimate(&self) -> f64 {
        2.0 * self.total.powi(2) / self.degrees_of_freedom
    }

    /// Interval of the standard deviation between groups: that of `total` by the chi-squared
    /// distribution, less what the groups' errors explain of it. Where they explain all of it, that
    /// is `total`, which is less than the errors: both ends are then rather too high. `None` unless
    /// `confidence` is strictly between 0 and 1.
    pub fn deviation_interval(&self, confidence: f64) -> Option<Interval> {
        let chi_squared = ChiSquared::new(self.degrees_of_freedom).ok()?;
        let tail = alpha(confidence)? / 2.0;
        let errors = self.total - self.variance;
        let end = |quantile: f64| {
            let total = self.total * self.degrees_of_freedom / chi_squared.inverse_cdf(quantile);
            (total - errors).max(0.0).sqrt()
        };
        let (low, high) = (end(1.0 - tail), end(tail));
        high.is_finite().then_some(Interval { low, high, achieved_confidence: confidence })
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::StudentT;
    use crate::testing::DYESTUFF;

    fn normal(random: &mut Pcg64) -> f64 {
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    }

    /// Groups whose quantities differ by `between`, have `common` in common, and errors of 1.
    fn drawn(seed: u64, size: (usize, usize), between: f64, common: f64) -> Vec<Vec<(f64, f64)>> {
        let mut random = Pcg64::seed_from_u64(seed);
        let (quantities, groups) = size;
        let shared: Vec<f64> = (0..groups).map(|_| common * normal(&mut random)).collect();
        let mut row = || {
            shared
                .iter()
                .map(|shared| (shared + between * normal(&mut random) + normal(&mut random), 1.0))
                .collect()
        };
        (0..quantities).map(|_| row()).collect()
    }

    #[test]
    fn dyes_of_a_textbook() {
        // The components of the textbook: 1764 between, 2451 within.
        let row = DYESTUFF.map(|batch| {
            let mean = batch.iter().sum::<f64>() / 5.0;
            let squares: f64 = batch.iter().map(|value| (value - mean).powi(2)).sum();
            (mean, (squares / 4.0 / 5.0).sqrt())
        });
        let found = variance_component(&[row.to_vec()]).unwrap();
        assert!((found.variance - 1764.0).abs() < 1.0, "{found:?}");
        assert_eq!(found.degrees_of_freedom, 5.0);
    }

    #[test]
    fn the_estimate_is_unbiased_and_independent_quantities_add_freedom() {
        let mean = |of: fn(&VarianceComponent) -> f64, common: f64| {
            let each = (0..400)
                .map(|seed| of(&variance_component(&drawn(seed, (10, 8), 2.0, common)).unwrap()));
            each.sum::<f64>() / 400.0
        };
        let variance = mean(|found| found.variance, 0.0);
        assert!((variance / 4.0 - 1.0).abs() < 0.03, "{variance}");
        // Ten independent quantities of eight groups have 70, of which the estimate of a sample
        // covariance leaves 70 / (1 + 9/7) or so.
        let freedom = mean(|found| found.degrees_of_freedom, 0.0);
        assert!((25.0..50.0).contains(&freedom), "{freedom}");
        let alike = mean(|found| found.degrees_of_freedom, 20.0);
        assert!((7.0..7.5).contains(&alike), "{alike}");
    }

    #[test]
    fn an_interval_of_a_new_difference_with_it_holds_as_often_as_it_says() {
        // A comparison of two runs uses the difference of two new groups, both of one state.
        for (between, groups) in [(0.0, 4), (1.0, 4), (3.0, 4), (1.0, 8), (3.0, 8)] {
            let held = (0..2000).filter(|seed| {
                let found = variance_component(&drawn(*seed, (6, groups), between, 0.0)).unwrap();
                let new = &drawn(seed + 1_000_000, (1, 2), between, 0.0)[0];
                let variance = 2.0 + 2.0 * found.variance;
                let freedom = 2.0 * variance.powi(2) / (4.0 * found.variance_of_estimate());
                let critical = StudentT::new(freedom).unwrap().critical_value(0.95).unwrap();
                (new[0].0 - new[1].0).abs() <= critical * variance.sqrt()
            });
            let share = held.count() as f64 / 2000.0;
            assert!((0.94..0.99).contains(&share), "{between} {groups}: {share}");
        }
    }

    #[test]
    fn an_interval_of_the_deviation_holds_it_as_often_as_it_says() {
        for (between, groups) in [(1.0, 5), (3.0, 5), (1.0, 12)] {
            let held = (0..1000).filter(|seed| {
                let found = variance_component(&drawn(*seed, (6, groups), between, 0.0)).unwrap();
                let interval = found.deviation_interval(0.95).unwrap();
                (interval.low..=interval.high).contains(&between)
            });
            let share = held.count() as f64 / 1000.0;
            assert!((0.94..1.0).contains(&share), "{between} {groups}: {share}");
        }
    }

    #[test]
    fn what_errors_explain_is_no_difference_between_groups() {
        let row = vec![(1.0, 5.0), (2.0, 5.0), (3.0, 5.0)];
        let found = variance_component(&[row]).unwrap();
        assert_eq!((found.variance, found.total, found.degrees_of_freedom), (0.0, 1.0, 2.0));
        assert_eq!(found.deviation_interval(0.5).unwrap().low, 0.0);
        let alike = variance_component(&[vec![(7.0, 0.0); 3]]).unwrap();
        assert_eq!((alike.variance, alike.degrees_of_freedom), (0.0, 2.0));
    }

    #[test]
    fn rows_that_are_no_groups_have_no_component() {
        let none =
            |rows: &[Vec<(f64, f64)>]| assert_eq!(variance_component(rows), None, "{rows:?}");
        none(&[]);
        none(&[vec![]]);
        none(&[vec![(1.0, 0.0)]]);
        none(&[vec![(1.0, 0.0); 2], vec![(1.0, 0.0); 3]]);
        none(&[vec![(1.0, 0.0), (f64::NAN, 0.0)]]);
        none(&[vec![(1.0, 0.0), (1.0, -0.1)]]);
    }
}
