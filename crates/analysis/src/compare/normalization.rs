//! The divisors of the costs of a run, block by block, before they are compared with those of
//! another run.

use super::config_diff;
use super::effect::Effect;
use super::model::{RelativeTo, Weight};
use super::spread::{Spread, variances_in_a_relative_cost};
use crate::costs::{Side, sides_apart};
use crate::kept::KeptBlocks;
use crate::ratios::{Pair, pairs};
use zc_run::Cell;
use zc_stats::{Wander, wander};

/// p-value at and below which the reference is taken to have moved relative to the other cells.
const MOVED_AT: f64 = 0.05;

/// The divisors of both runs.
pub(super) struct Normalizations {
    pub(super) old: Normalization,
    pub(super) new: Normalization,
    pub(super) relative_to: RelativeTo,
}

/// The divisors of one run, as indices into its plan.
pub(super) struct Normalization {
    /// The reference, and its control if it is the plan's own.
    reference: Vec<usize>,
    /// All cells that both runs have, including the reference; empty where costs are relative
    /// to the reference.
    all: Vec<usize>,
}

impl Normalizations {
    /// `reference`: its index in each plan. `same_labels`: every cell is compared with the one of
    /// the same label. Two different cells have different other cells, so their costs can only be
    /// relative to the reference. `path`: what a path's own part of its cost differs by between
    /// runs.
    pub(super) fn choose(
        before: &KeptBlocks<'_>,
        after: &KeptBlocks<'_>,
        reference: (usize, usize),
        same_labels: bool,
        path: Option<Spread>,
    ) -> Self {
        let mut old =
            Normalization { reference: with_control(before, reference.0), all: Vec::new() };
        let mut new =
            Normalization { reference: with_control(after, reference.1), all: Vec::new() };
        let mut relative_to = RelativeTo::Reference;
        let (of_old, of_new) = shared(before, after);
        // With fewer than two other cells, costs are relative to the reference.
        let others = of_old.iter().filter(|cell| !old.reference.contains(cell)).count();
        if same_labels && others >= 2 {
            (old.all, new.all) = (of_old, of_new);
            let moved = Effect::independent(
                &old.reference_logs(before),
                &new.reference_logs(after),
                path.map(|path| path.times(variances_in_a_relative_cost(others))),
            );
            let p = moved.and_then(|moved| moved.change()).and_then(|change| change.p_value);
            if p.is_some_and(|p| p > MOVED_AT) {
                relative_to = RelativeTo::Others;
            } else {
                (old.all, new.all) = Default::default();
            }
        }
        Self { old, new, relative_to }
    }

    /// Spread between runs of the logarithm of a cost relative to these divisors.
    pub(super) fn spread(&self, path: Option<Spread>) -> Option<Spread> {
        let others = self.old.all.len().saturating_sub(1);
        path.map(|path| path.times(variances_in_a_relative_cost(others)))
    }
}

impl Normalization {
    /// Logarithms of a cell's costs divided by their divisors, by block.
    pub(super) fn logs(&self, kept: &KeptBlocks<'_>, cell: usize, side: Side) -> Vec<f64> {
        let others: Vec<usize> = self.all.iter().copied().filter(|other| *other != cell).collect();
        if others.is_empty() {
            let reference: Vec<usize> =
                self.reference.iter().copied().filter(|other| *other != cell).collect();
            return pairs(&kept.costs, cell, &reference, side)
                .iter()
                .filter_map(Pair::log)
                .collect();
        }
        contrast(kept, &[cell], &others, side)
    }

    /// Logarithms of the costs of the reference and its control divided by the others, by block.
    fn reference_logs(&self, kept: &KeptBlocks<'_>) -> Vec<f64> {
        let others: Vec<usize> =
            self.all.iter().copied().filter(|other| !self.reference.contains(other)).collect();
        contrast(kept, &self.reference, &others, Side::Both)
    }
}

/// Logarithms of a cell's costs, by block.
pub(super) fn cost_logs(kept: &KeptBlocks<'_>, cell: usize, side: Side) -> Vec<f64> {
    let costs = kept.costs.iter().filter_map(|block| block.get(cell)?.as_ref()?.ns_per_kib(side));
    costs.filter(|cost| !cost.is_nan()).map(|cost| cost.max(0.0).ln()).collect()
}

