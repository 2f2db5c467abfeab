//! Compares two selections cell by cell.

use super::config_diff;
use super::effect::{CONFIDENCE, Effect};
use super::matching::{common, shared_reference};
use super::model::{
    Basis, CalibrationBasis, CellChange, ChangeVerdict, Compared, Impossible, JudgedBy, Weight,
};
use super::normalization::{Normalizations, cost_logs, own_parts};
use super::selection::{Selection, facts, lengths_apart};
use super::socket_diff::between_sockets;
use super::spread::Spreads;
use super::trust::assess;
use crate::cells::{copied_share, is_failed_zero_copy};
use crate::controls::Limits;
use crate::costs::Side;
use crate::figures::cost_figure;
use crate::kept::KeptBlocks;
use crate::model::account_kind::{AccountKind, WhyWallTime};
use crate::model::figure::{Figure, Sides};
use crate::ratios::pairs;
use crate::requests::us_per_request;
use crate::wanders::wander_of_pairs;
use zc_stats::Wander;

/// Two selections, and the effects in each cell that both have.
pub(super) struct Pair {
    pub(super) compared: Compared,
    pub(super) rows: Vec<Row>,
    /// Index of the reference's row.
    reference: Option<usize>,
}

/// The effects in one cell, of both sides together.
pub(super) struct Row {
    cost: Option<Effect>,
    relative: Option<Effect>,
}

impl Row {
    pub(super) fn judged_by(&self, reference_moved: bool) -> Option<JudgedBy> {
        match self {
            Self { relative: Some(_), .. } if !reference_moved => Some(JudgedBy::Relative),
            Self { cost: Some(_), .. } => Some(JudgedBy::Cost),
            _ => None,
        }
    }

    pub(super) fn effect(&self, reference_moved: bool) -> Option<&Effect> {
        match self.judged_by(reference_moved)? {
            JudgedBy::Relative => self.relative.as_ref(),
            JudgedBy::Cost => self.cost.as_ref(),
        }
    }
}

impl Pair {
    /// `after` is `None` where both selections are of one run. `net`: the costs of all runs are
    /// net of the harness.
    pub(super) fn new(
        old: &Selection<'_>,
        before: &KeptBlocks<'_>,
        new: &Selection<'_>,
        after: Option<KeptBlocks<'_>>,
        net: bool,
        calibration: Option<CalibrationBasis>,
    ) -> Self {
        let one_run = after.is_none();
        let after = after.as_ref().unwrap_or(before);
        let mut pair = Self {
            compared: Compared {
                old: facts(old, before),
                new: facts(new, after),
                net,
                account: common_account(before, after),
                basis: if one_run { Basis::OneRun } else { Basis::TwoRuns },
                confidence: CONFIDENCE,
                calibration: calibration.filter(|_| !one_run),
                reference: None,
                relative_to: None,
                differences: config_diff::between_runs(&old.run.header, &new.run.header),
                impossible: Vec::new(),
                withheld: Vec::new(),
                doubts: Vec::new(),
                cells: Vec::new(),
                incomparable: Vec::new(),
                only_old: Vec::new(),
                only_new: Vec::new(),
                reference_moved: false,
                none_worse_by: None,
            },
            rows: Vec::new(),
            reference: None,
        };
        let costs = [before, after].map(|kept| kept.wanders.costs(Side::Both));
        let spreads = Spreads::estimate(
            calibration.as_ref(),
            costs,
            own_parts(before, after),
            lengths_apart(old.run, new.run),
        );
        pair.fill(old, before, new, after, one_run, &spreads);
        pair
    }

