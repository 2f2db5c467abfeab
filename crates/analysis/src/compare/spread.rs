//! Variation of costs of one machine in one state from run to run, beyond what the blocks of each
//! run show.

use super::model::CalibrationBasis;
use zc_stats::{VarianceComponent, Wander};

/// A variance of logarithms between runs of one state, and how well it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    pub(super) variance: f64,
    /// Variance of the estimate.
    pub(super) variance_of_estimate: f64,
}

impl Spread {
    /// Spread of a sum of `factor` quantities that each have this spread.
    pub(super) fn times(self, factor: f64) -> Self {
        Self {
            variance: self.variance * factor,
            variance_of_estimate: self.variance_of_estimate * factor.powi(2),
        }
    }

    /// Standard deviation.
    pub(super) fn deviation(self) -> f64 {
        self.variance.sqrt()
    }
}

impl From<&VarianceComponent> for Spread {
    fn from(component: &VarianceComponent) -> Self {
        Self {
            variance: component.variance,
            variance_of_estimate: component.variance_of_estimate(),
        }
    }
}

impl From<Wander> for Spread {
    fn from(wander: Wander) -> Self {
        Self { variance: wander.variance, variance_of_estimate: wander.variance_of_estimate() }
    }
}

/// Spreads that a comparison of two runs assumes where nothing changed; `None` where there are too
/// few blocks to tell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spreads {
    /// Spread of a cost.
    pub(super) cost: Option<Spread>,
    /// Spread of the part of a cost that is its path's own.
    pub(super) path: Option<Spread>,
}

impl Spreads {
    /// Taken from a calibration, or from the wander of the two runs themselves where there is none:
    /// runs one after the other differ by as much as neighbouring parts of a run do, and by more
    /// the farther `apart` they began, in lengths of a run (docs/method.md, "Two runs"). `cost` and
    /// `path` are the wanders of each run, as [`Spreads`] has them.
    pub(super) fn estimate(
        calibration: Option<&CalibrationBasis>,
        cost: [Option<Wander>; 2],
        path: [Option<Wander>; 2],
        apart: f64,
    ) -> Self {
        let of_runs = |each: [Option<Wander>; 2]| {
            let each: Option<Vec<Wander>> = each.into_iter().collect();
            Wander::pooled(&each?).map(|wander| Spread::from(wander.after(apart)))
        };
        let calibrated = calibration.map(|calibration| Spread::from(&calibration.cost.component));
        let path_of = calibration.and_then(|calibration| calibration.path.as_ref());
        Self {
            cost: calibrated.or_else(|| of_runs(cost)),
            path: path_of.map(|path| Spread::from(&path.component)).or_else(|| of_runs(path)),
        }
    }
}

/// Variance of the logarithm of a path's cost relative to the mean of this many others, in
/// multiples of the variance of a path's own part: each of the others has one too. 0 means the
/// reference alone.
pub(super) fn variances_in_a_relative_cost(others: usize) -> f64 {
    1.0 + 1.0 / others.max(1) as f64
}