/// Mean logarithm of the costs of some cells minus that of others, in each block that has them all.
pub(super) fn contrast(
    kept: &KeptBlocks<'_>,
    cells: &[usize],
    others: &[usize],
    side: Side,
) -> Vec<f64> {
    let mean_log = |block: usize, cells: &[usize]| -> Option<f64> {
        let sum =
            cells.iter().map(|cell| cost_log(kept, block, *cell, side)).sum::<Option<f64>>()?;
        Some(sum / cells.len() as f64)
    };
    (0..kept.costs.len())
        .filter_map(|block| Some(mean_log(block, cells)? - mean_log(block, others)?))
        .filter(|log| !log.is_nan())
        .collect()
}

pub(super) fn cost_log(
    kept: &KeptBlocks<'_>,
    block: usize,
    cell: usize,
    side: Side,
) -> Option<f64> {
    Some(kept.costs.get(block)?.get(cell)?.as_ref()?.ns_per_kib(side)?.max(0.0).ln())
}

fn with_control(kept: &KeptBlocks<'_>, reference: usize) -> Vec<usize> {
    let plan = &kept.header.plan;
    let is_plans = plan.cells[reference].label == plan.reference;
    let controls = plan
        .cells
        .iter()
        .enumerate()
        .filter(|(place, cell)| cell.is_aa_control() && is_plans && *place != reference);
    std::iter::once(reference).chain(controls.map(|(place, _)| place)).collect()
}

/// The indices, in each plan, of the cells that both have without disqualifying differences, and
/// whose costs are above 0 in every kept block.
fn shared(before: &KeptBlocks<'_>, after: &KeptBlocks<'_>) -> (Vec<usize>, Vec<usize>) {
    let measured = |kept: &KeptBlocks<'_>, cell: usize| {
        let sides =
            if sides_apart(kept.header) { [Side::Sender, Side::Both] } else { [Side::Both; 2] };
        let stands = |block: usize| {
            sides
                .iter()
                .all(|side| cost_log(kept, block, cell, *side).is_some_and(|log| log.is_finite()))
        };
        (0..kept.costs.len()).all(stands)
    };
    same_cells(before, after)
        .into_iter()
        .filter(|(place, other)| measured(before, *place) && measured(after, *other))
        .unzip()
}

/// Wander of the part of a cost that is its path's own, in each of two runs.
pub(super) fn own_parts(before: &KeptBlocks<'_>, after: &KeptBlocks<'_>) -> [Option<Wander>; 2] {
    let (of_old, of_new) = shared(before, after);
    [own_part(before, &of_old), own_part(after, &of_new)]
}

fn own_part(kept: &KeptBlocks<'_>, cells: &[usize]) -> Option<Wander> {
    let paths: Vec<usize> =
        cells.iter().copied().filter(|cell| !kept.header.plan.cells[*cell].control).collect();
    // Fewer cells have nothing to be relative to but the reference.
    if paths.len() < 3 {
        return kept.wanders.ratios(Side::Both).map(|wander| part(wander, 0));
    }
    let relative = |cell: &usize| {
        let others: Vec<usize> = paths.iter().copied().filter(|other| other != cell).collect();
        contrast(kept, &[*cell], &others, Side::Both)
    };
    let series: Vec<Vec<f64>> = paths.iter().map(relative).collect();
    wander(&series).map(|wander| part(wander, paths.len() - 1))
}

/// The path's own part of the wander of its cost relative to so many others.
fn part(wander: Wander, others: usize) -> Wander {
    Wander { variance: wander.variance / variances_in_a_relative_cost(others), ..wander }
}

/// The indices, in each plan, of the cells that both have without disqualifying differences.
pub(super) fn same_cells(before: &KeptBlocks<'_>, after: &KeptBlocks<'_>) -> Vec<(usize, usize)> {
    let (of_old, of_new) = (&before.header.plan.cells, &after.header.plan.cells);
    let equal = |cell: &Cell, other: &Cell| {
        let differences = config_diff::between_cells((before.header, cell), (after.header, other));
        // Two runs do not add the same cost to their positive controls.
        [cell, other].iter().all(|cell| !cell.is_positive_control())
            && cell.control == other.control
            && differences.iter().all(|each| each.weight != Weight::Disqualifies)
    };
    let places = of_old.iter().enumerate().filter_map(|(place, cell)| {
        let other = after.index.place(&cell.label)?;
        equal(cell, &of_new[other]).then_some((place, other))
    });
    places.collect()
}
