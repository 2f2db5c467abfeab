//! The cost of each soaked trial of a run: the CPU time that its traffic took.
//!
//! It is taken from the soakers' own clocks (`own_clock`) where these tell it, and otherwise from
//! the wall time that soakers lost (`wall_clock`), which contains what other programs and the
//! hypervisor took. `sides` decides which CPUs a cost covers.
//!
//! Over the link `remote`, the cost on each machine comes from its own soakers and its own clock.
//! All that was taken from a machine is the cost of its end, on whichever CPU its network card
//! interrupted.
//!
//! **Nothing is missed.** CPU time that other tasks used beyond what they use in idle windows is
//! known too, and part of the cost where it is significant: [`TrialCost::unattributed`],
//! `unattributed`.
//!
//! **Net of the harness.** zc wakes its sender for each burst and reads its meters; a sender that
//! never sleeps would not. So every block has a paced trial, which does all of that and sends
//! nothing, and its cost is subtracted from the costs of the block's other trials. Runs from before
//! format 3.1 have no such trials: their costs are gross.
//!
//! **Net of the load.** A server that zc did not start may run on any CPU, beside the thread that
//! asks it. The loss of all CPUs is then that of both, and the CPU time of that thread by its
//! clock, in the same window, is subtracted. Interrupts and softirqs on soakers' time stay in,
//! whichever of the two they were for.
//!
//! Both the session, which checks its progress, and the estimates use these costs.

use std::collections::HashMap;

use super::machine::{Machine, is_emulated};
use super::plan_index::PlanIndex;
use crate::account_kind::{AccountKind, Permitted};
use crate::sides::{self, arrived};
use crate::steal::StealInClocks;
use crate::taken::{self, Taken};
use crate::{less_others, own_clock, parallel, wall_clock};
use zc_run::{Block, Cell, Header, Levels, Placement, Slot, Traffic, Trial, TrialKind};

pub use crate::losses::{Losses, Side};
pub use crate::sides::{cell_has_separate_costs, cpus_of_both, sender_alone, sides_apart};

/// The soaked CPU time of one trial's window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialCost {
    /// Payload bytes that arrived in the window; above 0.
    pub bytes: u64,
    /// Everything that was taken in the window, the harness included.
    pub gross: Losses,
    /// CPU time that other tasks used in the window beyond what they used in the idle windows
    /// beside it, by the side's CPUs, where `gross` is by own clocks. `None` where `gross` is what
    /// the soakers lost by wall time, which contains it.
    pub unattributed: Option<Losses>,
    /// The share of the CPU time, on that CPU of [`Side::Both`] which they used most, that other
    /// programs used, or in which zc was stopped; 0 where `gross` is what the soakers lost by wall
    /// time.
    pub others_share: f64,
    /// The part of [`Side::Both`] that the load of a server took, where it is in there.
    pub load_ns: f64,
    /// The part of it that is the harness; `None` in a run that did not measure it.
    pub harness: Option<Losses>,
    /// The part of it that was burned on purpose; `None` in other cells than the positive control.
    pub burned: Option<Burned>,
}

/// CPU time that was burned on purpose in a window of the positive control.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Burned {
    /// Burned by the sender: its units of work at the idle rate of its CPU.
    pub task_ns: f64,
    /// Burned in softirq context; 0 where that is not possible.
    pub softirq_ns: f64,
}

impl TrialCost {
    /// Soaked CPU time, net of the load and, where that was measured, of the harness; `None` where
    /// the side has no cost of its own.
    pub fn ns(&self, side: Side) -> Option<f64> {
        let harness_ns = self.harness.and_then(|harness| harness.for_side(side)).unwrap_or(0.0);
        Some(self.gross_ns(side)? - harness_ns)
    }

    /// Like [`ns`](Self::ns), with the harness in it.
    fn gross_ns(&self, side: Side) -> Option<f64> {
        let load_ns = if side == Side::Both { self.load_ns } else { 0.0 };
        Some(self.gross.for_side(side)? - load_ns)
    }

    /// Soaked CPU time per KiB of payload; see [`ns`](Self::ns).
    pub fn ns_per_kib(&self, side: Side) -> Option<f64> {
        self.ns(side).map(|ns| self.per_kib(ns))
    }

    /// Soaked CPU time per KiB of payload, with the harness in it.
    pub fn gross_ns_per_kib(&self, side: Side) -> Option<f64> {
        self.gross_ns(side).map(|ns| self.per_kib(ns))
    }

    /// Soaked CPU time per KiB of payload that is the harness; `None` where it was not measured.
    pub fn harness_ns_per_kib(&self, side: Side) -> Option<f64> {
        self.harness?.for_side(side).map(|ns| self.per_kib(ns))
    }

    /// CPU time that other tasks used beyond what they used in idle windows, per KiB of payload;
    /// `None` where the cost is by wall time.
    pub fn unattributed_ns_per_kib(&self, side: Side) -> Option<f64> {
        self.unattributed?.for_side(side).map(|ns| self.per_kib(ns))
    }

