//! Work that traffic causes in tasks that are attributed to nobody: kworkers, a server that zc did
//! not start, a helper of a container.
//!
//! Costs by own clocks ([`crate::own_clock`]) are the clocks of known tasks. The CPU time of other
//! tasks in a window, beyond what they used in the idle windows beside it, is known as exactly
//! ([`TrialCost::unattributed`]). If it is above 0, the traffic caused it. A value below 0 is
//! displacement: other programs had to wait for the traffic, which says nothing about their work.
//!
//! Programs that work in bursts put as much into idle windows as into trials, on average. Shares of
//! longer windows scatter less, and the difference of two is skewed to the right, so that signed
//! ranks err towards less than nothing.
//!
//! **One decision for a run.** Where it is significant for one cell, it is added to all of them,
//! window by window, on each side: a ratio of a cell that has it to one that lacks it would compare
//! two accounts, and to add only what is significant would make the ratio depend on the noise.
//! Cells whose interval lies below 0 are left as they are, because displacement is no saving.
//! Insignificant work is not added: it would put the noise of other programs back into every cost.

use zc_stats::{hodges_lehmann, median, wilcoxon_interval};

use crate::costs::{Side, TrialCost};
use crate::figures::{bounds, with_interval};
use crate::model::estimates::Unattributed;
use crate::model::figure::Figure;
use zc_run::Plan;

/// A smaller share of a cell's cost is not examined: clocks are read one after the other and
/// rounded, which is always to the same side.
const LEAST_SHARE: f64 = 0.005;

/// Adds work of other tasks for the traffic to costs (by block, then by cell), where any cell's
/// interval shows that there is such. Returns the cell with the most of it; `None` without costs by
/// own clocks.
pub(super) fn add_significant(
    costs: &mut [Vec<Option<TrialCost>>],
    plan: &Plan,
    level: f64,
) -> Option<Unattributed> {
    // One in twenty runs without any such work shows some by chance (Bonferroni).
    let corrected = 1.0 - (1.0 - level) / plan.cells.len().max(1) as f64;
    let figures: Vec<Option<Figure>> =
        (0..plan.cells.len()).map(|place| figure(costs, place, corrected)).collect();
    let is_shown = |place: usize| {
        let low = figures[place].as_ref()?.interval?.low;
        Some(low > (LEAST_SHARE * median_cost(costs, place)?).max(0.0))
    };
    let shown: Vec<bool> =
        (0..plan.cells.len()).map(|place| is_shown(place).unwrap_or(false)).collect();
    let added = shown.contains(&true);
    if added {
        for block in costs.iter_mut() {
            for (cost, figure) in block.iter_mut().zip(&figures) {
                if figure.as_ref().is_some_and(|figure| !is_below_zero(figure)) {
                    cost.iter_mut().for_each(add);
                }
            }
        }
    }
    // The share of the added CPU time that was found.
    let found = figures.into_iter().zip(shown).zip(&plan.cells);
    let (cost_ns_per_kib, cell) = found
        .filter(|((_, shown), _)| !added || *shown)
        .filter_map(|((figure, _), cell)| Some((figure?, cell)))
        .max_by(|(one, _), (other, _)| one.value.total_cmp(&other.value))?;
    Some(Unattributed { label: cell.label.clone(), cost_ns_per_kib, added })
}

fn add(cost: &mut TrialCost) {
    if let Some(unattributed) = &cost.unattributed {
        cost.gross = cost.gross.plus(unattributed);
    }
}

/// The Hodges-Lehmann estimate over blocks with its interval, in ns per KiB of both sides.
fn figure(costs: &[Vec<Option<TrialCost>>], place: usize, level: f64) -> Option<Figure> {
    let own = costs.iter().filter_map(|block| block.get(place)?.as_ref());
    let values: Vec<f64> = own
        .filter_map(|cost| cost.unattributed_ns_per_kib(Side::Both))
        .filter(|ns| ns.is_finite())
        .collect();
    let interval = wilcoxon_interval(&values, level).and_then(bounds);
    Some(with_interval(hodges_lehmann(&values)?, interval, values.len()))
}

/// Median cost of a cell, in ns per KiB of both sides.
fn median_cost(costs: &[Vec<Option<TrialCost>>], place: usize) -> Option<f64> {
    let own = costs.iter().filter_map(|block| block.get(place)?.as_ref());
    median(&own.filter_map(|cost| cost.ns_per_kib(Side::Both)).collect::<Vec<_>>())
}

