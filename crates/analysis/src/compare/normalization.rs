//! What the costs of a session are divided by, block by block, before they are held against those of another session.

use super::config_diff;
use super::effect::Effect;
use super::model::{RelativeTo, Weight};
use super::session_spread::PATH_BETWEEN_SESSIONS;
use crate::costs::{Side, sides_apart};
use crate::kept::KeptBlocks;
use crate::ratios::{log, pairs};
use zc_run::Cell;

/// The reference has moved against the others at this level.
const MOVED_AT: f64 = 0.05;

/// The cells of either session that costs are divided by.
pub(super) struct Normalizations {
    pub(super) old: Normalization,
    pub(super) new: Normalization,
    pub(super) relative_to: RelativeTo,
}

/// Those of one session, by their places in its plan.
pub(super) struct Normalization {
    /// The reference, and its control if it is the plan's own.
    reference: Vec<usize>,
    /// All that both sessions have, those included; empty where costs are relative to the reference.
    all: Vec<usize>,
}

impl Normalizations {
    /// `reference`: its place in either plan. `same_labels`: every cell is held against the one of its own name; the others of two
    /// different cells are not the same, and their costs can only be relative to the reference.
    pub(super) fn of(
        before: &KeptBlocks<'_>,
        after: &KeptBlocks<'_>,
        reference: (usize, usize),
        same_labels: bool,
    ) -> Self {
        let mut old =
            Normalization { reference: with_control(before, reference.0), all: Vec::new() };
        let mut new =
            Normalization { reference: with_control(after, reference.1), all: Vec::new() };
        let mut relative_to = RelativeTo::Reference;
        let (of_old, of_new) = shared(before, after);
        // Where there is hardly another cell, the others are the reference.
        let others = of_old.iter().filter(|cell| !old.reference.contains(cell)).count();
        if same_labels && others >= 2 {
            (old.all, new.all) = (of_old, of_new);
            let moved = Effect::independent(
                &old.reference_logs(before),
                &new.reference_logs(after),
                relative_to_so_many(others),
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

    /// Standard deviation, from session to session, of the logarithm of a cost relative to these.
    pub(super) fn between_sessions(&self) -> f64 {
        relative_to_so_many(self.old.all.len().saturating_sub(1))
    }
}

/// Of the cost of one cell by the mean of so many others, each of which has a session's luck of its own; none is the reference alone.
fn relative_to_so_many(others: usize) -> f64 {
    PATH_BETWEEN_SESSIONS * (1.0 + 1.0 / others.max(1) as f64).sqrt()
}

impl Normalization {
    /// Logarithms of a cell's costs by what they are relative to, by block.
    pub(super) fn logs(&self, kept: &KeptBlocks<'_>, cell: usize, side: Side) -> Vec<f64> {
        let others: Vec<usize> = self.all.iter().copied().filter(|other| *other != cell).collect();
        if others.is_empty() {
            let reference: Vec<usize> =
                self.reference.iter().copied().filter(|other| *other != cell).collect();
            return pairs(&kept.costs, cell, &reference, side)
                .into_iter()
                .filter_map(log)
                .collect();
        }
        contrast(kept, &[cell], &others, side)
    }

    /// The same of the reference and its control, by the others.
    fn reference_logs(&self, kept: &KeptBlocks<'_>) -> Vec<f64> {
        let others: Vec<usize> =
            self.all.iter().copied().filter(|other| !self.reference.contains(other)).collect();
        contrast(kept, &self.reference, &others, Side::Both)
    }
}

/// Mean logarithm of the costs of some cells less that of others, in each block that has them all.
fn contrast(kept: &KeptBlocks<'_>, cells: &[usize], others: &[usize], side: Side) -> Vec<f64> {
    let of = |block: usize, cells: &[usize]| -> Option<f64> {
        let sum =
            cells.iter().map(|cell| cost_log(kept, block, *cell, side)).sum::<Option<f64>>()?;
        Some(sum / cells.len() as f64)
    };
    (0..kept.costs.len())
        .filter_map(|block| Some(of(block, cells)? - of(block, others)?))
        .filter(|log| !log.is_nan())
        .collect()
}

fn cost_log(kept: &KeptBlocks<'_>, block: usize, cell: usize, side: Side) -> Option<f64> {
    Some(kept.costs.get(block)?.get(cell)?.as_ref()?.ns_per_kib(side)?.max(0.0).ln())
}

fn with_control(kept: &KeptBlocks<'_>, reference: usize) -> Vec<usize> {
    let plan = &kept.header.plan;
    let is_plans = plan.cells[reference].label == plan.reference;
    let controls = plan
        .cells
        .iter()
        .enumerate()
        .filter(|(place, cell)| cell.control && is_plans && *place != reference);
    std::iter::once(reference).chain(controls.map(|(place, _)| place)).collect()
}

/// The cells that both have on equal terms, and whose costs stand out of the noise in every block that counts: their places in either plan.
fn shared(before: &KeptBlocks<'_>, after: &KeptBlocks<'_>) -> (Vec<usize>, Vec<usize>) {
    let (of_old, of_new) = (&before.header.plan.cells, &after.header.plan.cells);
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
    let equal = |cell: &Cell, other: &Cell| {
        let differences = config_diff::between_cells((before.header, cell), (after.header, other));
        cell.control == other.control
            && differences.iter().all(|each| each.weight != Weight::Disqualifies)
    };
    let places = of_old.iter().enumerate().filter_map(|(place, cell)| {
        let other = of_new.iter().position(|other| other.label == cell.label)?;
        let both = measured(before, place) && measured(after, other) && equal(cell, &of_new[other]);
        both.then_some((place, other))
    });
    places.unzip()
}