    /// CPU time burned on purpose per KiB of payload: all of it, and what was burned in softirq
    /// context.
    pub fn burned_ns_per_kib(&self) -> Option<(f64, f64)> {
        let Burned { task_ns, softirq_ns } = self.burned?;
        Some((self.per_kib(task_ns + softirq_ns), self.per_kib(softirq_ns)))
    }

    fn per_kib(&self, ns: f64) -> f64 {
        ns * 1024.0 / self.bytes as f64
    }
}

/// The costs of the soaked trials of blocks that were measured one after the other: by block, and
/// within it in the order of the plan's cells. `None` for a cell without one: there is no such
/// trial, no bytes arrived, an idle window or a soaker's counter is missing, the block lacks the
/// paced trial of its harness, or the soakers hardly ran. On an emulated machine nothing has a
/// cost. `index` is that of the plan.
pub fn trial_costs(
    blocks: &[&Block],
    header: &Header,
    index: &PlanIndex<'_>,
) -> Vec<Vec<Option<TrialCost>>> {
    Costs::from_blocks(blocks, header, index, Permitted::Best).by_block
}

/// The costs of blocks, by one of the accounts.
pub(crate) struct Costs {
    /// See [`trial_costs`].
    pub(crate) by_block: Vec<Vec<Option<TrialCost>>>,
    /// Soaked windows of cells with valid readings.
    pub(crate) windows: usize,
    /// Windows among these without a cost, because the soakers hardly ran.
    pub(crate) hardly_ran: usize,
}

impl Costs {
    pub(crate) fn from_blocks(
        blocks: &[&Block],
        header: &Header,
        index: &PlanIndex<'_>,
        permitted: Permitted,
    ) -> Self {
        let cells = header.plan.cells.len();
        let mut costs =
            Self { by_block: vec![vec![None; cells]; blocks.len()], windows: 0, hardly_ran: 0 };
        if !is_emulated(header) {
            let by = By { permitted, steal: StealInClocks::from_idle_windows(blocks, header) };
            let found =
                parallel::each(blocks.len(), |at| Windows::in_block(blocks[at], header, index, by));
            costs.fill(&found, header);
        }
        costs
    }

    fn fill(&mut self, found: &[Windows<'_>], header: &Header) {
        let harnesses = Harnesses::from_windows(found);
        for (place, cell) in header.plan.cells.iter().enumerate() {
            let windows: Vec<Option<&Window>> =
                found.iter().map(|block| block.cells[place].as_ref()).collect();
            let taken: Vec<Option<&Taken>> =
                windows.iter().map(|window| Some(&(*window)?.taken)).collect();
            let unattributed = taken::unattributed(&taken);
            for (at, gross) in taken::losses(&taken).into_iter().enumerate() {
                self.windows += usize::from(windows[at].is_some());
                self.hardly_ran += usize::from(windows[at].is_some() && gross.is_none());
                let harness = cell.harness.as_deref().map(|label| harnesses.in_block(label, at));
                self.by_block[at][place] = gross
                    .zip(windows[at])
                    .and_then(|(gross, of)| of.cost(gross, unattributed[at], harness));
            }
        }
    }
}

/// Accounts by which costs may be computed, and the correction for steal.
#[derive(Debug, Clone, Copy)]
struct By {
    permitted: Permitted,
    steal: StealInClocks,
}

/// CPU time taken in the windows of a block.
struct Windows<'h> {
    /// Windows of the first soaked trial of each cell, in the order of the plan's cells.
    cells: Vec<Option<Window>>,
    /// CPU time taken in the paced trials, by the label of their cell.
    paced: HashMap<&'h str, Taken>,
}

impl<'h> Windows<'h> {
    fn in_block(block: &Block, header: &'h Header, index: &PlanIndex<'h>, by: By) -> Self {
        let mut cells: Vec<Option<Window>> = Vec::new();
        cells.resize_with(header.plan.cells.len(), || None);
        let mut paced = HashMap::new();
        for (slot, what) in block.slots.iter().enumerate() {
            let Slot::Trial(trial) = what else { continue };
            let Some(place) = index.place(&trial.cell) else { continue };
            let cell = &header.plan.cells[place];
            match trial.kind {
                TrialKind::Soaked if cells[place].is_none() => {
                    cells[place] = Window::in_slot(block, slot, header, cell, by);
                }
                TrialKind::Paced => {
                    let account = AccountKind::for_trial(block, slot, header, by.permitted);
                    let levels = &cell.levels;
                    if let Some(taken) = taken_in(block, slot, header, levels, account, by.steal) {
                        paced.entry(cell.label.as_str()).or_insert(taken);
                    }
                }
                _ => {}
            }
        }
        Self { cells, paced }
    }
}

/// A soaked trial of a block.
struct Window {
    bytes: u64,
    taken: Taken,
    account: AccountKind,
    load_ns: f64,
    burned: Option<Burned>,
}

