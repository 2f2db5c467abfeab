//! The mixed-model equations of values in levels, with the effects of units and of partners: their
//! solution at given variances, the restricted likelihood, and its derivatives.
//!
//! With y the values, X and Z the levels, units and partners that they belong to, and R the
//! diagonal matrix of their own variances, Henderson's equations ("Best Linear Unbiased Estimation
//! and Prediction under a Selection Model", Biometrics 31, 1975) are W'R^-1 W + G^-1 times the
//! effects = W'R^-1 y, with W = (X Z) and G the variances of the effects. The block of the units is
//! diagonal and is eliminated: what is left is a dense matrix over levels and partners.

use crate::dense::{Cholesky, Columns, Symmetric, dot};

/// Values, and what they belong to.
#[derive(Debug)]
pub(crate) struct Design {
    /// The values less their mean.
    pub(crate) values: Vec<f64>,
    /// Their own variances.
    pub(crate) own: Vec<f64>,
    /// Level, unit and partner of each.
    pub(crate) places: Vec<(usize, usize, Option<usize>)>,
    pub(crate) levels: usize,
    pub(crate) units: usize,
    /// 0 where values have no partner.
    pub(crate) partners: usize,
    /// Values by unit.
    of_unit: Vec<Vec<usize>>,
}

/// Variances of the effects of units and of partners, and of what values scatter by beyond their
/// own errors (sessions). That of partners is ignored where there are none.
pub(crate) type Variances = [f64; 3];

/// Indices into [`Variances`].
pub(crate) const UNITS: usize = 0;
pub(crate) const PARTNERS: usize = 1;
pub(crate) const SESSIONS: usize = 2;

impl Design {
    /// Every level must have a value.
    pub(crate) fn new(
        values: Vec<f64>,
        own: Vec<f64>,
        places: Vec<(usize, usize, Option<usize>)>,
        (levels, units, partners): (usize, usize, usize),
    ) -> Self {
        let mut of_unit = vec![Vec::new(); units];
        for (at, (_, unit, _)) in places.iter().enumerate() {
            of_unit[*unit].push(at);
        }
        Self { values, own, places, levels, units, partners, of_unit }
    }

    /// Rows of the equations without units: of levels, then of partners.
    fn kept(&self) -> usize {
        self.levels + self.partners
    }

    /// The rows of a value.
    fn rows(&self, at: usize) -> (usize, Option<usize>) {
        let (level, _, partner) = self.places[at];
        (level, partner.map(|partner| self.levels + partner))
    }

    /// The solution at these variances. `None` where numbers do not suffice for it.
    pub(crate) fn solve(&self, variances: Variances) -> Option<Solution<'_>> {
        let weights: Vec<f64> =
            self.own.iter().map(|own| 1.0 / (variances[SESSIONS] + own)).collect();
        let mut matrix = Symmetric::zeros(self.kept());
        for (at, weight) in weights.iter().enumerate() {
            let (level, partner) = self.rows(at);
            matrix.add(level, level, *weight);
            if let Some(partner) = partner {
                matrix.add(partner, partner, *weight);
                matrix.add(partner, level, *weight);
            }
        }
        for partner in 0..self.partners {
            matrix.add(self.levels + partner, self.levels + partner, 1.0 / variances[PARTNERS]);
        }
        let units: Vec<Unit> = self
            .of_unit
            .iter()
            .map(|of_unit| Unit::new(self, of_unit, &weights, variances[UNITS]))
            .collect();
        for unit in &units {
            for (place, (row, weight)) in unit.with.iter().enumerate() {
                for (other, weight_of_other) in &unit.with[..=place] {
                    matrix.add(*row, *other, -weight * weight_of_other / unit.diagonal);
                }
            }
        }
        let factor = matrix.cholesky()?;
        let mut solution = Solution {
            design: self,
            variances,
            weights,
            units,
            factor,
            effects: Vec::new(),
            of_units: Vec::new(),
            residuals: Vec::new(),
            ln_likelihood: 0.0,
        };
        (solution.effects, solution.of_units) = solution.fit(&self.values);
        solution.residuals =
            solution.residuals_of(&self.values, &solution.effects, &solution.of_units);
        solution.ln_likelihood = solution.ln_likelihood();
        solution.ln_likelihood.is_finite().then_some(solution)
    }
}

/// A unit's row of the equations.
#[derive(Debug)]
struct Unit {
    diagonal: f64,
    /// Its elements in the columns of levels and partners.
    with: Vec<(usize, f64)>,
}

