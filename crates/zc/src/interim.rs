//! The interim analyses of a running measurement: [`zc_analysis`]'s drop rules and planned looks,
//! for a session.

use super::busy::Busy;
use zc_analysis::interim::InterimAnalyses;
use zc_analysis::{is_decided, progress, rules};
use zc_measure::session::{Interim, InterimResult};
use zc_run::{Block, Dropped, Header, Run};

/// Shares of the budget after which a run ends that has judged so many blocks and kept none. Few
/// blocks of a short run may fall into one burst of other work, so they get more time.
const PATIENCE: [(f64, usize); 2] = [(0.25, 5), (0.5, 2)];

/// The planned looks of a running measurement.
#[derive(Debug, Default)]
pub(super) struct Planned(InterimAnalyses);

impl Interim for Planned {
    fn drop_reason(&self, block: &Block, header: &Header) -> Option<Dropped> {
        rules::drop_reason(block, header)
    }

    fn look(&mut self, run: &Run, spent_share: f64) -> InterimResult {
        let kept = run.blocks.iter().filter(|block| block.dropped.is_none()).count();
        let plan = &run.header.plan;
        if !self.0.due(plan, spent_share, kept) {
            return InterimResult::NotDue;
        }
        let level = self.0.level(plan);
        self.0.take();
        if plan.quick && is_decided(run, level) {
            return InterimResult::Decided;
        }
        if progress::all_within(&progress::progress(&run.blocks, &run.header, level), &run.header) {
            InterimResult::Stop
        } else {
            InterimResult::GoOn
        }
    }

    fn hopeless(&self, run: &Run, spent_share: f64) -> Option<String> {
        let busy = Busy::of(run).filter(|busy| busy.kept == 0)?;
        let is_over = |(share, blocks): (f64, usize)| spent_share >= share && busy.judged >= blocks;
        PATIENCE.into_iter().any(is_over).then(|| busy.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
