//! Regression: least squares with nonnegative coefficients, and isotonic regression.

/// Coefficients of weighted least squares, none of them negative (nonnegative least squares; Lawson
/// and Hanson, "Solving Least Squares Problems", 1974, chapter 23).
///
/// `points` are (x, y, weight), and y is fitted by the sum of coefficient times x; an x that is
/// always 1 gives an intercept. The weights 1/y^2 minimise relative errors. `None` where the points
/// do not determine the coefficients, for a number that is not finite, and for a weight that is not
/// positive. O(n) for a few coefficients: subsets of them are tried, of which there are 2^P.
///
/// ```
/// let points = [([1.0, 1.0], 3.0, 1.0), ([1.0, 2.0], 5.0, 1.0)];
/// assert_eq!(zc_stats::nonnegative_fit(&points), Some([1.0, 2.0]));
/// ```
pub fn nonnegative_fit<const P: usize>(points: &[([f64; P], f64, f64)]) -> Option<[f64; P]> {
    let usable = |(x, y, weight): &([f64; P], f64, f64)| {
        x.iter().all(|x| x.is_finite()) && y.is_finite() && weight.is_finite() && *weight > 0.0
    };
    if points.is_empty() || !points.iter().all(usable) {
        return None;
    }
    // Normalised weights: 1/y^2 of nanoseconds would leave few digits.
    let largest = points.iter().map(|point| point.2).fold(0.0, f64::max);
    let (mut squares, mut products) = ([[0.0; P]; P], [0.0; P]);
    for (x, y, weight) in points {
        for row in 0..P {
            let weighted = weight / largest * x[row];
            products[row] += weighted * y;
            for column in 0..P {
                squares[row][column] += weighted * x[column];
            }
        }
    }
    let fit = |subset: usize| solve_subset(&squares, &products, subset);
    let allowed = |fit: &[f64; P]| fit.iter().all(|each| *each >= 0.0);
    let all = (1 << P) - 1;
    let free = fit(all)?;
    if allowed(&free) {
        return Some(free);
    }
    // The sum of squares is convex: if its minimum has a negative coefficient, the minimum among
    // those that have none has a coefficient of 0, and is the free minimum over all others.
    let sum = |fit: &[f64; P]| -> f64 {
        let weighted_square = |(x, y, weight): &([f64; P], f64, f64)| {
            let fitted: f64 = std::iter::zip(x, fit).map(|(x, each)| x * each).sum();
            weight / largest * (fitted - y).powi(2)
        };
        points.iter().map(weighted_square).sum()
    };
    let constrained = (0..all).filter_map(fit).filter(allowed);
    constrained.min_by(|one, other| sum(one).total_cmp(&sum(other)))
}

/// A pivot below this share of its column's own square is rounding: the columns before it already
/// determine it.
const SINGULAR: f64 = 1e-12;

/// Solves the normal equations for the coefficients whose bits are set in `subset`; the others are
/// 0. `None` where they are not determined. Cholesky's method without square roots.
fn solve_subset<const P: usize>(
    squares: &[[f64; P]; P],
    products: &[f64; P],
    subset: usize,
) -> Option<[f64; P]> {
    let of_subset = |place: &usize| subset >> place & 1 == 1;
    let (mut rows, mut right) = (*squares, *products);
    for pivot in (0..P).filter(of_subset) {
        let (row, known) = (rows[pivot], right[pivot]);
        // False for NaN as well.
        let determined = row[pivot] > SINGULAR * squares[pivot][pivot];
        if !determined {
            return None;
        }
        for below in (pivot + 1..P).filter(of_subset) {
            let factor = rows[below][pivot] / row[pivot];
            for column in pivot..P {
                rows[below][column] -= factor * row[column];
            }
            right[below] -= factor * known;
        }
    }
    let mut solution = [0.0; P];
    for pivot in (0..P).filter(of_subset).rev() {
        let above: f64 = (pivot + 1..P).map(|place| rows[pivot][place] * solution[place]).sum();
        solution[pivot] = (right[pivot] - above) / rows[pivot][pivot];
    }
    solution.iter().all(|each| each.is_finite()).then_some(solution)
}

