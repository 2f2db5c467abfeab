//! Means of levels, and their variances in the manner of Hartung and Knapp.

use super::model::LevelMean;
use super::reml::square;
use crate::mixed_model::{Design, Inverse, PARTNERS, Solution, UNITS};

/// A level's mean, and its row of the covariance.
pub(super) struct Level {
    pub(super) mean: LevelMean,
    pub(super) row: Vec<f64>,
}

impl Level {
    pub(super) fn all(design: &Design, solution: &Solution<'_>, inverse: &Inverse) -> Vec<Self> {
        let mut levels_of_unit = vec![None; design.units];
        let mut nested = true;
        for (level, unit, _) in &design.places {
            let known = levels_of_unit[*unit].get_or_insert(*level);
            nested &= known == level;
        }
        let levels_of_unit: Vec<usize> = levels_of_unit.into_iter().flatten().collect();
        let scales = nested.then(|| scales(design, solution, inverse, &levels_of_unit));
        (0..design.levels)
            .map(|level| Self::estimate(level, design, solution, scales.as_deref()))
            .collect()
    }

    fn estimate(
        level: usize,
        design: &Design,
        solution: &Solution<'_>,
        scales: Option<&[Scale]>,
    ) -> Self {
        let (row, of_units) = solution.row_of_level(level);
        let by_model = row[level];
        // Weight of each value in the mean, summed over the values of a partner.
        let mut by_partner = vec![0.0; design.partners];
        for (at, (level, unit, partner)) in design.places.iter().enumerate() {
            let Some(partner) = partner else { continue };
            let fitted = row[*level] + row[design.levels + partner] + of_units[*unit];
            by_partner[*partner] += solution.weights[at] * fitted;
        }
        let of_partners = solution.variances[PARTNERS] * square(&by_partner);
        let of_partners = if design.partners > 0 { of_partners.min(by_model) } else { 0.0 };
        let (variance, freedom, units) = match scales.map(|scales| scales[level]) {
            Some(Scale { q, units }) if units >= 2 => {
                let own = q * (by_model - of_partners);
                let partners = (design.partners as f64 - 1.0).max(1.0);
                let variance = own + of_partners;
                let of_sum = own.powi(2) / (units as f64 - 1.0) + of_partners.powi(2) / partners;
                let freedom = if of_sum > 0.0 { variance.powi(2) / of_sum } else { 1.0 };
                (Some(variance), freedom, units)
            }
            Some(Scale { units, .. }) => (None, 1.0, units),
            None => {
                let mut units: Vec<usize> = design
                    .places
                    .iter()
                    .filter(|place| place.0 == level)
                    .map(|place| place.1)
                    .collect();
                units.sort_unstable();
                units.dedup();
                let freedom = (design.values.len() - design.levels).max(1) as f64;
                (Some(by_model), freedom, units.len())
            }
        };
        let value = solution.effects[level];
        let mut row = row;
        row.truncate(design.levels);
        Self { mean: LevelMean { value, units, variance, freedom, by_model }, row }
    }
}

/// With fewer units than this, q is at least 1.
const FEW: usize = 4;

/// The factor of Hartung and Knapp of a level, and its units.
#[derive(Debug, Clone, Copy)]
struct Scale {
    q: f64,
    units: usize,
}

/// With w the weights of the units' means, q of Knapp and Hartung is the mean of the squares of
/// standardised effects, weighted by 1 - w / sum of w. That is also right, on average, where
/// effects of partners are taken off the means.
fn scales(
    design: &Design,
    solution: &Solution<'_>,
    inverse: &Inverse,
    levels_of_unit: &[usize],
) -> Vec<Scale> {
    let variance = solution.variances[UNITS];
    let mut inner = vec![0.0; design.units];
    for ((_, unit, _), weight) in design.places.iter().zip(&solution.weights) {
        inner[*unit] += weight;
    }
    let weights: Vec<f64> = inner.iter().map(|inner| 1.0 / (variance + 1.0 / inner)).collect();
    let mut of_levels = vec![0.0; design.levels];
    for (level, weight) in levels_of_unit.iter().zip(&weights) {
        of_levels[*level] += weight;
    }
    let mut sums = vec![(0.0, 0.0, 0); design.levels];
    for (unit, level) in levels_of_unit.iter().enumerate() {
        let share = 1.0 - weights[unit] / of_levels[*level];
        let expected = variance - inverse.of_units[unit];
        if expected > 0.0 {
            sums[*level].0 += share * solution.of_units[unit].powi(2) / expected;
            sums[*level].1 += share;
        }
        sums[*level].2 += 1;
    }
    let scale = |(squares, shares, units)| {
        let q = if shares > 0.0 { squares / shares } else { 1.0 };
        Scale { q: if units < FEW { f64::max(q, 1.0) } else { q }, units }
    };
    sums.into_iter().map(scale).collect()
}
