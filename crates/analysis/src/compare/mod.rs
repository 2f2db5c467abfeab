//! Compares two runs, or two cells of one run: each cell's new cost divided by its old one, and a
//! verdict.
//!
//! **In one run** both cells were measured in the same blocks, so the ratio is taken within blocks.
//! **Between two runs** there are two ratios with different meanings. The *cost* ratio is the new
//! cost divided by the old one, as measured. It includes whatever the machine did in between
//! (neighbours that use memory, another clock, another placement of pages), and its interval is
//! wide for that. The *relative* ratio first divides every cost by others of the same block, where
//! most of that cancels. It is several times more precise, but does not show a change of all paths
//! alike. So the reference is judged by its cost, and the other cells by their relative ratios. If
//! the reference itself has moved, ratios to it mean nothing for a cell, and all cells are judged
//! by their costs.
//!
//! Costs are divided by the geometric mean of all other cells that both runs have, which has
//! less noise than the reference alone and does not depend on it. If the reference has moved
//! relative to the others, most of the others may be what moved. Then everything is relative to the
//! reference, as in the table of a single run.

mod accounts;
mod calibration;
mod config_diff;
mod effect;
pub mod kernels;
mod matching;
mod model;
mod normalization;
mod pair;
mod selection;
mod socket_diff;
mod spread;
mod trust;
mod verdicts;

pub use calibration::{
    CalibratedCell, Calibration, CellSpread, LeftOut, Uncalibrated, Unusable, calibrate,
};
pub use config_diff::between_machines;
pub use model::{
    Aspect, Basis, CalibrationBasis, CellChange, Change, ChangeVerdict, Compared, Deviation,
    Difference, End, Impossible, Incomparable, JudgedBy, Judgement, Method, Outcome, Reason,
    RelativeTo, SelectionFacts, Weight, WelchFigure,
};
pub use selection::Selection;

use effect::Effect;
use pair::Pair;
use selection::same_run;
use verdicts::{ALPHA, MarginTest};

use self::accounts::differ;
use crate::kept::KeptBlocks;

/// Compares each of `new` with `old`. Verdicts are corrected for all cells of all comparisons. With
/// `margin`, also tests whether any cell is dearer by more than that share. The variation between
/// runs of one state comes from `calibration`, or without one from the wander of the runs.
pub fn compare(
    old: &Selection<'_>,
    new: &[Selection<'_>],
    margin: Option<f64>,
    calibration: Option<&Calibration>,
) -> (Vec<Compared>, Option<Judgement>) {
    conclude(&pairs(old, new, calibration), margin)
}

/// The results of all comparisons, with their verdicts.
fn conclude(pairs: &[Pair], margin: Option<f64>) -> (Vec<Compared>, Option<Judgement>) {
    let mut compared: Vec<Compared> = pairs.iter().map(|pair| pair.compared.clone()).collect();
    // The rows of all comparisons: index of the comparison, index of the row.
    let rows: Vec<(usize, usize)> = pairs
        .iter()
        .enumerate()
        .flat_map(|(at, pair)| (0..pair.rows.len()).map(move |row| (at, row)))
        .collect();
    let moved_at = ALPHA / rows.len().max(1) as f64;
    for (pair, compared) in pairs.iter().zip(&mut compared) {
        compared.reference_moved = pair.reference_moved(moved_at);
        for (row, change) in pair.rows.iter().zip(&mut compared.cells) {
            change.judged_by = row.judged_by(compared.reference_moved);
        }
    }
    let effects: Vec<Option<&Effect>> = rows
        .iter()
        .map(|(at, row)| pairs[*at].rows[*row].effect(compared[*at].reference_moved))
        .collect();
    for ((at, row), verdict) in rows.iter().zip(verdicts::verdicts(&effects)) {
        let stands = compared[*at].withheld.is_empty();
        compared[*at].cells[*row].verdict = if stands { verdict } else { ChangeVerdict::Withheld };
    }
    for (at, compared) in compared.iter_mut().enumerate() {
        let own: Vec<Option<&Effect>> = rows
            .iter()
            .zip(&effects)
            .filter(|((of, _), _)| *of == at)
            .map(|(_, effect)| *effect)
            .collect();
        compared.none_worse_by =
            verdicts::none_worse_by(&own).filter(|_| compared.withheld.is_empty());
    }
    let judgement = margin.map(|margin| judge(&compared, &rows, &effects, margin));
    (compared, judgement)
}

/// One-sided p-values of a cell's ratio between two selections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OneSided {
    /// Of the hypothesis that the new cost is not above the old one.
    pub not_above: f64,
    /// Of the hypothesis that it is above the old one by the margin or more.
    pub above_by_margin: f64,
}