impl Unit {
    fn new(design: &Design, of_unit: &[usize], weights: &[f64], variance: f64) -> Self {
        let mut with: Vec<(usize, f64)> = Vec::new();
        for at in of_unit {
            let (level, partner) = design.rows(*at);
            with.push((level, weights[*at]));
            with.extend(partner.map(|partner| (partner, weights[*at])));
        }
        with.sort_unstable_by_key(|(row, _)| *row);
        with.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                first.1 += later.1;
            }
            same
        });
        let all: f64 = of_unit.iter().map(|at| weights[*at]).sum();
        Self { diagonal: all + 1.0 / variance, with }
    }
}

/// The equations solved at given variances.
#[derive(Debug)]
pub(crate) struct Solution<'a> {
    design: &'a Design,
    pub(crate) variances: Variances,
    /// Inverse variance of each value, sessions included.
    pub(crate) weights: Vec<f64>,
    units: Vec<Unit>,
    factor: Cholesky,
    /// Means of levels, then effects of partners.
    pub(crate) effects: Vec<f64>,
    pub(crate) of_units: Vec<f64>,
    /// Values less all their effects.
    pub(crate) residuals: Vec<f64>,
    /// The restricted likelihood, but for a constant.
    pub(crate) ln_likelihood: f64,
}

impl Solution<'_> {
    /// Effects of levels and partners, and of units, that fit these values.
    fn fit(&self, values: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let design = self.design;
        let mut right = vec![0.0; design.kept()];
        for (at, value) in values.iter().enumerate() {
            let (level, partner) = design.rows(at);
            right[level] += self.weights[at] * value;
            if let Some(partner) = partner {
                right[partner] += self.weights[at] * value;
            }
        }
        let sums: Vec<f64> = design
            .of_unit
            .iter()
            .map(|of_unit| of_unit.iter().map(|at| self.weights[*at] * values[*at]).sum())
            .collect();
        for (unit, sum) in self.units.iter().zip(&sums) {
            for (row, weight) in &unit.with {
                right[*row] -= weight * sum / unit.diagonal;
            }
        }
        self.factor.solve(&mut right);
        let of_unit = |(unit, sum): (&Unit, &f64)| {
            let others: f64 = unit.with.iter().map(|(row, weight)| weight * right[*row]).sum();
            (sum - others) / unit.diagonal
        };
        let of_units = self.units.iter().zip(&sums).map(of_unit).collect();
        (right, of_units)
    }

    fn residuals_of(&self, values: &[f64], effects: &[f64], of_units: &[f64]) -> Vec<f64> {
        let residual = |(at, value): (usize, &f64)| {
            let (level, partner) = self.design.rows(at);
            let of_partner = partner.map_or(0.0, |partner| effects[partner]);
            value - effects[level] - of_units[self.design.places[at].1] - of_partner
        };
        values.iter().enumerate().map(residual).collect()
    }

    fn ln_likelihood(&self) -> f64 {
        let design = self.design;
        let own: f64 = self.weights.iter().map(|weight| -weight.ln()).sum();
        let units: f64 = self.units.iter().map(|unit| unit.diagonal.ln()).sum::<f64>()
            + design.units as f64 * self.variances[UNITS].ln();
        let partners = if design.partners > 0 {
            design.partners as f64 * self.variances[PARTNERS].ln()
        } else {
            0.0
        };
        let squares: f64 = (0..self.weights.len())
            .map(|at| design.values[at] * self.weights[at] * self.residuals[at])
            .sum();
        -0.5 * (own + units + partners + self.factor.ln_determinant() + squares)
    }

    /// Half of (y'P V_i P V_j P y): the average of the observed and the expected information of the
    /// variances (Gilmour, Thompson and Cullis, "Average Information REML", Biometrics 51, 1995).
    pub(crate) fn information(&self) -> [[f64; 3]; 3] {
        let design = self.design;
        let moved = |which: usize| -> Vec<f64> {
            let scaled_effect = |at: usize| {
                let (_, unit, partner) = design.places[at];
                match which {
                    UNITS => self.of_units[unit] / self.variances[UNITS],
                    PARTNERS => partner.map_or(0.0, |partner| {
                        self.effects[design.levels + partner] / self.variances[PARTNERS]
                    }),
                    _ => self.weights[at] * self.residuals[at],
                }
            };
            (0..self.weights.len()).map(scaled_effect).collect()
        };
        let all = [moved(UNITS), moved(PARTNERS), moved(SESSIONS)];
        let projected: Vec<Vec<f64>> = all
            .iter()
            .map(|values| {
                let (effects, of_units) = self.fit(values);
                let residuals = self.residuals_of(values, &effects, &of_units);
                residuals.iter().zip(&self.weights).map(|(each, weight)| each * weight).collect()
            })
            .collect();
        let mut information = [[0.0; 3]; 3];
        for (row, values) in information.iter_mut().zip(&all) {
            for (element, projected) in row.iter_mut().zip(&projected) {
                *element = 0.5 * dot(values, projected);
            }
        }
        information
    }

    /// The inverse of the equations' matrix.
    pub(crate) fn inverse(&self) -> Inverse {
        let columns = self.factor.inverse_columns();
        let along: Vec<Vec<f64>> =
            self.units.iter().map(|unit| columns.times(&unit.with)).collect();
        let of_units = along
            .iter()
            .zip(&self.units)
            .map(|(along, unit)| 1.0 / unit.diagonal + dot(along, along) / unit.diagonal.powi(2));
        Inverse { of_units: of_units.collect(), along, columns }
    }

    /// Row of the inverse that belongs to a level: elements of levels and partners, then of units.
    pub(crate) fn row_of_level(&self, level: usize) -> (Vec<f64>, Vec<f64>) {
        let mut row = vec![0.0; self.design.kept()];
        row[level] = 1.0;
        self.factor.solve(&mut row);
        let of_unit = |unit: &Unit| {
            let sum: f64 = unit.with.iter().map(|(at, weight)| weight * row[*at]).sum();
            -sum / unit.diagonal
        };
        let of_units = self.units.iter().map(of_unit).collect();
        (row, of_units)
    }
}