impl Window {
    fn in_slot(block: &Block, slot: usize, header: &Header, cell: &Cell, by: By) -> Option<Self> {
        let Slot::Trial(trial) = block.slots.get(slot)? else { return None };
        let bytes = arrived(&trial.opened, &trial.closed)?;
        let account = AccountKind::for_trial(block, slot, header, by.permitted);
        let taken = taken_in(block, slot, header, &cell.levels, account, by.steal)?;
        let burned = match cell.burn_units_per_mb {
            None => None,
            Some(units_per_mb) => Some(Burned {
                task_ns: burned_ns(block, slot, header, cell, units_per_mb, account, by.steal)?,
                softirq_ns: softirq_burned_ns(trial),
            }),
        };
        Some(Self { bytes, taken, account, load_ns: load_ns(trial, header), burned })
    }

    /// The cost, net of `harness`. `None` if that was to be measured and was not.
    fn cost(
        &self,
        gross: Losses,
        unattributed: Option<Losses>,
        harness: Option<Option<Losses>>,
    ) -> Option<TrialCost> {
        let harness = match harness {
            None => None,
            Some(losses) => Some(losses?.scaled_to(gross.window_ns)),
        };
        Some(TrialCost {
            bytes: self.bytes,
            gross,
            unattributed: unattributed.filter(|_| self.account == AccountKind::OwnClocks),
            others_share: self.taken.others_share(),
            load_ns: self.load_ns,
            harness,
            burned: self.burned,
        })
    }
}

/// CPU time lost in the paced trials of blocks, by the label of their cell.
struct Harnesses<'h>(HashMap<&'h str, Vec<Option<Losses>>>);

