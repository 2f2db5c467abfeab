//! Reasons to withhold the verdicts of a comparison, and doubts about them.

use super::model::{Compared, Reason};
use super::selection::Selection;
use crate::account;
use crate::cells;
use crate::estimate::control;
use crate::kept::KeptBlocks;
use crate::model::verdict::Withheld;
use crate::positive;
use crate::verdict;
use zc_run::Run;

/// Records the reasons to withhold verdicts, and doubts. By chance, a control of one run in twenty
/// misses, which is a doubt. In one run, whose own ratios are compared, the error that it shows is
/// returned, a factor of at least 1: as in the run's own report, nothing is said that it could
/// explain. Between two runs it explains nothing, as the reference is not what costs are divided
/// by.
pub(super) fn assess(
    compared: &mut Compared,
    old: &Selection<'_>,
    before: &KeptBlocks<'_>,
    new: &Selection<'_>,
    after: &KeptBlocks<'_>,
    one_run: bool,
) -> f64 {
    let mut error: f64 = 1.0;
    let parts = [(old, before), (new, after)];
    for (part, kept) in parts.iter().take(if one_run { 1 } else { 2 }) {
        for why in withheld(part.run, kept) {
            error = error.max(why.error().filter(|_| one_run).unwrap_or(1.0));
            let barred = is_bar(&why, part, one_run);
            let reason = Reason { name: part.name.clone(), why };
            if barred { compared.withheld.push(reason) } else { compared.doubts.push(reason) }
        }
    }
    error
}

/// The reason why verdicts of a comparison with another run are withheld, if there is one.
pub(super) fn bars(part: &Selection<'_>, kept: &KeptBlocks<'_>) -> Option<Withheld> {
    withheld(part.run, kept).into_iter().find(|why| is_bar(why, part, false))
}

/// Whether a reason to withhold a run's own verdicts is one for those of a comparison too; a doubt
/// otherwise.
fn is_bar(why: &Withheld, part: &Selection<'_>, one_run: bool) -> bool {
    match why {
        Withheld::NoControl | Withheld::ReferenceSaturated { .. } => one_run,
        Withheld::PositiveControlMissed { .. } => one_run && why.error().is_none(),
        Withheld::NoReference => part.cell.is_none(),
        // Without an interval there is no verdict.
        Withheld::ControlDiffers { .. } | Withheld::TooFewBlocks { .. } => false,
        Withheld::BusyMachine { .. } | Withheld::Warning { .. } => true,
    }
}

/// The reasons to withhold a run's own verdicts, all or those that an error could explain.
fn withheld(run: &Run, kept: &KeptBlocks<'_>) -> Vec<Withheld> {
    let plan = &kept.header.plan;
    let judged = plan
        .cells
        .iter()
        .enumerate()
        .filter(|(place, cell)| cell.is_aa_control() || kept.reference == Some(*place));
    let cells: Vec<_> = judged.map(|(place, _)| cells::cell(kept, place)).collect();
    let control = control(&cells);
    let positive = positive::control(kept);
    let blocks = account::blocks(run);
    let missed = verdict::missed(control.as_ref(), positive.as_ref());
    let of_run = verdict::withheld(run, kept, &cells, control.as_ref(), &missed, &blocks);
    missed.into_iter().filter(|why| why.error().is_some()).chain(of_run).collect()
}
