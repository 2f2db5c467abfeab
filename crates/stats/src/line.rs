//! A straight line through measured points, and a curve that only falls.

/// The line a + b x, neither a nor b below 0, that leaves the least sum of squared errors, each times its point's weight.
/// With 1/y^2 as weights errors count by what they are relative to. Points are (x, y, weight).
///
/// `None` with fewer than two different x, or when a number is not finite or a weight not above 0.
pub fn nonnegative_line(points: &[(f64, f64, f64)]) -> Option<(f64, f64)> {
    let usable = |&(x, y, w): &(f64, f64, f64)| x.is_finite() && y.is_finite() && w.is_finite() && w > 0.0;
    let first = points.first()?.0;
    if !points.iter().all(usable) || points.iter().all(|point| point.0 == first) {
        return None;
    }
    // Weights by the greatest, or the squares of what is counted in nanoseconds would leave few digits.
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
        return Some((a, b));
    }
    // The sum of squares is convex: where its least lies outside of the quadrant, that of the quadrant lies on an edge.
    let edges = [((wy / w).max(0.0), 0.0), (0.0, (wxy / wxx).max(0.0))];
    let squares = |(a, b): (f64, f64)| -> f64 {
        points.iter().map(|(x, y, weight)| weight / largest * (a + b * x - y).powi(2)).sum()
    };
    let finite = edges.into_iter().filter(|edge| edge.0.is_finite() && edge.1.is_finite());
    finite.min_by(|one, other| squares(*one).total_cmp(&squares(*other)))
}

/// The values that never rise and lie nearest to the given ones by least squares: what goes against the trend is pooled with
/// its neighbours (pool adjacent violators; Barlow et al., "Statistical Inference under Order Restrictions", 1972).
pub fn falling(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::with_capacity(values.len());
    for value in values {
        let mut pool = (*value, 1);
        while let Some((before, count)) = pools.last().copied().filter(|(before, _)| *before < pool.0) {
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

    fn relative(points: &[(f64, f64)]) -> Option<(f64, f64)> {
        nonnegative_line(&points.iter().map(|(x, y)| (*x, *y, 1.0 / (y * y))).collect::<Vec<_>>())
    }

    #[test]
    fn points_on_a_line_give_the_line() {
        let points: Vec<(f64, f64)> = (8..=22).map(|p| f64::from(1 << p)).map(|x| (x, 730.0 + 0.2 * x)).collect();
        let (a, b) = relative(&points).unwrap();
        assert!((a - 730.0).abs() < 1e-6 && (b - 0.2).abs() < 1e-9, "{a} {b}");
    }

    #[test]
    fn neither_a_call_nor_a_byte_costs_less_than_nothing() {
        assert_eq!(nonnegative_line(&[(1.0, 1.0, 1.0), (2.0, 3.0, 1.0)]), Some((0.0, 1.4)), "a would be -1");
        assert_eq!(nonnegative_line(&[(1.0, 3.0, 1.0), (3.0, 1.0, 1.0)]), Some((2.0, 0.0)), "b would be -1");
        assert_eq!(nonnegative_line(&[(1.0, -3.0, 1.0), (3.0, -1.0, 1.0)]), Some((0.0, 0.0)));
    }

    #[test]
    fn what_is_no_line_is_none() {
        assert_eq!(nonnegative_line(&[]), None);
        assert_eq!(nonnegative_line(&[(1.0, 1.0, 1.0)]), None);
        assert_eq!(nonnegative_line(&[(2.0, 1.0, 1.0), (2.0, 3.0, 1.0)]), None);
        assert_eq!(nonnegative_line(&[(1.0, f64::NAN, 1.0), (2.0, 3.0, 1.0)]), None);
        assert_eq!(nonnegative_line(&[(1.0, 1.0, 0.0), (2.0, 3.0, 1.0)]), None);
    }

    #[test]
    fn violators_are_pooled() {
        assert_eq!(falling(&[3.0, 1.0, 2.0, 0.0]), [3.0, 1.5, 1.5, 0.0]);
        assert_eq!(falling(&[1.0, 2.0, 3.0]), [2.0, 2.0, 2.0]);
        assert_eq!(falling(&[3.0, 2.0]), [3.0, 2.0]);
        assert_eq!(falling(&[]), [0.0; 0]);
    }

    proptest! {
        #[test]
        fn no_line_nearby_is_better(
            points in prop::collection::vec((0.1..100.0f64, -5.0..50.0f64, 0.01..10.0f64), 2..12),
            steps in prop::collection::vec((-1.0..1.0f64, -0.1..0.1f64), 20),
        ) {
            let Some((a, b)) = nonnegative_line(&points) else { return Ok(()) };
            prop_assert!(a >= 0.0 && b >= 0.0);
            let squares = |a: f64, b: f64| -> f64 { points.iter().map(|(x, y, w)| w * (a + b * x - y).powi(2)).sum() };
            for (up, along) in steps {
                let (other_a, other_b) = ((a + up).max(0.0), (b + along).max(0.0));
                prop_assert!(squares(a, b) <= squares(other_a, other_b) * (1.0 + 1e-9) + 1e-9);
            }
        }

        #[test]
        fn a_falling_curve_falls_and_keeps_the_sum(values in prop::collection::vec(-10.0..10.0f64, 0..30)) {
            let curve = falling(&values);
            prop_assert!(curve.windows(2).all(|pair| pair[0] >= pair[1]));
            prop_assert!((curve.iter().sum::<f64>() - values.iter().sum::<f64>()).abs() < 1e-9);
        }
    }
}
