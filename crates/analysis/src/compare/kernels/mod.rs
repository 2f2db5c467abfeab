//! Compares two kernels of which each was booted several times, in rounds: the first kernel, the
//! first kernel again as a control, and the second, in random order. Boots are the units
//! (`rounds`).
//!
//! A cell has two ratios, and both are tested. The *cost* ratio is the second kernel's cost divided
//! by the first one's: rounds put both under the same conditions, so it is no more biased than a
//! ratio within one run, but has in it by how much boots differ. The *relative* ratio first divides
//! a cost by those of the other cells in the same blocks. It is narrower, and says nothing of a
//! change of all cells alike.
//!
//! Boots may be two guests on a wire, of which the near one sends, and the far one has the first
//! kernel in every boot. Costs are the near one's then: what the far one adds to them would hide a
//! part of each change. What receiving cost the far one is a figure of its own.

mod judgement;
mod model;
mod rounds;

pub use judgement::judgement;
pub use model::{Arm, BootCost, BootRatio, FarCost, KernelCell, Kernels, LeftOutBoot, WhyLeftOut};

use std::collections::BTreeMap;

use zc_run::{Header, LinkKind, Run, Slot};
use zc_stats::{hodges_lehmann, mean_interval};

use self::rounds::{Round, control, differing_controls, judge, ratio, relative};
use super::accounts::differ;
use super::config_diff;
use super::effect::{CONFIDENCE, NON_FINITE_LIMIT};
use super::model::{ChangeVerdict, Difference, Weight};
use super::normalization::{contrast, cost_logs, same_cells};
use super::selection::Selection;
use super::trust::bars;
use crate::costs::{Side, sides_apart};
use crate::figures::finite;
use crate::kept::KeptBlocks;
use crate::machine::is_emulated;
use crate::unit::us_per_mb;

/// A boot with fewer kept blocks is left out: a single one may be anything.
const MIN_BLOCKS: usize = 3;

/// A boot that was measured.
#[derive(Debug, Clone, Copy)]
pub struct Boot<'a> {
    /// Its round, from 1.
    pub round: usize,
    /// Which boot of it.
    pub arm: Arm,
    /// What was measured in it.
    pub run: &'a Run,
}

/// Compares the kernels of these boots.
pub fn kernels(boots: &[Boot<'_>]) -> Kernels {
    let Measured { emulated, net, values, left_out } = measured(boots);
    let mut compared = Kernels {
        rounds: 0,
        control_rounds: 0,
        emulated,
        wire: boots.iter().any(|boot| is_on_a_wire(&boot.run.header)),
        net,
        confidence: CONFIDENCE,
        differences: differences(boots),
        control_differs: Vec::new(),
        left_out,
        cells: cells(boots),
    };
    for cell in &mut compared.cells {
        fill(cell, &values);
        let count = |of: Option<BootRatio>| of.map_or(0, |ratio| ratio.rounds);
        compared.rounds = compared.rounds.max(count(cell.cost));
        compared.control_rounds = compared.control_rounds.max(count(cell.same));
    }
    let own: Vec<Vec<Round>> = compared
        .cells
        .iter()
        .map(|cell| rounds(&cell.label, &values, |values| values.own))
        .collect();
    judge(&mut compared.cells, &relative(&own));
    compared.control_differs = differing_controls(&compared.cells);
    if emulated || !compared.control_differs.is_empty() {
        compared.cells.iter_mut().for_each(|cell| cell.verdict = ChangeVerdict::Withheld);
    }
    compared
}

/// The logarithms of the second kernel's cost of a cell divided by the first one's, one of each
/// round in which both have a figure, in their order; and the boots that are in none.
pub fn log_ratios(boots: &[Boot<'_>], cell: &str) -> (Vec<f64>, Vec<LeftOutBoot>) {
    let Measured { values, left_out, .. } = measured(boots);
    let rounds = rounds(cell, &values, |values| values.cost);
    (rounds.iter().filter_map(Round::difference).collect(), left_out)
}

/// What was measured in boots, by one account of costs.
struct Measured<'a> {
    emulated: bool,
    net: bool,
    values: Vec<Valued<'a>>,
    left_out: Vec<LeftOutBoot>,
}

fn measured<'a>(boots: &[Boot<'a>]) -> Measured<'a> {
    let emulated = boots.iter().any(|boot| is_emulated(&boot.run.header));
    let (mut used, mut left_out) = usable(boots, emulated, KeptBlocks::from_run);
    if differ(used.iter().map(|(_, kept)| kept.account)) {
        let by_wall_time = |run| KeptBlocks::from_run(run).at_wall_time(run);
        (used, left_out) = usable(boots, emulated, by_wall_time);
    }
    let net = used.iter().all(|(_, kept)| kept.is_net());
    if !net {
        used = used.into_iter().map(|(boot, kept)| (boot, kept.gross())).collect();
    }
    let values = used.iter().map(|(boot, kept)| (*boot, values(&used[0].1, kept))).collect();
    Measured { emulated, net, values, left_out }
}