/// Inverse of the equations' matrix: variances of errors of effects. Methods take the solution that
/// it belongs to.
#[derive(Debug)]
pub(crate) struct Inverse {
    columns: Columns,
    /// For each unit, the factor's inverse times its row.
    along: Vec<Vec<f64>>,
    /// Variance of the error of each unit's effect.
    pub(crate) of_units: Vec<f64>,
}

impl Inverse {
    /// Variance of the error of a partner's effect.
    pub(crate) fn variance_of_partner(&self, solution: &Solution<'_>, partner: usize) -> f64 {
        let column = self.columns.column(solution.design.levels + partner);
        dot(column, column)
    }

    /// Variance of the error of what is fitted to each value. Values of one level, unit and partner
    /// have the same.
    pub(crate) fn variances_of_values(&self, solution: &Solution<'_>) -> Vec<f64> {
        let design = solution.design;
        let mut order: Vec<usize> = (0..design.places.len()).collect();
        order.sort_unstable_by_key(|at| design.places[*at]);
        let mut found = vec![0.0; order.len()];
        let mut last = None;
        for at in order {
            found[at] = match last {
                Some((places, variance)) if places == design.places[at] => variance,
                _ => self.variance_of_value(solution, at),
            };
            last = Some((design.places[at], found[at]));
        }
        found
    }

    fn variance_of_value(&self, solution: &Solution<'_>, at: usize) -> f64 {
        let design = solution.design;
        let unit = design.places[at].1;
        let (along, diagonal) = (&self.along[unit], solution.units[unit].diagonal);
        let (level, partner) = design.rows(at);
        let level = self.columns.column(level);
        let mut square = 0.0;
        match partner.map(|partner| self.columns.column(partner)) {
            Some(partner) => {
                for ((along, level), partner) in along.iter().zip(level).zip(partner) {
                    square += (level + partner - along / diagonal).powi(2);
                }
            }
            None => {
                for (along, level) in along.iter().zip(level) {
                    square += (level - along / diagonal).powi(2);
                }
            }
        }
        1.0 / diagonal + square
    }

    /// Derivatives of the restricted likelihood by the variances.
    pub(crate) fn score(&self, solution: &Solution<'_>) -> [f64; 3] {
        let design = solution.design;
        let of_effects = |effects: &[f64], errors: f64, variance: f64| {
            let trace = (effects.len() as f64 - errors / variance) / variance;
            let squares = dot(effects, effects) / variance.powi(2);
            0.5 * (squares - trace)
        };
        let [units, partners, _] = solution.variances;
        let of_units = of_effects(&solution.of_units, self.of_units.iter().sum(), units);
        let of_partners = if design.partners > 0 {
            let errors = (0..design.partners)
                .map(|partner| self.variance_of_partner(solution, partner))
                .sum();
            of_effects(&solution.effects[design.levels..], errors, partners)
        } else {
            0.0
        };
        let mut of_sessions = 0.0;
        for (at, fitted) in self.variances_of_values(solution).into_iter().enumerate() {
            let weight = solution.weights[at];
            let trace = weight - weight.powi(2) * fitted;
            of_sessions += 0.5 * ((weight * solution.residuals[at]).powi(2) - trace);
        }
        [of_units, of_partners, of_sessions]
    }
}