fn is_below_zero(figure: &Figure) -> bool {
    figure.interval.and_then(|interval| interval.high).is_some_and(|high| high < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept::KeptBlocks;
    use zc_run::{Run, Slot, Trial};
    use zc_testkit::synthetic::Synthetic;

    fn world() -> Synthetic {
        Synthetic { blocks: 20, ..Synthetic::default() }
    }

    /// Has another task use so much of each trial of a cell on the sender's CPU, in place of its
    /// soaker.
    fn with_work(mut run: Run, cell: &str, ns: impl Fn(usize) -> i64) -> Run {
        for (at, block) in run.blocks.iter_mut().enumerate() {
            for slot in &mut block.slots {
                let Slot::Trial(Trial { cell: of, closed, .. }) = slot else { continue };
                if of != cell || closed.soak.cpu_ns.is_empty() {
                    continue;
                }
                closed.soak.cpu_ns[0] = closed.soak.cpu_ns[0].saturating_add_signed(-ns(at));
                closed.soak.units[0] = closed.soak.units[0].saturating_add_signed(-ns(at) / 3000);
            }
        }
        run
    }

    fn cost(run: &Run, label: &str, side: Side) -> f64 {
        let kept = KeptBlocks::from_run(run);
        let place = kept.index.place(label).unwrap();
        let costs = kept.costs.iter().filter_map(|block| block[place]?.ns_per_kib(side));
        zc_stats::median(&costs.collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn work_of_other_tasks_for_the_traffic_is_shown_and_added_on_its_side() {
        let run = world().run();
        let found = KeptBlocks::from_run(&run).unattributed.unwrap();
        assert!(!found.added, "{found:?}");
        // At 800 MB/s, 4 ms of 80 ms are 64 ns per KiB.
        let worked =
            with_work(run.clone(), "sendfile", |at| 3_000_000 + 2_000_000 * (at as i64 % 2));
        let found = KeptBlocks::from_run(&worked).unattributed.unwrap();
        assert!(found.added && found.label == "sendfile", "{found:?}");
        assert!((found.cost_ns_per_kib.value - 64.0).abs() < 10.0, "{found:?}");
        let more = |label: &str, side| cost(&worked, label, side) - cost(&run, label, side);
        assert!((more("sendfile", Side::Sender) - 64.0).abs() < 20.0);
        assert!((more("sendfile", Side::Both) - 64.0).abs() < 20.0);
        assert!(more("sendfile", Side::Receiver).abs() < 1.0);
        assert!(more("splice", Side::Both).abs() < 10.0, "others have none");
    }

    #[test]
    fn programs_that_wait_for_the_traffic_save_nothing() {
        let run = world().run();
        // 4 ms less.
        let displaced = with_work(run.clone(), "splice", |_| -4_000_000);
        assert!(!KeptBlocks::from_run(&displaced).unattributed.unwrap().added);
        let both = with_work(displaced, "sendfile", |_| 4_000_000);
        assert!(KeptBlocks::from_run(&both).unattributed.unwrap().added);
        let less = cost(&run, "splice", Side::Both) - cost(&both, "splice", Side::Both);
        assert!(less.abs() < 10.0, "{less}");
    }

    #[test]
    fn programs_beside_the_traffic_do_not_work_for_it() {
        let shown = |world: Synthetic| {
            let found = KeptBlocks::from_run(&world.run()).unattributed.unwrap();
            assert!(found.cost_ns_per_kib.interval.is_some(), "{found:?}");
            found.added
        };
        let of_seeds = |world: Synthetic| {
            (0..20).filter(|seed| shown(Synthetic { seed: *seed, ..world.clone() })).count()
        };
        assert_eq!(of_seeds(Synthetic { foreign_share: 0.3, ..world() }), 0);
        // Steal is known in ticks, which makes the interrupts on others' time uncertain.
        let beside_steal = of_seeds(Synthetic { steal_share: 0.03, ..world() });
        assert!(beside_steal <= 2, "{beside_steal} of 20");
        let run = Synthetic { own_clocks: false, foreign_share: 0.3, ..world() }.run();
        assert_eq!(KeptBlocks::from_run(&run).unattributed, None);
    }

    #[test]
    fn bursts_of_other_programs_are_not_taken_for_work_of_the_traffic() {
        // One window in three has a burst of 20 ms on the sender's CPU, idle ones of 40 ms
        // likewise.
        let mut shown = 0;
        for seed in 0..40u64 {
            let mut run = Synthetic { seed, ..world() }.run();
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut taken_ns = 0u64;
            for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
                let (Slot::Idle(zc_run::IdleWindow { opened, closed, .. })
                | Slot::Trial(Trial { opened, closed, .. })) = slot;
                if closed.soak.cpu_ns.is_empty() {
                    continue;
                }
                let length = closed.soak.at_ns - opened.soak.at_ns;
                opened.soak.cpu_ns[0] -= taken_ns;
                for _ in 0..length / 20_000_000 {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    taken_ns += if state % 6 == 0 { 10_000_000 } else { 0 };
                }
                closed.soak.cpu_ns[0] -= taken_ns;
            }
            // Units are as before: the soaker is faster by its clock, which costs, but not others'
            // time.
            shown += usize::from(KeptBlocks::from_run(&run).unattributed.unwrap().added);
        }
        assert!(shown <= 4, "{shown} of 40");
    }
}
