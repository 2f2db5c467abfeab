//! Reasons to withhold the verdicts of a comparison, and doubts about them.

use super::model::{Compared, Reason};
use super::selection::Selection;
use crate::account;
use crate::cells;
use crate::controls::{Controls, Limits};
use crate::kept::KeptBlocks;
use crate::model::verdict::Withheld;
use crate::verdict;
use zc_run::Run;

/// Records the reasons to withhold verdicts, and doubts. By chance, a control of one run in twenty
/// misses, which is a doubt. In one run, whose own ratios are compared, the limits of its controls
/// are returned: as in the run's own report, nothing is said that their error could explain, or
/// that they could not have seen. Between two runs they say nothing, as the reference is not what
/// costs are divided by.
pub(super) fn assess(
    compared: &mut Compared,
    old: &Selection<'_>,
    before: &KeptBlocks<'_>,
    new: &Selection<'_>,
    after: &KeptBlocks<'_>,
    one_run: bool,
) -> Limits {
    let parts = [(old, before), (new, after)];
    for (part, kept) in parts.iter().take(if one_run { 1 } else { 2 }) {
        for why in withheld(part.run, kept) {
            let barred = is_bar(&why, part, one_run);
            let reason = Reason { name: part.name.clone(), why };
            if barred { compared.withheld.push(reason) } else { compared.doubts.push(reason) }
        }
    }
    if one_run { Controls::from_blocks(before).limits() } else { Limits::NONE }
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
        Withheld::PositiveControlMissed { .. }
        | Withheld::ControlTooWide { .. }
        | Withheld::PositiveControlUnseen { .. } => one_run && why.error().is_none(),
        Withheld::NoReference => part.cell.is_none(),
        // Without an interval there is no verdict.
        Withheld::ControlDiffers { .. } | Withheld::TooFewBlocks { .. } => false,
        Withheld::BusyMachine { .. } | Withheld::BelowZero { .. } | Withheld::Warning { .. } => {
            true
        }
    }
}

/// The reasons to withhold a run's own verdicts, all or those that an error could explain.
fn withheld(run: &Run, kept: &KeptBlocks<'_>) -> Vec<Withheld> {
    let controls = Controls::from_blocks(kept);
    let bounded = controls.shortcomings().into_iter().filter(|why| why.error().is_some());
    let reference = kept.reference.map(|place| cells::cell(kept, place));
    let blocks = account::blocks(run, kept.account);
    let of_run = verdict::withheld(run, kept, reference.as_ref(), &controls, &blocks);
    bounded.chain(of_run).collect()
}
