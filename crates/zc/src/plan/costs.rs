//! What one soaked trial cost: the CPU time that its soakers did not get.
//!
//! A soaker's rate in the trial's window is held against the rate that this CPU had when idle *at that moment*: linear in
//! time between the idle windows before and after it, each taken at its middle. What is missing from that rate is the
//! share of the CPU that the trial took, whoever was charged for it. Rates of other blocks are never used: clocks and
//! neighbours drift.
//!
//! It lives in `plan` because both halves need it: the session to see how far it is, `estimate` for the figures.

use crate::record::{Block, FixedParams, Header, IdleWindow, Reading, Slot, TrialKind};

/// Whose cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// What the sender's CPU lost; only where the sides are told apart.
    Sender,
    /// What the receiver's CPU lost; only where the sides are told apart.
    Receiver,
    /// What the two lost together.
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
    let (mut both_ns, mut elsewhere_ns) = (0.0, None);
    for cpu in 0..fixed.soaked_cpus.len() {
        let lost = lost_ns(cpu)?;
        if cpu == sender || cpu == receiver {
            both_ns += lost;
        } else {
            *elsewhere_ns.get_or_insert(0.0) += lost;
        }
    }
    let apart = sides_apart(header);
    let side = |cpu| if apart { lost_ns(cpu) } else { None };
    Some(TrialCost {
        window_ns: window.elapsed_ns,
        bytes,
        sender_ns: side(sender),
        receiver_ns: side(receiver),
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
