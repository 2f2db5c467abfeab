//! What one soaked trial cost: the CPU time that its soakers did not get.
//!
//! A soaker's rate in the trial's window is held against the rate that this CPU had when idle *at that moment*: linear in
//! time between the idle windows before and after it, each taken at its middle. What is missing from that rate is the
//! share of the CPU that the trial took, whoever was charged for it. Rates of other blocks are never used: clocks and
//! neighbours drift.
//!
//! It lives in `plan` because both halves need it: the session to see how far it is, `estimate` for the figures.

use crate::record::{Block, FixedParams, Header, IdleWindow, LinkKind, Reading, Slot, TrialKind};

/// Whose cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// What the sender's CPU lost; only where the sides are told apart.
    Sender,
    /// What the receiver's CPU lost; only where the sides are told apart.
    Receiver,
    /// What the two lost together; on a link without a receiver what the sender's lost.
    Both,
    /// What all other soaked CPUs lost together; only where there are any.
    Elsewhere,
}

/// The soaked CPU time of one trial's window. May be negative: it is a difference, and has noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialCost {
    /// Length of the window.
    pub window_ns: f64,
    /// Payload bytes that the receiver took out of its socket in the window; above 0.
    pub bytes: u64,
    /// See [`Side::Sender`].
    pub sender_ns: Option<f64>,
    /// See [`Side::Receiver`].
    pub receiver_ns: Option<f64>,
    /// See [`Side::Both`].
    pub both_ns: f64,
    /// See [`Side::Elsewhere`].
    pub elsewhere_ns: Option<f64>,
}

impl TrialCost {
    /// Soaked CPU time per KiB of payload.
    pub fn ns_per_kib(&self, side: Side) -> Option<f64> {
        let ns = match side {
            Side::Sender => self.sender_ns,
            Side::Receiver => self.receiver_ns,
            Side::Both => Some(self.both_ns),
            Side::Elsewhere => self.elsewhere_ns,
        };
        ns.map(|ns| ns * 1024.0 / self.bytes as f64)
    }
}

/// Whether sender and receiver have a cost of their own: the link keeps their softirqs apart, and they do not share
/// a CPU.
pub fn sides_apart(header: &Header) -> bool {
    header.link.sides_apart && header.plan.fixed.sender_cpu != header.plan.fixed.receiver_cpu
}

/// Whether there is no receiver: the link itself took the bytes, and the CPU on which it did so is nobody's cost.
pub fn sender_alone(header: &Header) -> bool {
    header.plan.fixed.link == LinkKind::Null
}

/// The cost of the soaked trial in slot number `slot`. `None` when there is no such trial, when it moved nothing, when
/// it does not stand between two idle windows, or when a soaker's counter is missing.
pub fn trial_cost(block: &Block, slot: usize, header: &Header) -> Option<TrialCost> {
    let Slot::Trial(trial) = block.slots.get(slot)? else { return None };
    if trial.kind != TrialKind::Soaked {
        return None;
    }
    let fixed = &header.plan.fixed;
    let bytes = trial.closed.received.bytes.checked_sub(trial.opened.received.bytes).filter(|bytes| *bytes > 0)?;
    let window = Rates::between(&trial.opened, &trial.closed, fixed)?;
    let before = block.slots[..slot].iter().rev().find_map(|slot| idle_rates(slot, fixed))?;
    let after = block.slots[slot + 1..].iter().find_map(|slot| idle_rates(slot, fixed))?;
    let span = after.middle_ns - before.middle_ns;
    if span <= 0.0 {
        return None;
    }
    let towards_after = (window.middle_ns - before.middle_ns) / span;
    let lost_ns = |cpu: usize| {
        let idle = before.units_per_ns[cpu] + towards_after * (after.units_per_ns[cpu] - before.units_per_ns[cpu]);
        (idle > 0.0).then(|| (1.0 - window.units_per_ns[cpu] / idle) * window.elapsed_ns)
    };

    let place = |cpu: usize| fixed.soaked_cpus.iter().position(|each| *each == cpu);
    let (sender, receiver) = (place(fixed.sender_cpu)?, place(fixed.receiver_cpu)?);
    let alone = sender_alone(header);
    let (mut both_ns, mut elsewhere_ns) = (0.0, None);
    for cpu in 0..fixed.soaked_cpus.len() {
        let lost = lost_ns(cpu)?;
        if cpu == sender || (cpu == receiver && !alone) {
            both_ns += lost;
        } else if cpu != receiver {
            *elsewhere_ns.get_or_insert(0.0) += lost;
        }
    }
    let apart = sides_apart(header);
    let side = |cpu, there| if apart && there { lost_ns(cpu) } else { None };
    Some(TrialCost {
        window_ns: window.elapsed_ns,
        bytes,
        sender_ns: side(sender, true),
        receiver_ns: side(receiver, !alone),
        both_ns,
        elsewhere_ns,
    })
}