/// Compares one cell: both selections name it. The tests are `None` where it cannot be compared, or
/// has too few blocks.
pub fn one_cell(
    old: &Selection<'_>,
    new: &Selection<'_>,
    margin: f64,
) -> (Compared, Option<OneSided>) {
    let pairs = pairs(old, std::slice::from_ref(new), None);
    let (mut compared, _) = conclude(&pairs, None);
    let row = pairs.first().and_then(|pair| pair.rows.first());
    let effect = row.and_then(|row| row.effect(compared[0].reference_moved));
    let tests = effect.and_then(|effect| {
        Some(OneSided {
            not_above: effect.one_sided_p_values(0.0)?.0,
            above_by_margin: effect.one_sided_p_values(margin)?.1,
        })
    });
    (compared.swap_remove(0), tests)
}

/// What is compared with what.
fn pairs(
    old: &Selection<'_>,
    new: &[Selection<'_>],
    calibration: Option<&Calibration>,
) -> Vec<Pair> {
    let mut before = KeptBlocks::from_run(old.run);
    let mut after: Vec<Option<KeptBlocks<'_>>> = new
        .iter()
        .map(|new| (!same_run(old, new)).then(|| KeptBlocks::from_run(new.run)))
        .collect();
    // Only costs by wall time include what other programs took.
    let all = std::iter::once(&before).chain(after.iter().flatten());
    if differ(all.map(|kept| kept.account)) {
        before = before.at_wall_time(old.run);
        for (after, new) in after.iter_mut().zip(new) {
            *after = after.take().map(|after| after.at_wall_time(new.run));
        }
    }
    // A net cost and a gross one differ by the harness alone.
    let net = before.is_net() && after.iter().flatten().all(KeptBlocks::is_net);
    if !net {
        before = before.gross();
        after = after.into_iter().map(|after| after.map(KeptBlocks::gross)).collect();
    }
    let basis = calibration.map(Calibration::basis);
    new.iter()
        .zip(after)
        .map(|(new, after)| Pair::new(old, &before, new, after, net, basis))
        .collect()
}

fn judge(
    compared: &[Compared],
    rows: &[(usize, usize)],
    effects: &[Option<&Effect>],
    margin: f64,
) -> Judgement {
    let label = |(at, row): &(usize, usize)| compared[*at].name_of(&compared[*at].cells[*row]);
    let (mut worse, mut undecided, mut open) = (Vec::new(), Vec::new(), false);
    for (place, test) in rows.iter().zip(verdicts::against_margin(effects, margin)) {
        match test {
            _ if !compared[place.0].withheld.is_empty() => undecided.push(label(place)),
            MarginTest::Above => worse.push(label(place)),
            MarginTest::Undecided => {
                open = true;
                undecided.push(label(place));
            }
            MarginTest::NotAbove => {}
        }
    }
    let impossible = || compared.iter().flat_map(|compared| &compared.impossible);
    let outcome = match () {
        () if !worse.is_empty() => Outcome::Worse,
        () if impossible().any(|why| !matches!(why, Impossible::NoKeptBlocks { .. })) => {
            Outcome::Incomparable
        }
        () if impossible().next().is_some() => Outcome::NothingKept,
        () if open => Outcome::Undecided,
        () if !undecided.is_empty() => Outcome::Withheld,
        () => Outcome::NoneWorse,
    };
    Judgement { margin, outcome, worse, undecided }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_calibration;
