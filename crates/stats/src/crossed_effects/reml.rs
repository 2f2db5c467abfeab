//! The variances of the largest restricted likelihood.

use crate::dense::Symmetric;
use crate::mixed_model::{Design, Inverse, Solution, Variances};

/// A variance that counts as 0, as a share of the variance of all values around their levels.
const FLOOR: f64 = 1e-5;

/// Least gain of the log-likelihood for another step: below it, the variances are within a
/// thirtieth of their standard errors.
const CLOSE: f64 = 1e-3;

/// Most steps towards the largest likelihood.
const STEPS: usize = 40;

/// The equations solved at the variances of the largest restricted likelihood.
pub(super) fn fit(design: &Design, with_sessions: bool) -> Option<(Solution<'_>, Inverse)> {
    let (start, floor) = start(design);
    // Where each level has one value, or one unit, nothing shows by how much others would differ.
    let has_more = design.values.len() > design.levels;
    let fitted = [design.units > design.levels, design.partners > 0, with_sessions]
        .map(|wanted| wanted && has_more);
    // Components that are not fitted have the variance that counts as 0.
    let start = [0, 1, 2].map(|each| if fitted[each] { start[each] } else { floor });
    let mut best = design.solve(start)?;
    let mut inverse = best.inverse();
    for _ in 0..STEPS {
        let score = inverse.score(&best);
        let information = best.information();
        let free = [0, 1, 2]
            .map(|each: usize| fitted[each] && (best.variances[each] > floor || score[each] > 0.0));
        let Some(step) = newton(&information, &score, free) else { break };
        let gain: f64 = step.iter().zip(&score).map(|(step, score)| step * score).sum();
        if gain.is_nan() || gain.abs() < CLOSE {
            break;
        }
        let mut share = 1.0;
        let better = loop {
            let moved =
                [0, 1, 2].map(|each: usize| (best.variances[each] + share * step[each]).max(floor));
            match design.solve(moved) {
                Some(next) if next.ln_likelihood > best.ln_likelihood - 1e-9 => break Some(next),
                _ if share < 1e-3 => break None,
                _ => share /= 3.0,
            }
        };
        let Some(better) = better else { break };
        best = better;
        inverse = best.inverse();
    }
    Some((best, inverse))
}

/// Newton's step in the free variances; 0 in the others. `None` where none is free.
fn newton(information: &[[f64; 3]; 3], score: &[f64; 3], free: [bool; 3]) -> Option<[f64; 3]> {
    let inverse = inverse_of(information, free)?;
    let mut step = [0.0; 3];
    for (step, row) in step.iter_mut().zip(&inverse) {
        *step = row.iter().zip(score).map(|(a, b)| a * b).sum();
    }
    step.iter().all(|each| each.is_finite()).then_some(step)
}

/// The inverse of the rows and columns that are free; 0 elsewhere. `None` where none is free.
pub(super) fn inverse_of(matrix: &[[f64; 3]; 3], free: [bool; 3]) -> Option<[[f64; 3]; 3]> {
    let rows: Vec<usize> = (0..3).filter(|each| free[*each]).collect();
    let mut dense = Symmetric::zeros(rows.len());
    for (place, row) in rows.iter().enumerate() {
        for (other, column) in rows.iter().enumerate().take(place + 1) {
            dense.add(place, other, matrix[*row][*column]);
        }
    }
    let factor = (!rows.is_empty()).then(|| dense.cholesky()).flatten()?;
    let mut inverse = [[0.0; 3]; 3];
    for (place, row) in rows.iter().enumerate() {
        let mut unit = vec![0.0; rows.len()];
        unit[place] = 1.0;
        factor.solve(&mut unit);
        for (value, column) in unit.iter().zip(&rows) {
            inverse[*row][*column] = *value;
        }
    }
    Some(inverse)
}

/// Variances by the analysis of variance: of values within units, of the means of partners in what
/// is left, and of the means of units. And the variance that counts as 0.
pub(super) fn start(design: &Design) -> (Variances, f64) {
    let n = design.values.len() as f64;
    let of_values = design.places.iter().zip(&design.values);
    let levels = Means::by_index(design.levels, of_values.map(|(place, value)| (place.0, *value)));
    let left: Vec<f64> = design
        .values
        .iter()
        .zip(&design.places)
        .map(|(value, place)| value - levels.mean(place.0))
        .collect();
    let total = square(&left) / (n - design.levels as f64).max(1.0);
    let own = design.own.iter().sum::<f64>() / n;
    // Equal values without errors leave nothing to scale by.
    let largest = design.values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let scale = total.max(own).max(1e-12 * (1.0 + largest.powi(2)));
    let floor = FLOOR * scale;
    let units = Means::by_index(
        design.units,
        left.iter().zip(&design.places).map(|(value, place)| (place.1, *value)),
    );
    let within: Vec<f64> =
        left.iter().zip(&design.places).map(|(value, place)| value - units.mean(place.1)).collect();
    let freedom = (n - design.units as f64).max(1.0);
    let rest = (square(&within) / freedom - own).max(0.0);
    let of_units = square(&units.means) / (design.units as f64 - design.levels as f64).max(1.0);
    let by_rest = (rest + own) * design.units as f64 / n;
    let of_partners = if design.partners > 1 {
        let partners = within.iter().zip(&design.places);
        let partners = partners.filter_map(|(value, place)| Some((place.2?, *value)));
        let means = Means::by_index(design.partners, partners);
        let seen = square(&means.means) / (design.partners as f64 - 1.0);
        (seen - (rest + own) * design.partners as f64 / n).max(0.0)
    } else {
        0.0
    };
    let least = 0.02 * scale;
    let start = [of_units - by_rest, of_partners, rest - of_partners];
    (start.map(|variance| variance.max(least)), floor)
}

pub(super) fn square(values: &[f64]) -> f64 {
    values.iter().map(|value| value.powi(2)).sum()
}

/// Means of values by index.
struct Means {
    means: Vec<f64>,
}

impl Means {
    fn by_index(count: usize, values: impl Iterator<Item = (usize, f64)>) -> Self {
        let mut sums = vec![(0.0, 0.0); count];
        for (index, value) in values {
            sums[index].0 += value;
            sums[index].1 += 1.0;
        }
        let mean = |(sum, n): (f64, f64)| if n > 0.0 { sum / n } else { 0.0 };
        Self { means: sums.into_iter().map(mean).collect() }
    }

    fn mean(&self, index: usize) -> f64 {
        self.means[index]
    }
}
