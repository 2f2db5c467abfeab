//! Counts of kept and dropped blocks, and the conditions of the machine while they were measured.

use zc_stats::median;

use crate::figures::per;
use crate::machine::Machine;
use crate::model::account_kind::{AccountKind, WhyWallTime};
use crate::model::estimates::{BlockAccount, Conditions, DropCounts};
use crate::rules;
use zc_run::{Block, Dropped, Run};

/// The blocks of a run whose costs are by this account: where it is not the run's own, the rules
/// are applied that the run did without.
pub(super) fn blocks(run: &Run, account: AccountKind) -> BlockAccount {
    let compared = AccountKind::WallTime { because: WhyWallTime::ComparedRun };
    let dropped_by = |block: &Block| {
        let broken = || rules::broken(block, &run.header).filter(|_| account == compared);
        block.dropped.clone().or_else(broken)
    };
    let (mut dropped, mut kept) = (DropCounts::default(), 0);
    for block in &run.blocks {
        match dropped_by(block) {
            None => kept += 1,
            Some(Dropped::Steal { .. }) => dropped.steal += 1,
            Some(Dropped::IdleDrift { .. }) => dropped.idle_drift += 1,
            Some(Dropped::Foreign { .. }) => dropped.foreign += 1,
            Some(Dropped::TrialFailed { .. }) => dropped.trial_failed += 1,
            Some(Dropped::Unfinished) => dropped.unfinished += 1,
        }
    }
    BlockAccount { measured: run.blocks.len(), kept, dropped }
}

/// memcpy speed and idle drift over kept blocks; steal over all blocks.
pub(super) fn conditions(run: &Run) -> Conditions {
    let machine = Machine::local(&run.header);
    let kept = || run.blocks.iter().filter(|block| block.dropped.is_none());
    let memcpy: Vec<f64> = kept()
        .filter_map(|block| block.memcpy_bytes_per_s)
        .filter(|speed| speed.is_finite())
        .collect();
    let drifts: Vec<f64> = kept().filter_map(|block| rules::idle_drift(block, &machine)).collect();
    let (stolen_ns, all_ns) = run
        .blocks
        .iter()
        .flat_map(|block| {
            Machine::all(&run.header).filter_map(|machine| rules::steal(block, &machine))
        })
        .fold((0.0, 0.0), |sums, steal| {
            (sums.0 + steal.share() * steal.available_ns, sums.1 + steal.available_ns)
        });
    Conditions {
        memcpy_bytes_per_s: median(&memcpy),
        memcpy_slowest_bytes_per_s: memcpy.iter().copied().reduce(f64::min),
        memcpy_fastest_bytes_per_s: memcpy.iter().copied().reduce(f64::max),
        steal_share: per(stolen_ns, all_ns),
        idle_drift: median(&drifts).filter(|drift| drift.is_finite()),
    }
}
