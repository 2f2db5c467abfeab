//! Monotone cubic interpolation: a smooth curve through points that rises where they rise, falls
//! where they fall, and never leaves the range of two neighbours.

/// A monotone piecewise cubic Hermite interpolant.
///
/// F. N. Fritsch and R. E. Carlson, "Monotone Piecewise Cubic Interpolation", SIAM Journal on
/// Numerical Analysis 17 (1980), with the slopes of F. N. Fritsch and J. Butland, "A Method for
/// Constructing Local Monotone Piecewise Cubic Interpolants", SIAM Journal on Scientific and
/// Statistical Computing 5 (1984): the weighted harmonic mean of the slopes of the two pieces that
/// meet, and 0 at an extremum. It is the `PchipInterpolator` of SciPy and the `pchip` of Matlab.
///
/// ```
/// let curve = zc_stats::MonotoneCubic::new(&[(0.0, 0.0), (1.0, 1.0), (3.0, 1.0)]).unwrap();
/// assert_eq!(curve.at(1.0), 1.0);
/// assert_eq!(curve.at(2.0), 1.0);
/// assert!(curve.at(0.5) > 0.5 && curve.at(0.9) < 1.0);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MonotoneCubic {
    /// Place, value and slope of each point, by rising place.
    points: Vec<Point>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    x: f64,
    y: f64,
    slope: f64,
}

impl MonotoneCubic {
    /// The curve through points (x, y). `None` with fewer than two, unless x rises strictly, and
    /// where a number is not finite.
    pub fn new(points: &[(f64, f64)]) -> Option<Self> {
        let finite = points.iter().all(|(x, y)| x.is_finite() && y.is_finite());
        let rises = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if points.len() < 2 || !finite || !rises {
            return None;
        }
        let pieces: Vec<(f64, f64)> = points
            .windows(2)
            .map(|pair| {
                let length = pair[1].0 - pair[0].0;
                (length, (pair[1].1 - pair[0].1) / length)
            })
            .collect();
        let last = pieces.len();
        let slope = |at: usize| match at {
            0 => slope_of_end(pieces[0], pieces.get(1).copied()),
            at if at == last => slope_of_end(
                pieces[last - 1],
                last.checked_sub(2).and_then(|before| pieces.get(before)).copied(),
            ),
            at => slope_between(pieces[at - 1], pieces[at]),
        };
        let points =
            points.iter().enumerate().map(|(at, (x, y))| Point { x: *x, y: *y, slope: slope(at) });
        Some(Self { points: points.collect() })
    }

    /// The value at a place; before the first point and beyond the last one, theirs. NaN for NaN.
    pub fn at(&self, x: f64) -> f64 {
        let after = self.points.partition_point(|point| point.x <= x);
        let (Some(from), Some(to)) =
            (after.checked_sub(1).and_then(|at| self.points.get(at)), self.points.get(after))
        else {
            let end = if after == 0 { self.points.first() } else { self.points.last() };
            return end.filter(|_| !x.is_nan()).map_or(f64::NAN, |point| point.y);
        };
        let length = to.x - from.x;
        let t = (x - from.x) / length;
        let u = 1.0 - t;
        // Hermite's basis, with the parts of both values first: they are exact at both ends.
        let value = (1.0 + 2.0 * t) * u * u * from.y
            + t * t * (3.0 - 2.0 * t) * to.y
            + length * t * u * (u * from.slope - t * to.slope);
        // Rounding may leave the range of the two by a few units in the last place.
        value.clamp(from.y.min(to.y), from.y.max(to.y))
    }
}

/// The slope where two pieces meet; each is its length and its slope.
fn slope_between(before: (f64, f64), after: (f64, f64)) -> f64 {
    if before.1 * after.1 <= 0.0 {
        return 0.0;
    }
    let (of_before, of_after) = (2.0 * after.0 + before.0, after.0 + 2.0 * before.0);
    (of_before + of_after) / (of_before / before.1 + of_after / after.1)
}

/// The slope at an end: that of the parabola through three points, limited so that the curve stays
/// monotone.
fn slope_of_end(end: (f64, f64), next: Option<(f64, f64)>) -> f64 {
    let Some(next) = next else { return end.1 };
    let slope = ((2.0 * end.0 + next.0) * end.1 - end.0 * next.1) / (end.0 + next.0);
    if slope * end.1 <= 0.0 {
        0.0
    } else if end.1 * next.1 <= 0.0 && slope.abs() > 3.0 * end.1.abs() {
        3.0 * end.1
    } else {
        slope
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_is_that_of_scipy() {
        // scipy.interpolate.PchipInterpolator([0, 1, 3, 4, 7], [1, 2, 2.5, 6, 5])
        let points = [(0.0, 1.0), (1.0, 2.0), (3.0, 2.5), (4.0, 6.0), (7.0, 5.0)];
        let curve = MonotoneCubic::new(&points).unwrap();
        for (x, y) in SCIPY {
            assert!((curve.at(x) - y).abs() < 1e-9, "{x}: {} {y}", curve.at(x));
        }
    }

    const SCIPY: [(f64, f64); 5] = [
        (0.25, 1.311_941_964_285_714_4),
        (0.5, 1.602_678_571_428_571_4),
        (2.0, 2.228_044_496_487_119),
        (3.7, 5.276_532_786_885_248),
        (5.5, 5.875),
    ];

    #[test]
    fn what_is_no_curve_is_refused() {
        for points in [
            &[][..],
            &[(0.0, 1.0)],
            &[(0.0, 1.0), (0.0, 2.0)],
            &[(1.0, 1.0), (0.0, 2.0)],
            &[(0.0, 1.0), (1.0, f64::NAN)],
            &[(0.0, 1.0), (f64::INFINITY, 2.0)],
        ] {
            assert_eq!(MonotoneCubic::new(points), None, "{points:?}");
        }
    }

    #[test]
    fn outside_it_keeps_the_values_of_its_ends() {
        let curve = MonotoneCubic::new(&[(0.0, 1.0), (1.0, 2.0)]).unwrap();
        assert_eq!((curve.at(-5.0), curve.at(0.5), curve.at(9.0)), (1.0, 1.5, 2.0));
        assert!(curve.at(f64::NAN).is_nan());
    }

    fn points() -> impl Strategy<Value = Vec<(f64, f64)>> {
        prop::collection::vec((0.001..10.0_f64, -100.0..100.0_f64), 2..12).prop_map(|steps| {
            let mut x = 0.0;
            let place = |(step, y): (f64, f64)| {
                x += step;
                (x, y)
            };
            steps.into_iter().map(place).collect()
        })
    }

    proptest! {
        #[test]
        fn it_passes_through_its_points(points in points()) {
            let curve = MonotoneCubic::new(&points).unwrap();
            for (x, y) in &points {
                prop_assert!((curve.at(*x) - y).abs() <= 1e-9 * y.abs());
            }
        }

        #[test]
        fn between_two_points_it_is_monotone(points in points()) {
            let curve = MonotoneCubic::new(&points).unwrap();
            for pair in points.windows(2) {
                let [(from, low), (to, high)] = [pair[0], pair[1]];
                let direction = (high - low).signum();
                let values: Vec<f64> = (0..=50)
                    .map(|step| curve.at(from + (to - from) * f64::from(step) / 50.0))
                    .collect();
                for step in values.windows(2) {
                    prop_assert!(direction * (step[1] - step[0]) >= -1e-9, "{:?}", values);
                }
            }
        }
    }
}
