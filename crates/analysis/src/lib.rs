//! Observations to estimates: what each cell cost, how sure that is, and what may be said about it.
//!
//! In goes a saved run, out come numbers with their intervals, as plain data: no text, no files, no clock, so the same
//! run gives the same estimates for ever, and an old run can be read again with better arithmetic. How a cost comes
//! out of a block is in [`costs`], which blocks count in [`rules`], when a run may end early in [`interim`].
//! Whatever cannot be computed from a run is `None`: there is no NaN and no infinity in what it hands out.

mod account;
mod cells;
pub mod compare;
pub mod costs;
mod figures;
pub mod interim;
pub mod machine;
pub mod memory;
mod model;
mod netperf;
mod others;
mod parallel;
pub mod profile;
pub mod ratios;
pub mod rules;
mod sizes;
pub mod soak;
mod strips;
mod traffic;
mod unit;
mod verdict;

pub use model::{
    BlockAccount, Bounds, CellEstimate, CellVerdict, Cheapest, Comparison, Conditions, Control, DropCounts, Estimates,
    Figure, LimitedBy, OtherMethod, Others, Perturbation, RatioFigure, RatioMethod, Sides, Traffic, Verdict, Withheld,
};
pub use netperf::{AccountRatio, AccountRow, Accounts, RUN_S, TimeLine};
pub use sizes::{Crossover, CrossoverMethod, Line, Outcome, Residual, Series, SizePoint, Sizes, Undecided};
pub use strips::{Strip, strips};
pub use unit::us_per_mb;

use std::collections::HashMap;

use crate::costs::{TrialCost, block_costs, sender_alone, sides_apart};
use crate::interim::{CONFIDENCE, level_of};
use zc_run::{Block, Header, Reading, Run, Slot, Trial, TrialKind};

/// All that can be computed from a run. Takes any run that parses: none, one or many blocks, readings missing or not.
pub fn estimate(run: &Run) -> Estimates {
    let kept = Kept::of(run);
    let cells = parallel::each(kept.header.plan.cells.len(), |cell| cells::cell(&kept, cell));
    let control = control(&cells);
    let blocks = account::blocks(run);
    let verdict = verdict::verdict(run, &kept, &cells, control.as_ref(), &blocks);
    Estimates {
        sizes: sizes::sizes(&kept),
        accounts: netperf::accounts(&kept, &cells),
        confidence: CONFIDENCE,
        interval_level: kept.level,
        reference: run.header.plan.reference.clone(),
        sides_apart: sides_apart(&run.header),
        sender_alone: sender_alone(&run.header),
        cells,
        control,
        blocks,
        conditions: account::conditions(run),
        verdict,
    }
}

/// The A/A control among the cells.
fn control(cells: &[CellEstimate]) -> Option<Control> {
    cells.iter().find(|cell| cell.control).map(|cell| Control {
        label: cell.label.clone(),
        ratio: cell.ratio,
        fits: cell.ratio.both.and_then(|ratio| ratio.interval).map(|interval| interval.contains(1.0)),
    })
}

/// The part of a run that counts: the blocks that were not dropped, with the costs of their soaked trials.
struct Kept<'a> {
    header: &'a Header,
    blocks: Vec<&'a Block>,
    /// The trials of a cell by kind, each with its block's place among those that count.
    trials: HashMap<&'a str, [Vec<(usize, &'a Trial)>; 3]>,
    /// By block, then by cell of the plan.
    costs: Vec<Vec<Option<TrialCost>>>,
    /// The place of the reference among the plan's cells.
    reference: Option<usize>,
    /// The confidence of each interval.
    level: f64,
}

impl<'a> Kept<'a> {
    fn of(run: &'a Run) -> Self {
        let header = &run.header;
        let blocks: Vec<&Block> = run.blocks.iter().filter(|block| block.dropped.is_none()).collect();
        Self {
            header,
            costs: parallel::each(blocks.len(), |block| block_costs(blocks[block], header)),
            trials: by_cell(&blocks),
            blocks,
            reference: header.plan.cells.iter().position(|cell| cell.label == header.plan.reference),
            level: level_of(run.end.as_ref()),
        }
    }

    /// The trials of a cell of one kind, by block.
    fn trials(&self, label: &str, kind: TrialKind) -> impl Iterator<Item = (usize, &'a Trial)> {
        self.trials.get(label).into_iter().flat_map(move |kinds| kinds[kind as usize].iter().copied())
    }
}

/// Looked up a dozen times for each cell: walking over all blocks each time would take longer than reading them.
fn by_cell<'a>(blocks: &[&'a Block]) -> HashMap<&'a str, [Vec<(usize, &'a Trial)>; 3]> {
    let mut found: HashMap<&str, [Vec<(usize, &Trial)>; 3]> = HashMap::new();
    for (place, block) in blocks.iter().enumerate() {
        for slot in &block.slots {
            if let Slot::Trial(trial) = slot {
                found.entry(&trial.cell).or_default()[trial.kind as usize].push((place, trial));
            }
        }
    }
    found
}

/// Payload bytes that arrived in a trial's window.
fn bytes(trial: &Trial) -> u64 {
    trial.closed.received.bytes.saturating_sub(trial.opened.received.bytes)
}

/// The readings of the far machine at the edges of a trial's window, where there is one that measures.
fn far(trial: &Trial) -> Option<(&Reading, &Reading)> {
    trial.remote.as_ref().map(|window| (&window.opened, &window.closed))
}

/// The length of a trial's window; `None` when it has none.
fn elapsed_ns(trial: &Trial) -> Option<u64> {
    let (opened, closed) = (&trial.opened, &trial.closed);
    // The soakers' clock is the window's own. A window without soakers may lack it.
    let clocks = [(opened.soak.at_ns, closed.soak.at_ns), (opened.stat.at_ns, closed.stat.at_ns)];
    clocks.into_iter().filter(|(from, _)| *from > 0).find_map(|(from, to)| to.checked_sub(from).filter(|ns| *ns > 0))
}

/// Payload bytes per second in a trial's window.
fn throughput(trial: &Trial) -> Option<f64> {
    Some(bytes(trial) as f64 * 1e9 / elapsed_ns(trial)? as f64)
}

#[cfg(test)]
mod tests;
