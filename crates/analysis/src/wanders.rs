//! Wander of the ratios and the costs of a run: how much neighbouring stretches of the run, from an
//! eighth of it to a half, differ beyond what the scatter of its blocks explains.
//!
//! It is one figure for all ratios of a run, and one for all costs: a minute has too few stretches
//! to tell it for each path. A control runs the path that it is divided by, wanders with it, and
//! has no part in this; neither has a path in one state of the host divided by itself in another.
//! In 60 runs the ratio of the A/A control scattered by less than its blocks say.

use zc_stats::{Wander, wander};

use crate::costs::{Side, TrialCost};
use crate::plan_index::PlanIndex;
use crate::ratios::{Pair, pairs};
use zc_run::Plan;

/// The wander of a run's ratios and costs, by side.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wanders {
    sender: OfSide,
    receiver: OfSide,
    both: OfSide,
}

/// Wander of one side, as variances of logarithms; `None` with fewer than six blocks.
#[derive(Debug, Clone, Copy, Default)]
struct OfSide {
    ratios: Option<Wander>,
    costs: Option<Wander>,
}

impl Wanders {
    /// Wander of the kept blocks' costs, given by block, then by cell.
    pub(super) fn estimate(
        costs: &[Vec<Option<TrialCost>>],
        plan: &Plan,
        index: &PlanIndex,
    ) -> Self {
        let measured: Vec<usize> =
            (0..plan.cells.len()).filter(|cell| !plan.cells[*cell].control).collect();
        let side = |side: Side| OfSide {
            ratios: wander_of_pairs(
                measured
                    .iter()
                    .filter(|cell| !index.wanders_with_its_baseline(**cell))
                    .map(|cell| pairs(costs, *cell, &index.divisors(*cell), side)),
            ),
            costs: wander(
                &measured.iter().map(|cell| logs(costs, *cell, side)).collect::<Vec<_>>(),
            ),
        };
        Self { sender: side(Side::Sender), receiver: side(Side::Receiver), both: side(Side::Both) }
    }

    /// Wander of the ratios of cells to their baselines.
    pub(super) fn ratios(&self, side: Side) -> Option<Wander> {
        self.side(side).ratios
    }

    /// Wander of costs by themselves.
    pub(super) fn costs(&self, side: Side) -> Option<Wander> {
        self.side(side).costs
    }

    fn side(&self, side: Side) -> OfSide {
        match side {
            Side::Sender => self.sender,
            Side::Receiver => self.receiver,
            Side::Both => self.both,
            // They carry no traffic.
            Side::OtherCpus => OfSide::default(),
        }
    }
}

/// Wander of ratios, each given as its pairs by block.
pub(super) fn wander_of_pairs(ratios: impl Iterator<Item = Vec<Pair>>) -> Option<Wander> {
    wander(&ratios.map(|pairs| pairs.iter().filter_map(Pair::log).collect()).collect::<Vec<_>>())
}

/// Logarithms of a cell's costs, by block.
fn logs(costs: &[Vec<Option<TrialCost>>], cell: usize, side: Side) -> Vec<f64> {
    let costs = costs.iter().filter_map(|block| block.get(cell)?.as_ref()?.ns_per_kib(side));
    costs.map(|cost| cost.max(0.0).ln()).collect()
}