/// The costs of a block's soaked trials, in the order of the plan's cells; `None` for a cell without one.
pub fn block_costs(block: &Block, header: &Header) -> Vec<Option<TrialCost>> {
    let mut costs = vec![None; header.plan.cells.len()];
    for (slot, what) in block.slots.iter().enumerate() {
        let Slot::Trial(trial) = what else { continue };
        let Some(cell) = header.plan.cells.iter().position(|cell| cell.label == trial.cell) else { continue };
        if costs[cell].is_none() {
            costs[cell] = trial_cost(block, slot, header);
        }
    }
    costs
}

/// How fast every soaker worked in a window.
pub(super) struct Rates {
    /// The middle of the window: CLOCK_MONOTONIC.
    pub(super) middle_ns: f64,
    pub(super) elapsed_ns: f64,
    /// In the order of `FixedParams::soaked_cpus`.
    pub(super) units_per_ns: Vec<f64>,
}

impl Rates {
    /// `None` when the window has no length or a counter is missing or ran backwards.
    pub(super) fn between(opened: &Reading, closed: &Reading, fixed: &FixedParams) -> Option<Self> {
        let (from, to) = (&opened.soak, &closed.soak);
        let elapsed_ns = to.at_ns.checked_sub(from.at_ns).filter(|ns| *ns > 0)? as f64;
        let cpus = fixed.soaked_cpus.len();
        if cpus == 0 || from.units.len() != cpus || to.units.len() != cpus {
            return None;
        }
        let units_per_ns = from
            .units
            .iter()
            .zip(&to.units)
            .map(|(from, to)| to.checked_sub(*from).map(|units| units as f64 / elapsed_ns))
            .collect::<Option<_>>()?;
        Some(Self { middle_ns: from.at_ns as f64 + elapsed_ns / 2.0, elapsed_ns, units_per_ns })
    }

    /// The rates of all CPUs added up.
    pub(super) fn total(&self) -> f64 {
        self.units_per_ns.iter().sum()
    }
}

