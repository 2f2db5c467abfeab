//! Many tests at once: which of them to believe.

/// The q-value of each p-value: the smallest rate of false discoveries at which it is one, if all
/// tests with q-values up to it are called discoveries.
///
/// It is computed by the step-up procedure of Benjamini and Hochberg ("Controlling the False
/// Discovery Rate", Journal of the Royal Statistical Society B 57, 1995): the smallest over all
/// p-values that are at least as large of p m / rank. The expected share of false ones among the
/// discoveries is at most the rate for independent tests, and for tests that are positively
/// dependent (Benjamini and Yekutieli, Annals of Statistics 29, 2001).
///
/// The result is in the order of the p-values; `None` where one is not between 0 and 1. O(n log n).
///
/// ```
/// let q = zc_stats::false_discovery_q_values(&[0.01, 0.04, 0.02, 0.5]).unwrap();
/// assert_eq!((q[0], q[2], q[3]), (0.04, 0.04, 0.5));
/// assert!((q[1] - 0.04 * 4.0 / 3.0).abs() < 1e-12);
/// ```
pub fn false_discovery_q_values(p_values: &[f64]) -> Option<Vec<f64>> {
    if !p_values.iter().all(|p| (0.0..=1.0).contains(p)) {
        return None;
    }
    let m = p_values.len();
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|a, b| p_values[*b].total_cmp(&p_values[*a]));
    let mut q_values = vec![1.0; m];
    let mut least = 1.0_f64;
    for (place, at) in order.into_iter().enumerate() {
        // The quotient is 1 for the largest, and rounded may be less.
        let times = (m as f64 / (m - place) as f64).max(1.0);
        least = least.min(p_values[at] * times);
        q_values[at] = least;
    }
    Some(q_values)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_pcg::Pcg64;

    use super::*;

    #[test]
    fn the_paper_s_example() {
        // Benjamini and Hochberg (1995), section 4.2: fifteen tests of thrombolysis; their
        // procedure rejects the first four at 5 %.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0000,
        ];
        let q = false_discovery_q_values(&p).unwrap();
        assert_eq!(q.iter().filter(|q| **q <= 0.05).count(), 4);
        // R: p.adjust(p, "BH").
        assert!((q[3] - 0.035_625).abs() < 1e-9 && (q[4] - 0.060_3).abs() < 1e-9, "{q:?}");
        assert_eq!(q[14], 1.0);
    }

    #[test]
    fn no_p_value_has_no_q_value_and_nonsense_has_none() {
        assert_eq!(false_discovery_q_values(&[]), Some(Vec::new()));
        assert_eq!(false_discovery_q_values(&[0.5, f64::NAN]), None);
        assert_eq!(false_discovery_q_values(&[1.5]), None);
    }

    #[test]
    fn a_q_value_is_at_least_the_p_value_and_keeps_its_order() {
        let mut random = Pcg64::seed_from_u64(1);
        for n in 1..60 {
            let p: Vec<f64> = (0..n).map(|_| random.random::<f64>()).collect();
            let q = false_discovery_q_values(&p).unwrap();
            for (i, p_i) in p.iter().enumerate() {
                assert!(*p_i <= q[i] && q[i] <= 1.0);
                assert!(p.iter().zip(&q).all(|(p, q_j)| p > p_i || *q_j <= q[i]));
            }
        }
    }

    #[test]
    fn where_nothing_is_something_is_found_as_rarely_as_it_says() {
        let mut random = Pcg64::seed_from_u64(2);
        let found = (0..2000)
            .filter(|_| {
                let p: Vec<f64> = (0..50).map(|_| random.random::<f64>()).collect();
                false_discovery_q_values(&p).is_some_and(|q| q.iter().any(|q| *q <= 0.05))
            })
            .count();
        assert!((70..=130).contains(&found), "{found} of 2000");
    }
}
