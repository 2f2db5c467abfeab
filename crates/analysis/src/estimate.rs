//! Computes all estimates of a run.

use crate::account;
use crate::cells;
use crate::components;
use crate::controls::Controls;
use crate::costs::{Side, sender_alone, sides_apart};
use crate::idle_host;
use crate::interim::CONFIDENCE;
use crate::kept::KeptBlocks;
use crate::model::estimates::{Estimates, WanderFigures};
use crate::model::verdict::{CellVerdict, Comparison};
use crate::netperf;
use crate::other_programs;
use crate::others;
use crate::parallel;
use crate::replay;
use crate::requests;
use crate::rough;
use crate::sizes;
use crate::verdict;
use zc_run::Run;

/// All estimates of a run. Accepts any run that parses, with any number of blocks and with readings
/// missing.
pub fn estimate(run: &Run) -> Estimates {
    let kept = KeptBlocks::from_run(run);
    let mut cells = parallel::each(kept.header.plan.cells.len(), |cell| cells::cell(&kept, cell));
    for (cell, cost) in cells.iter_mut().zip(idle_host::costs(&kept)) {
        cell.idle_host_ns_per_kib = cost;
    }
    let controls = Controls::from_blocks(&kept);
    let blocks = account::blocks(run, kept.account);
    let verdict = verdict::verdict(run, &kept, &cells, &controls, &blocks);
    Estimates {
        sizes: sizes::sizes(&kept, &verdict),
        components: components::components(&kept, &cells),
        accounts: netperf::accounts(&kept, &cells),
        requests: requests::requests(run, &kept, &cells),
        replay: replay::replay(&kept),
        confidence: CONFIDENCE,
        interval_level: kept.level,
        reference: run.header.plan.reference.clone(),
        sides_apart: sides_apart(&run.header),
        sender_alone: sender_alone(&run.header),
        client_alone: run.header.plan.is_of_a_client(),
        cells,
        rough: rough::rough(run, &kept),
        cost_ratio_with_soakers: others::cost_ratio_with_soakers(&kept),
        control: controls.same,
        positive_control: controls.positive,
        account: kept.account,
        other_programs: other_programs::cpu_shares(&kept),
        wander: WanderFigures {
            ratios: kept.wanders.ratios(Side::Both).map(|wander| wander.variance.sqrt()),
            costs: kept.wanders.costs(Side::Both).map(|wander| wander.variance.sqrt()),
        },
        blocks,
        conditions: account::conditions(run),
        verdict,
        unattributed: kept.unattributed,
    }
}

/// Whether every comparison of a run in progress is decided, and its verdict stands, with intervals
/// of this confidence level.
pub fn is_decided(run: &Run, level: f64) -> bool {
    let kept = KeptBlocks::at_level(run, level);
    let cells = parallel::each(kept.header.plan.cells.len(), |cell| cells::cell(&kept, cell));
    let (controls, blocks) = (Controls::from_blocks(&kept), account::blocks(run, kept.account));
    let verdict = verdict::verdict(run, &kept, &cells, &controls, &blocks);
    let is_decided = |cell: &CellVerdict| cell.comparison != Comparison::Undecided;
    verdict.stands() && !verdict.cells.is_empty() && verdict.cells.iter().all(is_decided)
}
