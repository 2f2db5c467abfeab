//! Regression: a straight line with nonnegative coefficients, and isotonic regression.

/// A straight line `intercept + slope * x`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Line {
    /// Value at x = 0.
    pub intercept: f64,
    /// Rise per unit of x.
    pub slope: f64,
}

impl Line {
    /// The value of the line at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

/// The line of weighted least squares whose intercept and slope are not negative (nonnegative least
/// squares; Lawson and Hanson, "Solving Least Squares Problems", 1974, chapter 23).
///
/// `points` are (x, y, weight); the weights 1/y^2 minimise relative errors. `None` with fewer than
/// two different x, for a number that is not finite, and for a weight that is not positive. O(n).
///
/// ```
/// let line = zc_stats::nonnegative_line(&[(1.0, 3.0, 1.0), (2.0, 5.0, 1.0)]).unwrap();
/// assert_eq!((line.intercept, line.slope), (1.0, 2.0));
/// ```
pub fn nonnegative_line(points: &[(f64, f64, f64)]) -> Option<Line> {
    let usable =
        |&(x, y, w): &(f64, f64, f64)| x.is_finite() && y.is_finite() && w.is_finite() && w > 0.0;
    let first = points.first()?.0;
    if !points.iter().all(usable) || points.iter().all(|point| point.0 == first) {
        return None;
    }
    // Normalised weights: 1/y^2 of nanoseconds would leave few digits.
    let largest = points.iter().map(|point| point.2).fold(0.0, f64::max);
    let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (x, y, weight) in points {
        let weight = weight / largest;
        w += weight;
        wx += weight * x;
        wy += weight * y;
        wxx += weight * x * x;
        wxy += weight * x * y;
    }
    let determinant = w * wxx - wx * wx;
    let (a, b) = ((wxx * wy - wx * wxy) / determinant, (w * wxy - wx * wy) / determinant);
    if a >= 0.0 && b >= 0.0 && a.is_finite() && b.is_finite() {
        return Some(Line { intercept: a, slope: b });
    }
    // The sum of squares is convex: if its minimum is outside of the quadrant, the constrained
    // minimum is on an edge.
    let edges = [((wy / w).max(0.0), 0.0), (0.0, (wxy / wxx).max(0.0))];
    let squares = |(a, b): (f64, f64)| -> f64 {
        points.iter().map(|(x, y, weight)| weight / largest * (a + b * x - y).powi(2)).sum()
    };
    let finite = edges.into_iter().filter(|edge| edge.0.is_finite() && edge.1.is_finite());
    let best = finite.min_by(|one, other| squares(*one).total_cmp(&squares(*other)))?;
    Some(Line { intercept: best.0, slope: best.1 })
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

    fn fit(points: &[(f64, f64, f64)]) -> Option<(f64, f64)> {
        nonnegative_line(points).map(|line| (line.intercept, line.slope))
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
        fn antitonic_regression_does_not_rise_and_keeps_the_sum(
            values in prop::collection::vec(-10.0..10.0f64, 0..30),
        ) {
            let curve = antitonic_regression(&values);
            prop_assert!(curve.windows(2).all(|pair| pair[0] >= pair[1]));
            prop_assert!((curve.iter().sum::<f64>() - values.iter().sum::<f64>()).abs() < 1e-9);
        }
    }
}
