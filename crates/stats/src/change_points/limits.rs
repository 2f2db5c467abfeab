//! Reduction of the sum of squares by changes of level in a series that has none.
//!
//! The table has quantiles of the largest gain of one, two or three changes in
//! series of independent normal values. It was simulated with a fixed seed by the ignored test
//! `simulate_the_table`.

/// Numbers of values.
pub(super) const LENGTHS: [usize; 13] = [5, 6, 7, 8, 10, 12, 15, 20, 30, 50, 100, 200, 400];

/// Probabilities of a larger gain.
pub(super) const TAILS: [f64; 10] =
    [0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002];

/// Gains by number of values, then by probability.
const GAINS: [[f64; 10]; 13] = [
    [7.64, 14.01, 23.68, 45.75, 74.30, 119.52, 215.97, 349.50, 540.18, 944.34],
    [9.02, 15.90, 25.83, 47.72, 75.04, 117.10, 213.80, 330.51, 535.36, 965.88],
    [8.70, 14.04, 21.31, 35.11, 50.72, 72.45, 114.84, 164.70, 219.12, 330.48],
    [8.34, 12.80, 18.52, 28.62, 38.74, 52.35, 77.46, 103.20, 138.82, 217.09],
    [8.52, 12.38, 17.03, 24.65, 31.97, 40.74, 56.43, 72.26, 91.55, 125.23],
    [8.27, 11.43, 15.04, 20.64, 25.68, 31.45, 40.61, 49.25, 60.89, 75.80],
    [7.97, 10.56, 13.42, 17.62, 21.20, 25.28, 31.35, 37.02, 42.97, 51.76],
    [7.70, 9.84, 12.10, 15.33, 18.01, 20.78, 24.75, 28.27, 31.87, 37.24],
    [7.54, 9.30, 11.10, 13.67, 15.67, 17.79, 20.87, 23.41, 25.99, 29.58],
    [7.57, 9.10, 10.68, 12.85, 14.56, 16.33, 18.68, 20.73, 22.94, 25.71],
    [7.88, 9.23, 10.62, 12.52, 14.04, 15.61, 17.76, 19.38, 20.93, 22.65],
    [8.31, 9.55, 10.83, 12.58, 13.93, 15.33, 17.63, 19.24, 21.09, 22.85],
    [8.91, 10.05, 11.20, 12.88, 14.21, 15.78, 17.90, 19.59, 20.83, 23.07],
];

/// The gain that a series of `n` values exceeds with the probability `tail` if it has no change.
/// Between the table's numbers, logarithms of gains are linear in those of lengths and
/// probabilities; beyond, they go on so. For fewer than five values it is that of five.
pub(super) fn limit(n: usize, tail: f64) -> f64 {
    let ln_lengths = LENGTHS.map(|n| (n as f64).ln());
    let ln_tails = TAILS.map(|tail| -tail.ln());
    let of_length = |row: &[f64; 10]| between(&ln_tails, &row.map(f64::ln), -tail.ln());
    let ln_gains: Vec<f64> = GAINS.iter().map(of_length).collect();
    between(&ln_lengths, &ln_gains, (n.max(LENGTHS[0]) as f64).ln()).exp()
}

/// The straight line between, or through the nearest, of the points with rising `x`.
fn between(x: &[f64], y: &[f64], at: f64) -> f64 {
    let right = x.partition_point(|x| *x < at).clamp(1, x.len() - 1);
    let slope = (y[right] - y[right - 1]) / (x[right] - x[right - 1]);
    y[right - 1] + slope * (at - x[right - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_table_and_between_them() {
        assert!((limit(20, 0.01) - GAINS[7][4]).abs() < 1e-9);
        let (more, less) = (limit(25, 0.003), limit(25, 0.004));
        assert!(less < more, "{less} {more}");
        assert!(limit(800, 1e-6) > limit(800, 1e-3));
        assert_eq!(limit(2, 0.05), limit(5, 0.05));
    }
}
