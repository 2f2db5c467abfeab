//! By how much costs of one machine in one state differ from run to run, beyond what the blocks of
//! each run show.

use super::model::CalibrationBasis;
use crate::kept::KeptBlocks;
use zc_stats::VarianceComponent;

/// Standard deviation of the logarithm of a cost between runs, assumed in a virtual machine. It was
/// 0.11, 0.07 and 0.03 in three series of 21 consecutive runs: the neighbours of a guest come and
/// go in minutes (docs/method.md, "Two runs").
const COST_OF_GUESTS: f64 = 0.11;

/// The same, assumed on a machine without other guests.
const COST: f64 = 0.04;

/// Standard deviation between runs of the logarithm of one path's cost, without what moves the
/// whole machine. For a cost relative to eleven others, in pairs of runs 2 to 14 minutes apart, it
/// was 0.007 in one series of 21 runs over null and 0.013 in another; less depends on neighbours.
const PATH: f64 = 0.010;

/// A variance of logarithms between runs of one state, and how well it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    pub(super) variance: f64,
    /// Variance of the estimate; 0 for what is assumed.
    pub(super) variance_of_estimate: f64,
}

impl Spread {
    fn assumed(deviation: f64) -> Self {
        Self { variance: deviation.powi(2), variance_of_estimate: 0.0 }
    }

    /// That of a sum of so many quantities which each differ by as much.
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

/// What a comparison of two runs takes costs to differ by where nothing changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spreads {
    /// Of a cost.
    pub(super) cost: Spread,
    /// Of the part of a cost that is its path's own.
    pub(super) path: Spread,
}

impl Spreads {
    /// What was measured, and what is assumed where nothing was.
    pub(super) fn of(
        calibration: Option<&CalibrationBasis>,
        before: &KeptBlocks<'_>,
        after: &KeptBlocks<'_>,
    ) -> Self {
        let guest = [before, after].iter().any(|kept| kept.header.host.hypervisor.is_some());
        let cost = calibration.map(|calibration| Spread::from(&calibration.cost.component));
        let path = calibration.and_then(|calibration| calibration.path.as_ref());
        Self {
            cost: cost.unwrap_or(Spread::assumed(if guest { COST_OF_GUESTS } else { COST })),
            path: path.map_or(Spread::assumed(PATH), |path| Spread::from(&path.component)),
        }
    }
}

/// How many times the variance of a path's own part is in the logarithm of its cost relative to the
/// mean of this many others, each of which has a part of its own. 0 means the reference alone.
pub(super) fn variances_in_a_relative_cost(others: usize) -> f64 {
    1.0 + 1.0 / others.max(1) as f64
}
