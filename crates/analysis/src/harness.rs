//! Cost of zc's own pacing and metering, which is subtracted from costs.
//!
//! A block has one paced trial for each rate, and a short one. Subtracted from the costs of its own
//! block, it would put its noise into each of them (docs/performance.md, "Idle windows"). The cost
//! of the harness changes with the machine, within seconds. So a block's is the median of those of
//! the blocks around it.

use zc_stats::median;

use crate::costs::{Losses, Side, TrialCost};
use zc_run::Plan;

/// Blocks on either side whose harness counts: with them, some seven seconds of a run with all
/// paths.
const REACH: usize = 7;

/// Replaces the harness of each cost (by block, then by cell) by that of the blocks around it.
pub(super) fn smooth(costs: &mut [Vec<Option<TrialCost>>]) {
    let cells = costs.iter().map(Vec::len).max().unwrap_or(0);
    for cell in 0..cells {
        let measured: Vec<Option<Losses>> =
            costs.iter().map(|block| block.get(cell)?.as_ref()?.harness).collect();
        for (place, block) in costs.iter_mut().enumerate() {
            let around =
                &measured[place.saturating_sub(REACH)..measured.len().min(place + REACH + 1)];
            if let Some(Some(cost)) = block.get_mut(cell) {
                cost.harness = cost.harness.map(|own| median_loss(own, around));
            }
        }
    }
}

/// Measured harness of each cell, before it is settled: the label of its cell, and its cost by
/// block in ns per KiB.
pub(super) fn measured(
    costs: &[Vec<Option<TrialCost>>],
    plan: &Plan,
) -> impl Iterator<Item = (String, Vec<f64>)> {
    plan.cells.iter().enumerate().filter_map(|(place, cell)| {
        let own = costs.iter().filter_map(|block| block.get(place)?.as_ref());
        let measured = own.filter_map(|cost| cost.harness_ns_per_kib(Side::Both)).collect();
        Some((cell.harness.clone()?, measured))
    })
}

/// The median of what was lost in these trials, in a window as long as that of `own`: no less than
/// nothing, as a sender that is woken gives no CPU time back.
fn median_loss(own: Losses, around: &[Option<Losses>]) -> Losses {
    let scaled: Vec<Losses> =
        around.iter().flatten().map(|losses| losses.scaled_to(own.window_ns)).collect();
    let median_of = |side: fn(&Losses) -> Option<f64>| {
        median(&scaled.iter().filter_map(side).collect::<Vec<_>>()).map(|ns| ns.max(0.0))
    };
    Losses {
        window_ns: own.window_ns,
        sender_ns: own.sender_ns.and_then(|_| median_of(|losses| losses.sender_ns)),
        receiver_ns: own.receiver_ns.and_then(|_| median_of(|losses| losses.receiver_ns)),
        both_ns: median_of(|losses| Some(losses.both_ns)).unwrap_or(0.0),
        other_cpus_ns: own.other_cpus_ns.and_then(|_| median_of(|losses| losses.other_cpus_ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(both_ns: f64, window_ns: f64) -> Losses {
        Losses {
            window_ns,
            sender_ns: Some(both_ns),
            receiver_ns: None,
            both_ns,
            other_cpus_ns: None,
        }
    }

    fn block(harness: Option<f64>) -> Vec<Option<TrialCost>> {
        let cost = |harness| TrialCost {
            bytes: 1,
            gross: loss(50.0, 10.0),
            others_share: 0.0,
            unattributed: None,
            load_ns: 0.0,
            harness,
            burned: None,
        };
        vec![None, Some(cost(harness.map(|ns| loss(ns, 10.0))))]
    }

    fn harness_of(block: &[Option<TrialCost>]) -> Option<f64> {
        block[1].as_ref()?.harness.map(|harness| harness.both_ns)
    }

    #[test]
    fn a_block_s_harness_is_the_median_of_those_around_it() {
        let mut costs: Vec<_> = (0..40).map(|at| block(Some(f64::from(at % 2)))).collect();
        costs[20] = block(Some(1000.0));
        smooth(&mut costs);
        let found: Vec<f64> = costs.iter().filter_map(|block| harness_of(block)).collect();
        assert!(found.iter().all(|ns| (0.0..=1.0).contains(ns)), "{found:?}");
        // The first has itself and seven later ones.
        assert_eq!(found[0], 0.5);
    }

    #[test]
    fn it_follows_a_machine_that_becomes_slower() {
        let mut costs: Vec<_> =
            (0..40).map(|at| block(Some(if at < 20 { 1.0 } else { 2.0 }))).collect();
        smooth(&mut costs);
        assert_eq!(harness_of(&costs[10]), Some(1.0));
        assert_eq!(harness_of(&costs[30]), Some(2.0));
    }

    #[test]
    fn a_cost_without_a_harness_stays_without_one() {
        let mut costs = vec![block(None), block(Some(1.0)), vec![]];
        smooth(&mut costs);
        assert_eq!(harness_of(&costs[0]), None);
        assert_eq!(harness_of(&costs[1]), Some(1.0));
        smooth(&mut []);
    }

    #[test]
    fn windows_of_other_lengths_count_by_their_share() {
        let mut costs = vec![block(Some(1.0)), block(Some(1.0))];
        costs[0][1].as_mut().unwrap().harness = Some(loss(4.0, 40.0));
        smooth(&mut costs);
        assert_eq!(harness_of(&costs[1]), Some(1.0));
    }
}