/// The rates of an idle window; `None` for anything else, and for one in which a soaker stood still.
pub(super) fn idle_rates(slot: &Slot, fixed: &FixedParams) -> Option<Rates> {
    let Slot::Idle(IdleWindow { opened, closed }) = slot else { return None };
    Rates::between(opened, closed, fixed).filter(|rates| rates.units_per_ns.iter().all(|rate| *rate > 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::synthetic::Synthetic;

    fn quiet() -> Synthetic {
        Synthetic { blocks: 4, noise: 0.0, block_drift: 0.0, idle_noise: 0.0, ..Synthetic::default() }
    }

    #[test]
    fn the_true_cost_comes_back_although_the_idle_rates_drift() {
        let world = Synthetic { idle_drift_per_s: 0.05, ..quiet() };
        let run = world.run();
        for block in &run.blocks {
            let costs = block_costs(block, &run.header);
            for (cell, cost) in world.cells.iter().zip(costs) {
                let cost = cost.unwrap();
                assert!((cost.ns_per_kib(Side::Sender).unwrap() - cell.sender_ns_per_kib).abs() < 1.0);
                assert!((cost.ns_per_kib(Side::Receiver).unwrap() - cell.receiver_ns_per_kib).abs() < 1.0);
                let both = cell.sender_ns_per_kib + cell.receiver_ns_per_kib;
                assert!((cost.ns_per_kib(Side::Both).unwrap() - both).abs() < 2.0);
                assert_eq!(cost.ns_per_kib(Side::Elsewhere), None);
            }
        }
    }

    #[test]
    fn sides_are_told_apart_only_where_link_and_cpus_allow_it() {
        for world in
            [Synthetic { sides_apart: false, ..quiet() }, Synthetic { cpus: 1, rate_bytes_per_s: 4e8, ..quiet() }]
        {
            let run = world.run();
            let cost = block_costs(&run.blocks[0], &run.header)[0].unwrap();
            assert_eq!((cost.sender_ns, cost.receiver_ns), (None, None));
            assert!((cost.ns_per_kib(Side::Both).unwrap() - 900.0).abs() < 2.0);
        }
    }

    #[test]
    fn what_other_cpus_lose_is_kept_apart() {
        let run = Synthetic { cpus: 4, elsewhere_ns_per_kib: 77.0, ..quiet() }.run();
        let cost = block_costs(&run.blocks[0], &run.header)[0].unwrap();
        assert!((cost.ns_per_kib(Side::Elsewhere).unwrap() - 77.0).abs() < 1.0);
        assert!((cost.ns_per_kib(Side::Both).unwrap() - 900.0).abs() < 2.0);
    }

    #[test]
    fn a_trial_that_cannot_be_priced_has_no_cost() {
        let run = quiet().run();
        let header = &run.header;
        assert!(trial_cost(&run.blocks[0], 1, header).is_some());
        assert_eq!(trial_cost(&run.blocks[0], 0, header), None, "an idle window");
        assert_eq!(trial_cost(&run.blocks[0], 10_000, header), None, "no such slot");

        let spoilt = |spoil: &dyn Fn(&mut crate::record::Trial)| {
            let mut block = run.blocks[0].clone();
            let Slot::Trial(trial) = &mut block.slots[1] else { panic!("slot 1 is a trial") };
            spoil(trial);
            trial_cost(&block, 1, header)
        };
        assert_eq!(spoilt(&|trial| trial.kind = TrialKind::Twin), None);
        assert_eq!(spoilt(&|trial| trial.closed.received = trial.opened.received), None, "no bytes");
        assert_eq!(spoilt(&|trial| trial.closed.soak.at_ns = trial.opened.soak.at_ns), None, "no length");
        assert_eq!(spoilt(&|trial| trial.closed.soak.at_ns = 0), None, "backwards");
        assert_eq!(spoilt(&|trial| trial.closed.soak.units.truncate(1)), None, "a counter is missing");
        assert_eq!(spoilt(&|trial| trial.closed.soak.units[0] = 0), None, "a counter ran backwards");

        let mut cut = run.blocks[0].clone();
        cut.slots.truncate(2);
        assert_eq!(trial_cost(&cut, 1, header), None, "no idle window after it");
        let mut still = run.blocks[0].clone();
        for slot in &mut still.slots {
            if let Slot::Idle(window) = slot {
                window.closed.soak.units = window.opened.soak.units.clone();
            }
        }
        assert_eq!(trial_cost(&still, 1, header), None, "soakers stood still");
        let mut elsewhere = run.header.clone();
        elsewhere.plan.fixed.sender_cpu = 7;
        assert_eq!(trial_cost(&run.blocks[0], 1, &elsewhere), None, "the sender's CPU has no soaker");
    }
}