    fn fill(
        &mut self,
        old: &Selection<'_>,
        before: &KeptBlocks<'_>,
        new: &Selection<'_>,
        after: &KeptBlocks<'_>,
        one_run: bool,
        spreads: &Spreads,
    ) {
        let compared = &mut self.compared;
        if one_run && (&old.cell, &old.state) == (&new.cell, &new.state) {
            compared.impossible.push(Impossible::SameRun);
            return;
        }
        let mut none_kept: Vec<&Selection<'_>> = [(old, before), (new, after)]
            .iter()
            .filter(|(_, kept)| kept.blocks.is_empty())
            .map(|(part, _)| *part)
            .collect();
        none_kept.dedup_by_key(|part| part.name.clone());
        compared.impossible.extend(
            none_kept.iter().map(|part| Impossible::NoKeptBlocks { name: part.name.clone() }),
        );
        let common = common(compared, old, before, new, after, one_run);
        if compared.impossible.is_empty() && common.is_empty() {
            let disqualified = !compared.incomparable.is_empty();
            compared.impossible.push(if disqualified {
                Impossible::Disqualified
            } else {
                Impossible::NoCommonCell
            });
        }
        if !one_run && compared.differences.iter().any(|each| each.weight == Weight::Disqualifies) {
            compared.impossible.push(Impossible::Disqualified);
            compared.impossible.dedup();
        }
        if !compared.impossible.is_empty() {
            return;
        }
        if !one_run {
            compared.differences.extend(between_sockets(before, after, &common));
        }
        let limits = assess(compared, old, before, new, after, one_run);
        let reference = (!one_run).then(|| shared_reference(before, after)).flatten();
        compared.reference =
            reference.map(|(place, _)| before.header.plan.cells[place].label.clone());
        let (of_old, of_new) = (&before.header.plan.cells, &after.header.plan.cells);
        let same_labels =
            common.iter().all(|(cell, other)| of_old[*cell].label == of_new[*other].label);
        let base = reference.map(|reference| {
            Normalizations::choose(before, after, reference, same_labels, spreads.path)
        });
        compared.relative_to = base.as_ref().map(|base| base.relative_to);
        let wander = one_run.then(|| within(before, &common)).flatten();
        for &(of_old, of_new) in &common {
            let is_reference = reference == Some((of_old, of_new));
            let change = |side| -> (Option<Effect>, Option<Effect>) {
                if one_run {
                    (within_run(before, of_old, of_new, side, wander, limits), None)
                } else {
                    let relative = base.as_ref().filter(|_| !is_reference).and_then(|base| {
                        let (old, new) = (
                            base.old.logs(before, of_old, side),
                            base.new.logs(after, of_new, side),
                        );
                        Effect::independent(&old, &new, base.spread(spreads.path))
                    });
                    let (old, new) =
                        (cost_logs(before, of_old, side), cost_logs(after, of_new, side));
                    (Effect::independent(&old, &new, spreads.cost), relative)
                }
            };
            let (sender, receiver, both) =
                (change(Side::Sender), change(Side::Receiver), change(Side::Both));
            let figure_of = |each: &Option<Effect>| each.as_ref().and_then(Effect::change);
            let (label, new_label) =
                (&before.header.plan.cells[of_old].label, &after.header.plan.cells[of_new].label);
            let costs_of = (costs(before, of_old), costs(after, of_new));
            let failed = |kept: &KeptBlocks<'_>, cell: usize| {
                is_failed_zero_copy(copied_share(kept, &kept.header.plan.cells[cell].label))
            };
            let request = |kept: &KeptBlocks<'_>, cell: usize, cost: Option<Figure>| {
                us_per_request(&kept.header.plan, &kept.header.plan.cells[cell], cost)
            };
            compared.cells.push(CellChange {
                label: label.clone(),
                new_label: (new_label != label).then(|| new_label.clone()),
                reference: is_reference,
                failed_zero_copy: failed(before, of_old) || failed(after, of_new),
                old_us_per_request: request(before, of_old, costs_of.0.both),
                new_us_per_request: request(after, of_new, costs_of.1.both),
                old_cost_ns_per_kib: costs_of.0,
                new_cost_ns_per_kib: costs_of.1,
                cost: Sides {
                    sender: figure_of(&sender.0),
                    receiver: figure_of(&receiver.0),
                    both: figure_of(&both.0),
                },
                relative: Sides {
                    sender: figure_of(&sender.1),
                    receiver: figure_of(&receiver.1),
                    both: figure_of(&both.1),
                },
                judged_by: None,
                verdict: ChangeVerdict::Undecided,
            });
            if is_reference {
                self.reference = Some(self.rows.len());
            }
            self.rows.push(Row { cost: both.0, relative: both.1 });
        }
        if compared.cells.iter().all(|cell| cell.cost.both.is_none()) {
            compared.impossible.push(Impossible::NoCosts);
        }
    }

    /// Whether the reference's own cost has changed, at significance level `alpha`.
    pub(super) fn reference_moved(&self, alpha: f64) -> bool {
        let cost = self.reference.and_then(|row| self.rows[row].cost.as_ref());
        cost.and_then(Effect::change).and_then(|change| change.p_value).is_some_and(|p| p <= alpha)
    }
}

/// The effect between two cells of one run, as `zc show` computes it: if the old one is the new
/// one's baseline, the control is a divisor too.
fn within_run(
    kept: &KeptBlocks<'_>,
    old: usize,
    new: usize,
    side: Side,
    wander: Option<Wander>,
    limits: Limits,
) -> Option<Effect> {
    let by = divisors(kept, old, new);
    Effect::paired(pairs(&kept.costs, new, &by, side), kept.level, wander, limits)
}

/// The account of two runs: of one by wall time for the other's sake, that is the reason.
fn common_account(before: &KeptBlocks<'_>, after: &KeptBlocks<'_>) -> AccountKind {
    let for_the_other = AccountKind::WallTime { because: WhyWallTime::ComparedRun };
    if after.account == for_the_other { after.account } else { before.account }
}

fn divisors(kept: &KeptBlocks<'_>, old: usize, new: usize) -> Vec<usize> {
    let index = &kept.index;
    if index.baseline(new) == Some(old) { index.divisors(new) } else { vec![old] }
}

/// Wander of the ratios of these pairs of cells of one run, for both sides together.
fn within(kept: &KeptBlocks<'_>, cells: &[(usize, usize)]) -> Option<Wander> {
    let ratio_pairs = |&(old, new): &(usize, usize)| {
        pairs(&kept.costs, new, &divisors(kept, old, new), Side::Both)
    };
    let apart = cells.iter().filter(|(old, new)| !kept.index.wander_together(*old, *new));
    wander_of_pairs(apart.map(ratio_pairs))
}

fn costs(kept: &KeptBlocks<'_>, cell: usize) -> Sides<Figure> {
    let figure = |side| {
        let costs =
            kept.costs.iter().filter_map(|block| block.get(cell)?.as_ref()?.ns_per_kib(side));
        cost_figure(&costs.collect::<Vec<_>>(), kept.wanders.costs(side), kept.level)
    };
    Sides {
        sender: figure(Side::Sender),
        receiver: figure(Side::Receiver),
        both: figure(Side::Both),
    }
}