/// The boots that can be used, and those that cannot.
fn usable<'a>(
    boots: &[Boot<'a>],
    emulated: bool,
    blocks: impl Fn(&'a Run) -> KeptBlocks<'a>,
) -> (Vec<(Boot<'a>, KeptBlocks<'a>)>, Vec<LeftOutBoot>) {
    let (mut used, mut left_out): (Vec<(Boot<'_>, KeptBlocks<'_>)>, _) = (Vec::new(), Vec::new());
    // Nothing has a cost there, which is said once.
    for boot in boots.iter().filter(|_| !emulated) {
        let kept = blocks(boot.run);
        let first = used.first().map_or(boot.run, |(first, _)| first.run);
        match why_not(boot, &kept, first) {
            None => used.push((*boot, kept)),
            Some(why) => left_out.push(LeftOutBoot { round: boot.round, arm: boot.arm, why }),
        }
    }
    (used, left_out)
}

fn why_not(boot: &Boot<'_>, kept: &KeptBlocks<'_>, first: &Run) -> Option<WhyLeftOut> {
    let (kept_blocks, needed) = (kept.blocks.len(), MIN_BLOCKS);
    if kept_blocks < needed {
        return Some(WhyLeftOut::TooFewBlocks { kept: kept_blocks, needed });
    }
    let forbids = |each: &Difference| each.weight == Weight::Disqualifies;
    let found = config_diff::between_runs(&first.header, &boot.run.header);
    let differences: Vec<Difference> = found.into_iter().filter(forbids).collect();
    if !differences.is_empty() {
        return Some(WhyLeftOut::Differs { differences });
    }
    let whole = Selection { name: String::new(), run: boot.run, cell: None, state: None };
    bars(&whole, kept).map(|reason| WhyLeftOut::Withheld { reason })
}

/// What else differs between the first boots of both kernels.
fn differences(boots: &[Boot<'_>]) -> Vec<Difference> {
    let first = |is_new: bool| boots.iter().find(|boot| (boot.arm == Arm::New) == is_new);
    first(false)
        .zip(first(true))
        .map(|(old, new)| config_diff::between_runs(&old.run.header, &new.run.header))
        .unwrap_or_default()
}

/// The cells that any boot has, with the bytes that each has sent.
fn cells(boots: &[Boot<'_>]) -> Vec<KernelCell> {
    let mut cells: Vec<KernelCell> = Vec::new();
    for boot in boots {
        let sent = bytes(boot.run);
        for cell in boot.run.header.plan.cells.iter().filter(|cell| !cell.control) {
            let known = cells.iter().position(|known| known.label == cell.label);
            let place = known.unwrap_or_else(|| {
                cells.push(without_figures(&cell.label));
                cells.len() - 1
            });
            let of = match boot.arm {
                Arm::New => &mut cells[place].new_bytes,
                Arm::Old | Arm::OldAgain => &mut cells[place].old_bytes,
            };
            let sent = sent.get(cell.label.as_str()).copied().unwrap_or_default();
            *of = Some(of.unwrap_or_default().saturating_add(sent));
        }
    }
    cells
}

/// Bytes by cell.
fn bytes(run: &Run) -> BTreeMap<&str, u64> {
    let mut sent: BTreeMap<&str, u64> = BTreeMap::new();
    for slot in run.blocks.iter().flat_map(|block| &block.slots) {
        if let Slot::Trial(trial) = slot {
            let sum = sent.entry(&trial.cell).or_default();
            *sum = sum.saturating_add(trial.whole_bytes);
        }
    }
    sent
}

fn without_figures(label: &str) -> KernelCell {
    KernelCell {
        label: label.to_owned(),
        old_bytes: None,
        new_bytes: None,
        old_cost: None,
        new_cost: None,
        cost: None,
        relative: None,
        same: None,
        far: None,
        judged_by: None,
        verdict: ChangeVerdict::Undecided,
    }
}

/// Whether a run was made between two guests on a wire.
fn is_on_a_wire(header: &Header) -> bool {
    header.plan.fixed.link == LinkKind::Remote && sides_apart(header)
}

/// Logarithms of a cell in a boot.
#[derive(Debug, Clone, Copy, Default)]
struct Values {
    cost: Option<f64>,
    /// By the mean of all cells in the same blocks.
    own: Option<f64>,
    /// Of the far guest's cost, on a wire.
    far: Option<f64>,
}

/// The values of the cells of a boot that can be compared with those of the first one.
fn values(first: &KeptBlocks<'_>, kept: &KeptBlocks<'_>) -> BTreeMap<String, Values> {
    let of_plan = &kept.header.plan.cells;
    let cells: Vec<usize> = same_cells(first, kept)
        .into_iter()
        .map(|(_, place)| place)
        .filter(|place| !of_plan[*place].control)
        .collect();
    let wire = is_on_a_wire(kept.header);
    let side = if wire { Side::Sender } else { Side::Both };
    let values = |place: &usize| {
        let values = Values {
            cost: location(&cost_logs(kept, *place, side)),
            own: location(&contrast(kept, &[*place], &cells, side)),
            far: location(&cost_logs(kept, *place, Side::Receiver)).filter(|_| wire),
        };
        (of_plan[*place].label.clone(), values)
    };
    cells.iter().map(values).collect()
}

/// The middle of logarithms by block; `None` at the noise floor.
fn location(logs: &[f64]) -> Option<f64> {
    let finite: Vec<f64> = logs.iter().copied().filter(|log| log.is_finite()).collect();
    let missing = (logs.len() - finite.len()) as f64;
    let enough = finite.len() >= MIN_BLOCKS && missing <= NON_FINITE_LIMIT * logs.len() as f64;
    enough.then(|| hodges_lehmann(&finite)).flatten()
}

/// A boot with the values of its cells.
type Valued<'a> = (Boot<'a>, BTreeMap<String, Values>);

/// A value of a cell, by round.
fn rounds(cell: &str, boots: &[Valued<'_>], of: fn(&Values) -> Option<f64>) -> Vec<Round> {
    let mut rounds: BTreeMap<usize, Round> = BTreeMap::new();
    for (boot, values) in boots {
        let round = rounds.entry(boot.round).or_default();
        let value = values.get(cell).and_then(of);
        match boot.arm {
            Arm::Old => round.old = value,
            Arm::OldAgain => round.old_again = value,
            Arm::New => round.new = value,
        }
    }
    rounds.into_values().collect()
}

fn fill(cell: &mut KernelCell, boots: &[Valued<'_>]) {
    let costs = rounds(&cell.label, boots, |values| values.cost);
    (cell.old_cost, cell.new_cost) = costs_of_both(&costs);
    cell.cost = ratio(&costs);
    cell.same = control(&costs);
    let far = rounds(&cell.label, boots, |values| values.far);
    let (old_cost, new_cost) = costs_of_both(&far);
    cell.far = ratio(&far).map(|cost| FarCost { old_cost, new_cost, cost });
}

/// The costs under the first kernel and under the second one.
fn costs_of_both(rounds: &[Round]) -> (Option<BootCost>, Option<BootCost>) {
    let old = rounds.iter().flat_map(|round| [round.old, round.old_again]).flatten();
    let new = rounds.iter().filter_map(|round| round.new);
    (cost(&old.collect::<Vec<_>>()), cost(&new.collect::<Vec<_>>()))
}

fn cost(logs: &[f64]) -> Option<BootCost> {
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let interval = mean_interval(logs, CONFIDENCE);
    let us = |log: f64| finite(us_per_mb(log.exp()));
    Some(BootCost {
        us_per_mb: us(mean)?,
        low: interval.and_then(|interval| us(interval.low)),
        high: interval.and_then(|interval| us(interval.high)),
        boots: logs.len(),
    })
}

#[cfg(test)]
mod tests;
