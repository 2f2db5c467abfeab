//! The machines of a run: one, or over the link `remote` two, each with soakers, meters and a clock of its own.

use zc_run::{FixedParams, Header, Reading, Slot};

/// One of the machines, and how its readings are found.
#[derive(Debug, Clone, Copy)]
pub struct Machine<'a> {
    /// The CPUs that carry a soaker, in the order of all per-CPU vectors of its readings. Those of a far machine may be none.
    pub cpus: &'a [usize],
    /// Whether its kernel accounts interrupt time apart; null when that is not known.
    pub irq_time: Option<bool>,
    remote: bool,
}

impl<'a> Machine<'a> {
    /// The machine that sends, on which the run was started.
    pub fn local(header: &'a Header) -> Self {
        let FixedParams { soaked_cpus, .. } = &header.plan.fixed;
        Self { cpus: soaked_cpus, irq_time: header.host.irq_time_accounting, remote: false }
    }

    /// The machine at the far end, where a zc measured there and soaked a CPU.
    pub fn remote(header: &'a Header) -> Option<Self> {
        let machine = header
            .remote
            .as_ref()?
            .machine
            .as_ref()
            .filter(|machine| !machine.soaked_cpus.is_empty())?;
        Some(Self {
            cpus: &machine.soaked_cpus,
            irq_time: machine.host.irq_time_accounting,
            remote: true,
        })
    }

    /// All of them.
    pub fn all(header: &'a Header) -> impl Iterator<Item = Self> {
        std::iter::once(Self::local(header)).chain(Self::remote(header))
    }

    /// This machine's readings at the two edges of a slot.
    pub fn edges<'s>(&self, slot: &'s Slot) -> Option<(&'s Reading, &'s Reading)> {
        edges(slot, self.remote)
    }

    /// The other end's readings at the two edges of a slot.
    pub fn other_edges<'s>(&self, slot: &'s Slot) -> Option<(&'s Reading, &'s Reading)> {
        edges(slot, !self.remote)
    }
}

fn edges(slot: &Slot, is_remote: bool) -> Option<(&Reading, &Reading)> {
    let (near, remote) = match slot {
        Slot::Idle(window) => ((&window.opened, &window.closed), &window.remote),
        Slot::Trial(trial) => ((&trial.opened, &trial.closed), &trial.remote),
    };
    if is_remote {
        remote.as_ref().map(|window| (&window.opened, &window.closed))
    } else {
        Some(near)
    }
}

/// Whether both ends are on one machine although the link is `remote`: what either reads is the work of both.
pub fn same_machine(header: &Header) -> bool {
    header
        .remote
        .as_ref()
        .and_then(|remote| remote.machine.as_ref())
        .is_some_and(|machine| machine.same_machine)
}
