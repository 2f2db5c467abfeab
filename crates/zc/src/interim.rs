//! The interim analyses of a running measurement: [`zc_analysis`]'s drop rules and planned looks,
//! for a session.

use super::busy::Busy;
use zc_analysis::interim::InterimAnalyses;
use zc_analysis::{ratios, rules};
use zc_measure::session::{Interim, InterimResult};
use zc_run::{Block, Dropped, Header, Run};

/// Share of the budget after which a run ends that has kept no block.
const PATIENCE: f64 = 0.25;

/// The planned looks of a running measurement.
#[derive(Debug, Default)]
pub(super) struct Planned(InterimAnalyses);

impl Interim for Planned {
    fn drop_reason(&self, block: &Block, header: &Header) -> Option<Dropped> {
        rules::drop_reason(block, header)
    }

    fn look(&mut self, run: &Run, spent_share: f64) -> InterimResult {
        let kept = run.blocks.iter().filter(|block| block.dropped.is_none()).count();
        if !self.0.due(spent_share, kept) {
            return InterimResult::NotDue;
        }
        let level = self.0.level();
        self.0.take();
        if ratios::all_within(&ratios::progress(&run.blocks, &run.header, level), &run.header) {
            InterimResult::Stop
        } else {
            InterimResult::GoOn
        }
    }

    fn hopeless(&self, run: &Run, spent_share: f64) -> Option<String> {
        let busy = Busy::of(run).filter(|busy| busy.kept == 0 && busy.judged >= 2)?;
        (spent_share >= PATIENCE).then(|| busy.to_string())
    }
}
