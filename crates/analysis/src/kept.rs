//! Selects the kept blocks of a run and computes the costs of their trials.

use std::collections::HashMap;

use crate::account_kind::{AccountKind, Permitted};
use crate::costs::{Costs, TrialCost};
use crate::figures::{figure, per};
use crate::harness;
use crate::interim::level_of;
use crate::model::estimates::Unattributed;
use crate::model::figure::Figure;
use crate::plan_index::PlanIndex;
use crate::rules;
use crate::unattributed;
use crate::wanders::Wanders;
use zc_run::{Block, Cell, Dropped, Header, Plan, Run, Slot, Trial, TrialKind};

/// The blocks that were not dropped, with the costs of their soaked trials.
pub(super) struct KeptBlocks<'a> {
    pub(super) header: &'a Header,
    pub(super) blocks: Vec<&'a Block>,
    /// The trials of a cell by kind, each with the index of its block among the kept ones.
    trials: HashMap<&'a str, [Vec<(usize, &'a Trial)>; TrialKind::ALL.len()]>,
    /// The plan's cells by label, and what each is divided by.
    pub(super) index: PlanIndex<'a>,
    /// Indexed by block, then by cell of the plan.
    pub(super) costs: Vec<Vec<Option<TrialCost>>>,
    /// The account by which they were computed.
    pub(super) account: AccountKind,
    /// CPU time of other tasks that worked for the traffic; see [`Unattributed::added`].
    pub(super) unattributed: Option<Unattributed>,
    /// Soaked windows of cells, and those of them that have no cost because the soakers hardly ran.
    pub(super) windows: usize,
    pub(super) windows_left_out: usize,
    /// Index of the reference among the plan's cells.
    pub(super) reference: Option<usize>,
    /// Confidence level of each single interval.
    pub(super) level: f64,
    /// Wander of ratios and costs.
    pub(super) wanders: Wanders,
    /// The harness that was measured below 0 by more than its noise, if one was: the label of its
    /// cell, and what it is in ns per KiB.
    pub(super) harness_below_zero: Option<(String, Figure)>,
}

impl<'a> KeptBlocks<'a> {
    pub(super) fn from_run(run: &'a Run) -> Self {
        Self::at_level(run, level_of(&run.header.plan, run.end.as_ref()))
    }

    /// The same with intervals of another confidence level.
    pub(super) fn at_level(run: &'a Run, level: f64) -> Self {
        Self::only(run, level, Permitted::Best, |block| block.dropped.is_none())
    }

    /// The same by wall time, as for a run without own clocks: costs include what other programs
    /// took, so blocks in which they took much do not count.
    fn by_wall_time(run: &'a Run) -> Self {
        let level = level_of(&run.header.plan, run.end.as_ref());
        Self::only(run, level, Permitted::WallTime, |block| {
            block.dropped.is_none() && rules::broken(block, &run.header).is_none()
        })
    }

    /// These, or the blocks of the same run with costs by wall time where these are by a better
    /// account.
    pub(super) fn at_wall_time(self, run: &'a Run) -> Self {
        if self.account.leaves_others_out() { Self::by_wall_time(run) } else { self }
    }

    /// The blocks that were measured whole and dropped for the state of the machine, in their
    /// place.
    pub(super) fn dropped(run: &'a Run) -> Self {
        Self::only(run, level_of(&run.header.plan, run.end.as_ref()), Permitted::Best, |block| {
            matches!(
                block.dropped,
                Some(Dropped::Steal { .. } | Dropped::Foreign { .. } | Dropped::IdleDrift { .. })
            )
        })
    }

    fn only(
        run: &'a Run,
        level: f64,
        permitted: Permitted,
        wanted: impl Fn(&Block) -> bool,
    ) -> Self {
        let header = &run.header;
        let index = PlanIndex::new(&header.plan);
        let blocks: Vec<&Block> = run.blocks.iter().filter(|block| wanted(block)).collect();
        let Costs { by_block: mut costs, windows, hardly_ran } =
            Costs::from_blocks(&blocks, header, &index, permitted);
        let unattributed = unattributed::add_significant(&mut costs, &header.plan, level);
        let harness_below_zero = harness::measured(&costs, &header.plan)
            .find_map(|(label, cost)| Some((label, below_zero(&cost, &header.plan, level)?)));
        harness::smooth(&mut costs);
        Self {
            header,
            wanders: Wanders::estimate(&costs, &header.plan, &index),
            costs,
            account: AccountKind::for_run(blocks.iter().copied(), header, permitted),
            unattributed,
            windows,
            windows_left_out: hardly_ran,
            trials: by_cell(&blocks),
            blocks,
            reference: index.reference(),
            index,
            level,
            harness_below_zero,
        }
    }

