//! Progress of a run: its ratios so far, and whether they are narrow enough.

use crate::costs::{Side, trial_costs};
use crate::harness;
use crate::plan_index::PlanIndex;
use crate::ratios::{Ratio, pairs, ratio};
use crate::unattributed;
use crate::wanders::Wanders;
use zc_run::{Block, Header};

/// The progress of a run: the ratio of each cell of the plan (of both sides together) over the
/// blocks kept so far; `None` for cells without a baseline, and for those without a cost yet.
pub fn progress(blocks: &[Block], header: &Header, level: f64) -> Vec<Option<Ratio>> {
    let index = PlanIndex::new(&header.plan);
    let kept: Vec<&Block> = blocks.iter().filter(|block| block.dropped.is_none()).collect();
    let mut costs = trial_costs(&kept, header, &index);
    let plan = &header.plan;
    unattributed::add_significant(&mut costs, plan, level);
    harness::smooth(&mut costs);
    let wander = Wanders::estimate(&costs, plan, &index).ratios(Side::Both);
    let cell_ratio = |cell: usize| {
        let pairs = pairs(&costs, cell, &index.divisors(cell), Side::Both);
        ratio(&pairs, level, wander.filter(|_| !index.wanders_with_its_baseline(cell)))
    };
    (0..plan.cells.len()).map(cell_ratio).collect()
}

/// Whether every cell with a baseline has a ratio whose half-width is within `target`.
pub fn all_within(progress: &[Option<Ratio>], header: &Header) -> bool {
    let (plan, index) = (&header.plan, PlanIndex::new(&header.plan));
    let referring: Vec<usize> =
        (0..plan.cells.len()).filter(|cell| index.baseline(*cell).is_some()).collect();
    let half_width = |cell: usize| progress.get(cell)?.as_ref()?.half_width();
    !referring.is_empty()
        && referring
            .into_iter()
            .all(|cell| half_width(cell).is_some_and(|half| half <= plan.target))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{Plan, SendPath};
    use zc_testkit::synthetic::{Synthetic, size_sweep};

    #[test]
    fn a_cell_is_divided_by_its_baseline() {
        let paths = [(SendPath::ReadSend, 300.0, 400.0), (SendPath::Sendfile, 400.0, 100.0)];
        let world = Synthetic {
            cells: size_sweep(&paths, &[1024, 65_536]),
            blocks: 30,
            ..Synthetic::default()
        };
        let run = world.run();
        let mut plan = run.header.plan.clone();
        // read+send 1024 with its control in the fifth place, sendfile 1024, read+send 65536,
        // sendfile 65536
        let all_divisors = |plan: &Plan| {
            let index = PlanIndex::new(plan);
            (0..5).map(|cell| index.divisors(cell)).collect::<Vec<_>>()
        };
        assert_eq!(all_divisors(&plan), [vec![], vec![0, 4], vec![], vec![2], vec![0]]);
        plan.cells[2].by = None;
        plan.cells[1].by = None;
        assert_eq!(
            all_divisors(&plan),
            [vec![], vec![0, 4], vec![0, 4], vec![2], vec![0]],
            "a baseline may have a baseline"
        );
        plan.cells[3].by = Some("nobody".to_owned());
        let index = PlanIndex::new(&plan);
        assert_eq!(index.baseline(3), None);
        assert_eq!((index.baseline(99), index.divisors(99)), (None, vec![]));

        let found = progress(&run.blocks, &run.header, 0.95);
        let has: Vec<bool> = found.iter().map(Option::is_some).collect();
        assert_eq!(has, [false, true, false, true, true]);
        let mut header = run.header.clone();
        header.plan.target = 0.5;
        assert!(all_within(&found, &header), "cells without a ratio do not count");
        header.plan.target = 1e-6;
        assert!(!all_within(&found, &header) && !all_within(&[], &header));
    }
}