impl<'h> Harnesses<'h> {
    fn from_windows(blocks: &[Windows<'h>]) -> Self {
        let mut by_label = HashMap::new();
        for label in blocks.iter().flat_map(|block| block.paced.keys()) {
            by_label.entry(*label).or_insert_with(|| {
                let of_label: Vec<_> = blocks.iter().map(|block| block.paced.get(label)).collect();
                taken::losses(&of_label)
            });
        }
        Self(by_label)
    }

    fn in_block(&self, label: &str, at: usize) -> Option<Losses> {
        self.0.get(label)?[at]
    }
}

/// CPU time taken in the trial in slot number `slot`, by this account.
fn taken_in(
    block: &Block,
    slot: usize,
    header: &Header,
    levels: &Levels,
    account: AccountKind,
    steal: StealInClocks,
) -> Option<Taken> {
    sides::taken(block, slot, header, levels, |block, slot, machine| match account {
        AccountKind::OwnClocks => own_clock::account(block, slot, machine, steal),
        AccountKind::WallLessOthers => less_others::account(block, slot, machine, steal),
        AccountKind::WallTime { .. } => wall_clock::account(block, slot, machine),
    })
}

/// CPU time of the thread that asked a server, where the loss of its CPU is in the cost.
fn load_ns(trial: &Trial, header: &Header) -> f64 {
    if !header.plan.server_ran_already() {
        return 0.0;
    }
    trial.closed.receiver.cpu_ns.saturating_sub(trial.opened.receiver.cpu_ns) as f64
}

/// CPU time that the units burned by the sender in a window took from the soaker of its CPU, which
/// would have done them at its idle rate. Threads that are not pinned may run on any soaked CPU.
fn burned_ns(
    block: &Block,
    slot: usize,
    header: &Header,
    cell: &Cell,
    units_per_mb: f64,
    account: AccountKind,
    steal: StealInClocks,
) -> Option<f64> {
    let Slot::Trial(trial) = block.slots.get(slot)? else { return None };
    let sent = trial.closed.sent.bytes.checked_sub(trial.opened.sent.bytes)?;
    let machine = Machine::local(header);
    let idle_units_per_ns: Vec<Option<f64>> = match account.leaves_others_out() {
        true => own_clock::speeds(block, slot, &machine, steal)?,
        false => wall_clock::rates(block, slot, &machine)?.1.into_iter().map(Some).collect(),
    };
    let fixed = header.plan.fixed.at(&cell.levels);
    // Beside a server it burns on one CPU, wherever the server is.
    let beside_server = matches!(header.plan.traffic, Traffic::Server(_) | Traffic::Nfs(_));
    let free = fixed.placement == Placement::Free && !beside_server;
    let rates: Vec<f64> = std::iter::zip(machine.cpus, idle_units_per_ns)
        .filter(|(cpu, _)| free || **cpu == fixed.sender_cpu)
        .filter_map(|(_, rate)| rate)
        .collect();
    // What burns beside a server counts what it has burned.
    let units = match (trial.opened.burned_units, trial.closed.burned_units) {
        (Some(from), Some(to)) => to.checked_sub(from)? as f64,
        _ => sent as f64 / 1e6 * units_per_mb,
    };
    (!rates.is_empty()).then(|| units * rates.len() as f64 / rates.iter().sum::<f64>())
}

/// CPU time burned in softirq context in a trial's window.
fn softirq_burned_ns(trial: &Trial) -> f64 {
    match (trial.opened.burned_ns, trial.closed.burned_ns) {
        (Some(from_ns), Some(to_ns)) => to_ns.saturating_sub(from_ns) as f64,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept::KeptBlocks;
    use crate::other_programs;
    use zc_run::{IdleWindow, Run};
    use zc_testkit::synthetic::{Synthetic, two_machines};

    fn costs_of(run: &Run, block: &Block) -> Vec<Option<TrialCost>> {
        costs_in(block, &run.header)
    }

    fn costs_in(block: &Block, header: &Header) -> Vec<Option<TrialCost>> {
        trial_costs(&[block], header, &PlanIndex::new(&header.plan)).remove(0)
    }

    fn trial_cost(block: &Block, slot: usize, header: &Header) -> Option<TrialCost> {
        let Slot::Trial(trial) = block.slots.get(slot)? else { return None };
        costs_in(block, header)[PlanIndex::new(&header.plan).place(&trial.cell)?]
    }

    fn quiet() -> Synthetic {
        Synthetic {
            blocks: 4,
            noise: 0.0,
            block_drift: 0.0,
            idle_noise: 0.0,
            ..Synthetic::default()
        }
    }

    #[test]
    fn the_true_cost_comes_back_although_the_idle_rates_drift() {
        let world = Synthetic { idle_drift_per_s: 0.05, ..quiet() };
        let run = world.run();
        for block in &run.blocks {
            let costs = costs_of(&run, block);
            assert_eq!(costs.len(), world.cells.len());
            for (cell, cost) in world.cells.iter().zip(costs) {
                let cost = cost.unwrap();
                assert!(
                    (cost.ns_per_kib(Side::Sender).unwrap() - cell.sender_ns_per_kib).abs() < 1.0
                );
                assert!(
                    (cost.ns_per_kib(Side::Receiver).unwrap() - cell.receiver_ns_per_kib).abs()
                        < 1.0
                );
                let both = cell.sender_ns_per_kib + cell.receiver_ns_per_kib;
                assert!((cost.ns_per_kib(Side::Both).unwrap() - both).abs() < 2.0);
                assert_eq!(cost.ns_per_kib(Side::OtherCpus), None);
            }
        }
    }

    #[test]
    fn what_other_programs_and_the_hypervisor_take_is_in_no_cost() {
        let off = |world: &Synthetic| {
            let run = world.run();
            let blocks: Vec<&Block> = run.blocks.iter().collect();
            let costs = trial_costs(&blocks, &run.header, &PlanIndex::new(&run.header.plan));
            let truths =
                world.cells.iter().map(|cell| (cell.sender_ns_per_kib, cell.receiver_ns_per_kib));
            let of_cell = |((sender, receiver), cost): ((f64, f64), &Option<TrialCost>)| {
                let cost = cost.unwrap();
                let sender_off = cost.ns_per_kib(Side::Sender).unwrap() - sender;
                let receiver_off = cost.ns_per_kib(Side::Receiver).unwrap() - receiver;
                sender_off.abs().max(receiver_off.abs())
            };
            let of_block = |costs: &Vec<Option<TrialCost>>| {
                truths.clone().zip(costs).map(of_cell).fold(0.0, f64::max)
            };
            costs.iter().map(of_block).fold(0.0, f64::max)
        };
        for foreign_share in [0.0, 0.25, 0.4] {
            let world = Synthetic { foreign_share, ..quiet() };
            assert!(off(&world) < 2.0, "{foreign_share}: {}", off(&world));
        }
        // Steal is only known in ticks.
        let stolen = off(&Synthetic { steal_share: 0.3, ..quiet() });
        assert!(stolen < 50.0, "{stolen}");
        // By wall time what they take is in it, unless it is as much in idle windows.
        let by_wall = |share: f64| Synthetic { own_clocks: false, foreign_share: share, ..quiet() };
        assert!(off(&by_wall(0.25)) > 100.0);
    }

    #[test]
    fn a_window_in_which_zc_was_stopped_has_its_cost_and_leaves_the_others_theirs() {
        let mut run = Synthetic { blocks: 16, foreign_share: 0.1, ..quiet() }.run();
        let costs = |run: &Run| {
            let blocks: Vec<&Block> = run.blocks.iter().collect();
            let costs = trial_costs(&blocks, &run.header, &PlanIndex::new(&run.header.plan));
            costs.into_iter().flatten().map(Option::unwrap).collect::<Vec<_>>()
        };
        let of_others =
            |run: &Run| other_programs::cpu_shares(&KeptBlocks::from_run(run)).unwrap().share;
        let (before, others_before) = (costs(&run), of_others(&run));
        // SIGSTOP for three seconds, in which both CPUs are idle.
        let slots = &mut run.blocks[8].slots;
        let is_trial = |slot: &Slot| matches!(slot, Slot::Trial(_));
        let stopped = slots.iter().position(is_trial).unwrap();
        for (at, slot) in slots.iter_mut().enumerate().skip(stopped) {
            let (Slot::Idle(IdleWindow { opened, closed, .. })
            | Slot::Trial(Trial { opened, closed, .. })) = slot;
            let later = if at == stopped { vec![closed] } else { vec![opened, closed] };
            for reading in later {
                reading.soak.at_ns += 3_000_000_000;
                reading.stat.at_ns += 3_000_000_000;
                reading.stat.cpus.iter_mut().for_each(|cpu| cpu.idle += 300);
            }
        }
        let (after, others_after) = (costs(&run), of_others(&run));
        assert!(others_after < others_before, "{others_before} {others_after}");
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(&after) {
            let ns_per_kib = |cost: &TrialCost| cost.ns_per_kib(Side::Both).unwrap();
            assert!(
                (ns_per_kib(after) / ns_per_kib(before) - 1.0).abs() < 0.01,
                "{before:?} {after:?}"
            );
        }
        let unattributed = |cost: &TrialCost| cost.unattributed_ns_per_kib(Side::Both).unwrap();
        for (before, after) in before.iter().zip(&after) {
            assert!((unattributed(after) - unattributed(before)).abs() < 10.0, "{after:?}");
        }

        // The same where other programs had the CPUs meanwhile: that window has no cost.
        for slot in run.blocks[8].slots.iter_mut() {
            let (Slot::Idle(IdleWindow { opened, closed, .. })
            | Slot::Trial(Trial { opened, closed, .. })) = slot;
            for cpu in [opened, closed].into_iter().flat_map(|reading| &mut reading.stat.cpus) {
                cpu.idle = 0;
            }
        }
        let blocks: Vec<&Block> = run.blocks.iter().collect();
        let costs = trial_costs(&blocks, &run.header, &PlanIndex::new(&run.header.plan));
        let mut missing = 0;
        for (before, after) in before.iter().zip(costs.iter().flatten()) {
            let ns_per_kib = |cost: &TrialCost| cost.ns_per_kib(Side::Both).unwrap();
            match after {
                Some(after) => assert!(
                    (ns_per_kib(after) / ns_per_kib(before) - 1.0).abs() < 0.01,
                    "{after:?}"
                ),
                None => missing += 1,
            }
        }
        assert_eq!(missing, 1);
    }

    #[test]
    fn work_that_traffic_makes_for_other_tasks_is_not_attributed() {
        let mut run = quiet().run();
        let at = |run: &Run| costs_in(&run.blocks[0], &run.header)[0].unwrap();
        let before = at(&run);
        assert!(before.unattributed.unwrap().both_ns.abs() < 0.01 * before.gross.both_ns);
        // Each trial took 5 ms more of the sender's CPU from its soaker.
        for slot in &mut run.blocks[0].slots {
            let Slot::Trial(Trial { closed, .. }) = slot else { continue };
            if let (Some(units), Some(cpu_ns)) =
                (closed.soak.units.first_mut(), closed.soak.cpu_ns.first_mut())
            {
                (*units, *cpu_ns) = (*units - 5_000_000 / 3000, *cpu_ns - 5_000_000);
            }
        }
        let after = at(&run);
        let unattributed = after.unattributed.unwrap();
        assert!((unattributed.both_ns - 5e6).abs() < 0.15 * 5e6, "{after:?}");
        let of_sender_ns = unattributed.sender_ns.unwrap();
        assert!((of_sender_ns - unattributed.both_ns).abs() < 1.0, "{after:?}");
    }

    #[test]
    fn the_harness_is_taken_off_the_cost_of_its_side() {
        let world = Synthetic { harness_share: 0.03, ..quiet() };
        let mut run = world.run();
        // At 800 MB/s a KiB takes 1,280 ns.
        let harness_ns_per_kib = 0.03 * 1_280.0;
        for costs in run.blocks.iter().map(|block| costs_of(&run, block)) {
            for (cell, cost) in world.cells.iter().zip(costs) {
                let cost = cost.unwrap();
                let near = |found: Option<f64>, truth: f64| (found.unwrap() - truth).abs() < 2.0;
                let (sender, receiver) = (cell.sender_ns_per_kib, cell.receiver_ns_per_kib);
                assert!(near(cost.ns_per_kib(Side::Sender), sender), "{cost:?}");
                assert!(near(cost.ns_per_kib(Side::Receiver), receiver), "{cost:?}");
                assert!(near(cost.ns_per_kib(Side::Both), sender + receiver), "{cost:?}");
                let gross = cost.gross_ns_per_kib(Side::Sender);
                assert!(near(gross, sender + harness_ns_per_kib), "{cost:?}");
            }
        }
        run.blocks[0]
            .slots
            .retain(|slot| !matches!(slot, Slot::Trial(trial) if trial.kind == TrialKind::Paced));
        let costs = costs_of(&run, &run.blocks[0]);
        assert!(costs.iter().all(Option::is_none), "a gross cost is not a net one");
    }

    #[test]
    fn the_cost_on_each_machine_comes_from_its_own_soakers_and_clock() {
        let world = quiet();
        let run = two_machines(world.run());
        for block in &run.blocks {
            let costs = costs_of(&run, block);
            assert_eq!(costs.len(), world.cells.len());
            for (cell, cost) in world.cells.iter().zip(costs) {
                let cost = cost.unwrap();
                assert!(
                    (cost.ns_per_kib(Side::Sender).unwrap() - cell.sender_ns_per_kib).abs() < 1.0
                );
                assert!(
                    (cost.ns_per_kib(Side::Receiver).unwrap() - cell.receiver_ns_per_kib).abs()
                        < 1.0
                );
                let both = cell.sender_ns_per_kib + cell.receiver_ns_per_kib;
                assert!((cost.ns_per_kib(Side::Both).unwrap() - both).abs() < 2.0);
                assert_eq!(cost.gross.other_cpus_ns, None);
            }
        }
    }

    #[test]
    fn a_longer_remote_window_does_not_change_the_receivers_cost() {
        let mut run = two_machines(quiet().run());
        let before = costs_of(&run, &run.blocks[0])[0].unwrap();
        // The remote window is twice as long, and everything in it happened twice.
        for slot in &mut run.blocks[0].slots {
            let (Slot::Idle(zc_run::IdleWindow { remote, .. })
            | Slot::Trial(zc_run::Trial { remote, .. })) = slot;
            let window = remote.as_mut().unwrap();
            let (opened, closed) = (&window.opened, &mut window.closed);
            closed.soak.at_ns += closed.soak.at_ns - opened.soak.at_ns;
            let soak = &mut closed.soak;
            for (closed, opened) in
                [(&mut soak.units, &opened.soak.units), (&mut soak.cpu_ns, &opened.soak.cpu_ns)]
            {
                closed
                    .iter_mut()
                    .zip(opened)
                    .for_each(|(closed, opened)| *closed += *closed - opened);
            }
            closed.receiver.cpu_ns += closed.receiver.cpu_ns - opened.receiver.cpu_ns;
            closed.received.bytes += closed.received.bytes - opened.received.bytes;
        }
        let after = costs_of(&run, &run.blocks[0])[0].unwrap();
        let receiver = |cost: TrialCost| cost.ns_per_kib(Side::Receiver).unwrap();
        assert!(
            (receiver(before) - receiver(after)).abs() < 1.0,
            "{} {}",
            receiver(before),
            receiver(after)
        );
    }

    #[test]
    fn without_meters_at_the_remote_end_only_the_sender_has_a_cost() {
        let world = quiet();
        let mut run = two_machines(world.run());
        run.header.remote.as_mut().unwrap().machine = None;
        assert!(sender_alone(&run.header));
        let cost = costs_of(&run, &run.blocks[0])[0].unwrap();
        assert_eq!(cost.gross.receiver_ns, None);
        assert_eq!(cost.gross.sender_ns, Some(cost.gross.both_ns));
        assert!(
            (cost.ns_per_kib(Side::Both).unwrap() - world.cells[0].sender_ns_per_kib).abs() < 1.0
        );
    }

    #[test]
    fn two_ends_on_one_machine_have_a_common_cost() {
        let mut run = two_machines(quiet().run());
        run.header.remote.as_mut().unwrap().machine.as_mut().unwrap().same_machine = true;
        let cost = costs_of(&run, &run.blocks[0])[0].unwrap();
        assert_eq!((cost.gross.sender_ns, cost.gross.receiver_ns), (None, None));
        assert!((cost.ns_per_kib(Side::Both).unwrap() - 900.0).abs() < 2.0);
    }

    #[test]
    fn sides_have_separate_costs_only_where_link_and_cpus_allow_it() {
        for world in [
            Synthetic { sides_apart: false, ..quiet() },
            Synthetic { cpus: 1, rate_bytes_per_s: 4e8, ..quiet() },
        ] {
            let run = world.run();
            let cost = costs_of(&run, &run.blocks[0])[0].unwrap();
            assert_eq!((cost.gross.sender_ns, cost.gross.receiver_ns), (None, None));
            assert!((cost.ns_per_kib(Side::Both).unwrap() - 900.0).abs() < 2.0);
        }
    }

    /// The costs of the first two cells of a run, where the first one has another placement than
    /// the others.
    fn placed(world: &Synthetic, placement: Placement, rps: bool) -> (TrialCost, TrialCost) {
        let mut run = world.run();
        run.header.link.rps = rps.then(|| "sysfs".to_owned());
        run.header.plan.cells[0].levels.placement = Some(placement);
        let costs = costs_of(&run, &run.blocks[0]);
        (costs[0].unwrap(), costs[1].unwrap())
    }

    #[test]
    fn ends_on_one_cpu_cost_the_loss_of_that_cpu_and_of_the_steered_one() {
        // The receiver is not where it says it is, which its clock would tell.
        let own_clocks = false;
        let world = Synthetic { cpus: 3, other_cpus_ns_per_kib: 77.0, own_clocks, ..quiet() };
        let near =
            |cost: Option<f64>, ns: f64| assert!((cost.unwrap() - ns).abs() < 2.0, "{cost:?} {ns}");
        let (cost, separate) = placed(&world, Placement::Same, false);
        assert_eq!((cost.gross.sender_ns, cost.gross.receiver_ns), (None, None));
        near(cost.ns_per_kib(Side::Both), 500.0);
        near(cost.ns_per_kib(Side::OtherCpus), 400.0 + 77.0);
        near(separate.ns_per_kib(Side::Receiver), 400.0);
        near(placed(&world, Placement::Same, true).0.ns_per_kib(Side::Both), 900.0);
    }

    #[test]
    fn threads_that_are_not_pinned_cost_the_loss_of_all_cpus() {
        let world = Synthetic { cpus: 3, other_cpus_ns_per_kib: 77.0, ..quiet() };
        let (cost, separate) = placed(&world, Placement::Free, false);
        assert_eq!(
            (cost.gross.sender_ns, cost.gross.receiver_ns, cost.gross.other_cpus_ns),
            (None, None, None)
        );
        assert!((cost.ns_per_kib(Side::Both).unwrap() - 977.0).abs() < 2.0);
        assert!((separate.ns_per_kib(Side::Both).unwrap() - 900.0).abs() < 2.0);
    }

    /// A run of a server that zc did not start.
    fn with_a_server(world: &Synthetic) -> Run {
        let mut run = world.run();
        run.header.plan.fixed.placement = Placement::Free;
        run.header.plan.traffic = Traffic::Server(zc_testkit::server::ran_already());
        run
    }

    #[test]
    fn the_load_s_cpu_time_is_taken_off_the_loss_of_all_cpus() {
        let world = Synthetic { cpus: 3, other_cpus_ns_per_kib: 77.0, ..quiet() };
        let run = with_a_server(&world);
        for (cell, cost) in world.cells.iter().zip(costs_of(&run, &run.blocks[0])) {
            let cost = cost.unwrap();
            let all = cell.sender_ns_per_kib + cell.receiver_ns_per_kib + 77.0;
            let load = cell.receiver_ns_per_kib * cell.rusage_share;
            let both = cost.ns_per_kib(Side::Both).unwrap();
            assert!((both - (all - load)).abs() < 2.0, "{both}: {all} - {load}");
            assert_eq!(cost.ns_per_kib(Side::Sender), None);
            assert_eq!(cost.gross_ns_per_kib(Side::Both), Some(both));
        }
        // The load of a server that zc started has a CPU of its own, which is in no cost.
        let mut ours = run.clone();
        ours.header.plan.traffic.server_mut().unwrap().serve = Some("nginx".to_owned());
        ours.header.plan.fixed.placement = Placement::Separate;
        let cost = costs_of(&ours, &ours.blocks[0])[0].unwrap();
        assert_eq!(cost.load_ns, 0.0);
        let sender = cost.ns_per_kib(Side::Both).unwrap();
        assert!((sender - world.cells[0].sender_ns_per_kib).abs() < 1.0, "{sender}");
    }

    #[test]
    fn a_server_that_was_found_costs_the_same_beside_other_programs() {
        let cost = |foreign_share, found| {
            let world = Synthetic { cpus: 3, blocks: 15, foreign_share, ..quiet() };
            let mut run = with_a_server(&world);
            run.header.plan.traffic.server_mut().unwrap().found = found;
            let blocks: Vec<&Block> = run.blocks.iter().collect();
            let index = PlanIndex::new(&run.header.plan);
            let costs = trial_costs(&blocks, &run.header, &index);
            let each: Vec<TrialCost> = costs.iter().map(|block| block[0].unwrap()).collect();
            assert!(each.iter().all(|cost| cost.unattributed.is_some() == found));
            let ns = each.iter().map(|cost| cost.ns_per_kib(Side::Both).unwrap());
            ns.sum::<f64>() / each.len() as f64
        };
        let quiet = cost(0.0, false);
        // Where the server ran is not known. So the soakers of all CPUs together tell what
        // interrupts took from others, and most of them came where the soakers had least.
        for (foreign_share, within) in [(0.0, 0.01), (0.3, 0.05)] {
            let beside = cost(foreign_share, true);
            assert!((beside / quiet - 1.0).abs() < within, "{foreign_share}: {beside}, {quiet}");
        }
    }

    #[test]
    fn what_a_server_uses_in_idle_windows_too_is_not_for_the_traffic() {
        let mut run = Synthetic { blocks: 1, ..quiet() }.run();
        let before = costs_of(&run, &run.blocks[0]);
        let Slot::Idle(first) = &run.blocks[0].slots[0] else { panic!("a block begins idle") };
        let began_ns = first.opened.soak.at_ns;
        for slot in &mut run.blocks[0].slots {
            let (Slot::Idle(zc_run::IdleWindow { opened, closed, .. })
            | Slot::Trial(zc_run::Trial { opened, closed, .. })) = slot;
            for reading in [opened, closed] {
                // A twentieth of a CPU for somebody else.
                reading.sender.cpu_ns += (reading.soak.at_ns - began_ns) / 20;
            }
        }
        for (before, after) in std::iter::zip(before, costs_of(&run, &run.blocks[0])) {
            let both = |cost: Option<TrialCost>| cost.unwrap().ns_per_kib(Side::Both).unwrap();
            assert!((both(before) - both(after)).abs() < 0.1, "{before:?} {after:?}");
        }
    }

    #[test]
    fn what_is_burned_beside_a_server_is_burned_on_one_cpu() {
        let mut run = with_a_server(&Synthetic { cpus: 3, ..quiet() });
        run.header.plan.cells[0].burn_units_per_mb = Some(100.0);
        let burned = |run: &Run| {
            let costs = costs_of(run, &run.blocks[0]);
            costs[0].unwrap().burned.unwrap().task_ns
        };
        let before = burned(&run);
        // A CPU that is twice as fast, and on which nothing is burned.
        for slot in &mut run.blocks[0].slots {
            let (Slot::Idle(zc_run::IdleWindow { opened, closed, .. })
            | Slot::Trial(zc_run::Trial { opened, closed, .. })) = slot;
            for reading in [opened, closed] {
                reading.soak.units.iter_mut().skip(2).for_each(|units| *units *= 2);
            }
        }
        assert!((burned(&run) - before).abs() < 1e-6 * before);
    }

    #[test]
    fn units_that_were_counted_beside_a_server_are_those_that_were_burned() {
        let mut run = with_a_server(&quiet());
        run.header.plan.cells[0].burn_units_per_mb = Some(100.0);
        let burned = |run: &Run| costs_of(run, &run.blocks[0])[0].unwrap().burned.unwrap().task_ns;
        let mut count = |units: u64| {
            for slot in &mut run.blocks[0].slots {
                if let Slot::Trial(trial) = slot {
                    trial.opened.burned_units = Some(7);
                    trial.closed.burned_units = Some(7 + units);
                }
            }
            burned(&run)
        };
        let (once, twice) = (count(50), count(100));
        assert!(once > 0.0 && (twice - 2.0 * once).abs() < 1e-6 * twice, "{once} {twice}");
    }

    #[test]
    fn the_placement_of_a_cell_decides_whether_its_sides_have_separate_costs() {
        let header = quiet().header();
        let at = |placement| Levels { placement: Some(placement), ..Levels::default() };
        assert!(sides_apart(&header) && cell_has_separate_costs(&header, &Levels::default()));
        assert!(!cell_has_separate_costs(&header, &at(Placement::Same)));
        assert!(!cell_has_separate_costs(&header, &at(Placement::Free)));
        let mut header = header;
        header.plan.fixed.placement = Placement::Free;
        assert!(
            !sides_apart(&header) && cell_has_separate_costs(&header, &at(Placement::Separate))
        );
    }

    #[test]
    fn the_loss_of_other_cpus_is_a_separate_cost() {
        let run = Synthetic { cpus: 4, other_cpus_ns_per_kib: 77.0, ..quiet() }.run();
        let cost = costs_of(&run, &run.blocks[0])[0].unwrap();
        assert!((cost.ns_per_kib(Side::OtherCpus).unwrap() - 77.0).abs() < 1.0);
        assert!((cost.ns_per_kib(Side::Both).unwrap() - 900.0).abs() < 2.0);
    }

    #[test]
    fn a_trial_with_invalid_readings_has_no_cost() {
        let run = Synthetic { own_clocks: false, ..quiet() }.run();
        let header = &run.header;
        assert!(trial_cost(&run.blocks[0], 1, header).is_some());

        let spoilt = |spoil: &dyn Fn(&mut zc_run::Trial)| {
            let mut block = run.blocks[0].clone();
            let Slot::Trial(trial) = &mut block.slots[1] else { panic!("slot 1 is a trial") };
            spoil(trial);
            trial_cost(&block, 1, header)
        };
        assert_eq!(spoilt(&|trial| trial.kind = TrialKind::UnsoakedControl), None);
        assert_eq!(
            spoilt(&|trial| trial.closed.received = trial.opened.received),
            None,
            "no bytes"
        );
        assert_eq!(
            spoilt(&|trial| trial.closed.soak.at_ns = trial.opened.soak.at_ns),
            None,
            "no length"
        );
        assert_eq!(spoilt(&|trial| trial.closed.soak.at_ns = 0), None, "backwards");
        assert_eq!(
            spoilt(&|trial| trial.closed.soak.units.truncate(1)),
            None,
            "a counter is missing"
        );
        assert_eq!(
            spoilt(&|trial| trial.closed.soak.units[0] = 0),
            None,
            "a counter ran backwards"
        );

        let mut cut = run.blocks[0].clone();
        cut.slots.truncate(2);
        assert_eq!(trial_cost(&cut, 1, header), None, "no idle window after it");
        let mut still = run.blocks[0].clone();
        for slot in &mut still.slots {
            if let Slot::Idle(window) = slot {
                window.closed.soak.units = window.opened.soak.units.clone();
            }
        }
        assert_eq!(trial_cost(&still, 1, header), None, "soakers made no progress");
        let mut elsewhere = run.header.clone();
        elsewhere.plan.fixed.sender_cpu = 7;
        assert_eq!(
            trial_cost(&run.blocks[0], 1, &elsewhere),
            None,
            "the sender's CPU has no soaker"
        );
    }
}