    /// The median of costs that are below 0 by more than their noise; `None` if they are not. One
    /// in twenty runs whose costs are all 0 has one by chance (Bonferroni).
    pub(super) fn below_zero(&self, costs: &[f64]) -> Option<Figure> {
        below_zero(costs, &self.header.plan, self.level)
    }

    /// Whether costs are net of the harness.
    pub(super) fn is_net(&self) -> bool {
        self.header.plan.cells.iter().any(|cell| cell.harness.is_some())
    }

    /// With the harness in all costs, to compare them with those of a run that did not measure it.
    pub(super) fn gross(mut self) -> Self {
        for cost in self.costs.iter_mut().flatten().flatten() {
            cost.harness = None;
        }
        self.wanders = Wanders::estimate(&self.costs, &self.header.plan, &self.index);
        self
    }

    /// Cost of a cell in all its windows together, divided by all their bytes, in ns per KiB: `ns`
    /// picks the time that a trial lost. `None` without a trial that has it.
    pub(super) fn total_cost(
        &self,
        place: usize,
        ns: impl Fn(&TrialCost) -> Option<f64>,
    ) -> Option<f64> {
        let costs = self.costs.iter().filter_map(|block| block.get(place)?.as_ref());
        let (ns, bytes) = costs
            .filter_map(|cost| Some((ns(cost)?, cost.bytes as f64)))
            .fold((0.0, 0.0), |sum, (ns, bytes)| (sum.0 + ns, sum.1 + bytes));
        per(ns * 1024.0, bytes)
    }

    /// The unsoaked controls of a cell, each with the soaked trial of the cell in the same block.
    pub(super) fn twins(&self, label: &str) -> impl Iterator<Item = (&'a Trial, &'a Trial)> {
        let soaked: Vec<(usize, &Trial)> = self.trials(label, TrialKind::Soaked).collect();
        self.trials(label, TrialKind::UnsoakedControl).filter_map(move |(block, control)| {
            let place = soaked.partition_point(|(other, _)| *other < block);
            let (_, twin) = soaked.get(place).filter(|(other, _)| *other == block)?;
            Some((*twin, control))
        })
    }

    /// The unsoaked controls of a cell, each with the unsoaked paced trial of the same block.
    pub(super) fn unsoaked_pairs(&self, cell: &Cell) -> Vec<(&'a Trial, &'a Trial)> {
        let Some(harness) = &cell.harness else { return Vec::new() };
        let paced: Vec<_> = self.trials(harness, TrialKind::UnsoakedPaced).collect();
        let of_block = |block: usize| {
            let place = paced.partition_point(|(other, _)| *other < block);
            paced.get(place).filter(|(other, _)| *other == block)
        };
        self.trials(&cell.label, TrialKind::UnsoakedControl)
            .filter_map(|(block, control)| Some((control, of_block(block)?.1)))
            .collect()
    }

    /// The trials of one kind of a cell, each with the index of its block.
    pub(super) fn trials(
        &self,
        label: &str,
        kind: TrialKind,
    ) -> impl Iterator<Item = (usize, &'a Trial)> {
        self.trials
            .get(label)
            .into_iter()
            .flat_map(move |kinds| kinds[kind as usize].iter().copied())
    }
}

fn below_zero(costs: &[f64], plan: &Plan, level: f64) -> Option<Figure> {
    let corrected = 1.0 - (1.0 - level) / plan.cells.len().max(1) as f64;
    let below = |figure: &Figure| {
        figure.interval.and_then(|interval| interval.high).is_some_and(|high| high < 0.0)
    };
    figure(costs, corrected).filter(below)
}

/// An index of trials. They are looked up a dozen times for each cell, and walking over all blocks
/// each time would take longer than reading them.
fn by_cell<'a>(
    blocks: &[&'a Block],
) -> HashMap<&'a str, [Vec<(usize, &'a Trial)>; TrialKind::ALL.len()]> {
    let mut found: HashMap<&str, [Vec<(usize, &Trial)>; TrialKind::ALL.len()]> = HashMap::new();
    for (place, block) in blocks.iter().enumerate() {
        for slot in &block.slots {
            if let Slot::Trial(trial) = slot {
                found.entry(&trial.cell).or_default()[trial.kind as usize].push((place, trial));
            }
        }
    }
    found
}
