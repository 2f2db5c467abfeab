//! The interim analyses of a running measurement: [`zc_analysis`]'s drop rules and planned looks,
//! for a session.

use super::busy::{self, Busy};
use zc_analysis::interim::InterimAnalyses;
use zc_analysis::starved::starved_cpus;
use zc_analysis::{is_decided, progress, rules};
use zc_measure::session::{Hopeless, Interim, InterimResult};
use zc_run::{Block, Dropped, Header, Run};

/// Shares of the budget after which a run ends that has judged so many blocks and has a cost in
/// none. Few blocks of a short run may fall into one burst of other work, so they get more time.
const PATIENCE: [(f64, usize); 2] = [(0.25, 5), (0.5, 2)];

/// The planned looks of a running measurement.
#[derive(Debug, Default)]
pub(super) struct Planned {
    analyses: InterimAnalyses,
    /// Whether a block that was kept had a cost when it was last asked.
    has_costs: bool,
}

impl Interim for Planned {
    fn drop_reason(&self, block: &Block, header: &Header) -> Option<Dropped> {
        rules::drop_reason(block, header)
    }

    fn look(&mut self, run: &Run, spent_share: f64) -> InterimResult {
        let kept = run.blocks.iter().filter(|block| block.dropped.is_none()).count();
        let plan = &run.header.plan;
        if !self.analyses.due(plan, spent_share, kept) {
            return InterimResult::NotDue;
        }
        let level = self.analyses.level(plan);
        self.analyses.take();
        if plan.quick && is_decided(run, level) {
            return InterimResult::Decided;
        }
        if progress::all_within(&progress::progress(&run.blocks, &run.header, level), &run.header) {
            InterimResult::Stop
        } else {
            InterimResult::GoOn
        }
    }

    fn hopeless(&mut self, run: &Run, spent_share: f64) -> Option<Hopeless> {
        let judged = busy::judged(run).count();
        let is_over = |(share, blocks): (f64, usize)| spent_share >= share && judged >= blocks;
        if self.has_costs || !PATIENCE.into_iter().any(is_over) {
            return None;
        }
        if let Some(busy) = Busy::detect(run).filter(|busy| busy.kept == 0) {
            return Some(Hopeless::NothingKept(busy.to_string()));
        }
        let starved = starved_cpus(run).first().copied();
        // Costs stay, so they need not be looked for again.
        self.has_costs = starved.is_none();
        starved.map(Hopeless::CpuTaken)
    }

    fn leaves_others_out(&self, header: &Header) -> bool {
        rules::leaves_others_out(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{IdleWindow, Slot, Trial};
    use zc_testkit::synthetic::Synthetic;

    #[test]
    fn a_run_that_keeps_nothing_ends_sooner_the_more_blocks_say_so() {
        let ends = |blocks: usize, kept: usize, spent_share: f64| {
            let mut run = Synthetic { blocks, ..Synthetic::default() }.run();
            for block in &mut run.blocks[kept..] {
                block.dropped = Some(Dropped::Foreign { share: 0.9 });
            }
            Planned::default().hopeless(&run, spent_share).is_some()
        };
        assert!(ends(5, 0, 0.25) && !ends(5, 0, 0.24) && !ends(4, 0, 0.49));
        assert!(ends(2, 0, 0.5) && !ends(1, 0, 0.9));
        assert!(!ends(40, 1, 0.9), "one block counts");
    }

    #[test]
    fn a_run_whose_soakers_never_run_on_a_cpu_ends_and_one_beside_others_does_not() {
        let beside = |others: f64, soakers_share: f64| {
            let world = Synthetic { blocks: 5, foreign_share: others, ..Synthetic::default() };
            let mut run = world.run();
            for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
                let (Slot::Idle(IdleWindow { opened, closed, .. })
                | Slot::Trial(Trial { opened, closed, .. })) = slot;
                let (from, to) = (&opened.soak, &mut closed.soak);
                let counters = [(&from.units, &mut to.units), (&from.cpu_ns, &mut to.cpu_ns)];
                for (from, to) in counters {
                    // Trials without soakers have none.
                    if let (Some(from), Some(to)) = (from.first(), to.first_mut()) {
                        *to = from + ((*to - from) as f64 * soakers_share) as u64;
                    }
                }
            }
            run
        };
        let cpu = beside(0.0, 1.0).header.plan.fixed.soaked_cpus[0];
        let ends = |run: &Run, share: f64| Planned::default().hopeless(run, share);
        assert_eq!(ends(&beside(0.0, 0.003), 0.25), Some(Hopeless::CpuTaken(cpu)));
        assert_eq!(ends(&beside(0.0, 0.003), 0.24), None);
        assert_eq!(ends(&beside(0.3, 1.0), 0.9), None);
        let error = busy::nothing_kept(&beside(0.0, 0.003)).unwrap();
        assert_eq!(error.id, "nothing-kept");
        assert!(error.help.unwrap().contains("--cpus"));
        assert_eq!(busy::nothing_kept(&beside(0.3, 1.0)), None);
    }
}