/// Antitonic regression: the nonincreasing sequence nearest to the given one by least squares.
///
/// Pool adjacent violators (Barlow et al., "Statistical Inference under Order Restrictions", 1972).
/// Returns as many values as given, with the same sum. O(n).
///
/// ```
/// assert_eq!(zc_stats::antitonic_regression(&[3.0, 1.0, 2.0, 0.0]), [3.0, 1.5, 1.5, 0.0]);
/// ```
pub fn antitonic_regression(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::with_capacity(values.len());
    for value in values {
        let mut pool = (*value, 1);
        while let Some((before, count)) =
            pools.last().copied().filter(|(before, _)| *before < pool.0)
        {
            pools.pop();
            let all = count + pool.1;
            pool = ((before * count as f64 + pool.0 * pool.1 as f64) / all as f64, all);
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(value, count)| std::iter::repeat_n(value, count)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Intercept and slope of a line through (x, y, weight).
    fn fit(points: &[(f64, f64, f64)]) -> Option<(f64, f64)> {
        let points: Vec<_> = points.iter().map(|(x, y, weight)| ([1.0, *x], *y, *weight)).collect();
        nonnegative_fit(&points).map(|[intercept, slope]| (intercept, slope))
    }

    fn relative(points: &[(f64, f64)]) -> Option<(f64, f64)> {
        fit(&points.iter().map(|(x, y)| (*x, *y, 1.0 / (y * y))).collect::<Vec<_>>())
    }

    #[test]
    fn points_on_a_line_give_the_line() {
        let points: Vec<(f64, f64)> =
            (8..=22).map(|p| f64::from(1 << p)).map(|x| (x, 730.0 + 0.2 * x)).collect();
        let (a, b) = relative(&points).unwrap();
        assert!((a - 730.0).abs() < 1e-6 && (b - 0.2).abs() < 1e-9, "{a} {b}");
    }

    #[test]
    fn intercept_and_slope_are_not_negative() {
        assert_eq!(fit(&[(1.0, 1.0, 1.0), (2.0, 3.0, 1.0)]), Some((0.0, 1.4)), "a would be -1");
        assert_eq!(fit(&[(1.0, 3.0, 1.0), (3.0, 1.0, 1.0)]), Some((2.0, 0.0)), "b would be -1");
        assert_eq!(fit(&[(1.0, -3.0, 1.0), (3.0, -1.0, 1.0)]), Some((0.0, 0.0)));
    }

    #[test]
    fn too_few_points_and_bad_weights_have_no_line() {
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&[(1.0, 1.0, 1.0)]), None);
        assert_eq!(fit(&[(2.0, 1.0, 1.0), (2.0, 3.0, 1.0)]), None);
        assert_eq!(fit(&[(1.0, f64::NAN, 1.0), (2.0, 3.0, 1.0)]), None);
        assert_eq!(fit(&[(1.0, 1.0, 0.0), (2.0, 3.0, 1.0)]), None);
    }

    #[test]
    fn a_plane_is_found_and_columns_that_are_the_same_are_refused() {
        let plane = |x: f64, z: f64| ([x, z, 1.0], 3.0 * x + 0.5 * z + 7.0, 1.0);
        let points = [plane(1.0, 0.0), plane(0.0, 40.0), plane(2.0, 9.0), plane(5.0, 5.0)];
        let [a, b, c] = nonnegative_fit(&points).unwrap();
        assert!((a - 3.0).abs() < 1e-9 && (b - 0.5).abs() < 1e-9 && (c - 7.0).abs() < 1e-9);
        let same = [plane(1.0, 2.0), plane(2.0, 4.0), plane(3.0, 6.0), plane(5.0, 10.0)];
        assert_eq!(nonnegative_fit(&same), None);
        assert_eq!(nonnegative_fit::<1>(&[]), None);
    }

    #[test]
    fn adjacent_violators_are_pooled() {
        assert_eq!(antitonic_regression(&[3.0, 1.0, 2.0, 0.0]), [3.0, 1.5, 1.5, 0.0]);
        assert_eq!(antitonic_regression(&[1.0, 2.0, 3.0]), [2.0, 2.0, 2.0]);
        assert_eq!(antitonic_regression(&[3.0, 2.0]), [3.0, 2.0]);
        assert_eq!(antitonic_regression(&[]), [0.0; 0]);
    }

    proptest! {
        #[test]
        fn no_nearby_line_has_a_smaller_sum_of_squares(
            points in prop::collection::vec((0.1..100.0f64, -5.0..50.0f64, 0.01..10.0f64), 2..12),
            steps in prop::collection::vec((-1.0..1.0f64, -0.1..0.1f64), 20),
        ) {
            let (a, b) = fit(&points).unwrap();
            prop_assert!(a >= 0.0 && b >= 0.0);
            let squares = |a: f64, b: f64| -> f64 {
                points.iter().map(|(x, y, w)| w * (a + b * x - y).powi(2)).sum()
            };
            for (up, along) in steps {
                let (other_a, other_b) = ((a + up).max(0.0), (b + along).max(0.0));
                prop_assert!(squares(a, b) <= squares(other_a, other_b) * (1.0 + 1e-9) + 1e-9);
            }
        }

        #[test]
        fn no_nearby_plane_has_a_smaller_sum_of_squares(
            points in prop::collection::vec(
                (prop::array::uniform3(0.1..100.0f64), -5.0..50.0f64, 0.01..10.0f64), 4..12,
            ),
            steps in prop::collection::vec(prop::array::uniform3(-0.1..0.1f64), 20),
        ) {
            let found = nonnegative_fit(&points).unwrap();
            prop_assert!(found.iter().all(|each| *each >= 0.0));
            let squares = |fit: [f64; 3]| -> f64 {
                let weighted_square = |(x, y, w): &([f64; 3], f64, f64)| {
                    w * (x[0] * fit[0] + x[1] * fit[1] + x[2] * fit[2] - y).powi(2)
                };
                points.iter().map(weighted_square).sum()
            };
            for step in steps {
                let other = [0, 1, 2].map(|place| (found[place] + step[place]).max(0.0));
                prop_assert!(squares(found) <= squares(other) * (1.0 + 1e-9) + 1e-9);
            }
        }

        #[test]
        fn antitonic_regression_does_not_rise_and_keeps_the_sum(
            values in prop::collection::vec(-10.0..10.0f64, 0..30),
        ) {
            let curve = antitonic_regression(&values);
            prop_assert!(curve.windows(2).all(|pair| pair[0] >= pair[1]));
            prop_assert!((curve.iter().sum::<f64>() - values.iter().sum::<f64>()).abs() < 1e-9);
        }
    }
}
