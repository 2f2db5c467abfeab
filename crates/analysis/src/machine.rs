//! The machines of a run: one, or two over the link `remote`, each with its own soakers, meters and
//! clock.

use zc_run::{FixedParams, Header, Reading, Slot};

/// A machine, and where its readings are in a slot.
#[derive(Debug, Clone, Copy)]
pub struct Machine<'a> {
    /// The CPUs with a soaker, in the order of all per-CPU vectors of the readings. A remote
    /// machine may have none.
    pub cpus: &'a [usize],
    /// Whether its kernel accounts interrupt time separately (CONFIG_IRQ_TIME_ACCOUNTING); `None`
    /// when that is not known.
    pub irq_time: Option<bool>,
    /// Whether its task clocks contain what the hypervisor takes (no
    /// CONFIG_PARAVIRT_TIME_ACCOUNTING).
    pub steal_in_clocks: bool,
    /// Whether its thread clocks advance by ticks.
    pub clocks_tick: bool,
    /// Whether every CPU of it has a soaker.
    pub all_soaked: bool,
    /// Whether its CPU is emulated, so that nothing there has a cost.
    pub is_emulated: bool,
    /// Whether it is the remote one.
    pub(crate) remote: bool,
}

impl<'a> Machine<'a> {
    /// The sending machine, on which the run was started.
    pub fn local(header: &'a Header) -> Self {
        let FixedParams { soaked_cpus, .. } = &header.plan.fixed;
        Self {
            cpus: soaked_cpus,
            irq_time: header.host.irq_time_accounting,
            steal_in_clocks: header.host.paravirt_time_accounting == Some(false),
            clocks_tick: header.host.thread_clocks_tick(),
            all_soaked: soaked_cpus.len() == header.host.cpu.online,
            is_emulated: header.host.is_emulated(),
            remote: false,
        }
    }

    /// The remote machine, if a zc measured there and soaked a CPU.
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
            steal_in_clocks: machine.host.paravirt_time_accounting == Some(false),
            clocks_tick: machine.host.thread_clocks_tick(),
            all_soaked: machine.soaked_cpus.len() == machine.host.cpu.online,
            is_emulated: machine.host.is_emulated(),
            remote: true,
        })
    }

    /// The local machine, then the remote one if it measured.
    pub fn all(header: &'a Header) -> impl Iterator<Item = Self> {
        std::iter::once(Self::local(header)).chain(Self::remote(header))
    }

    /// This machine's readings at both edges of a slot.
    pub fn edges<'s>(&self, slot: &'s Slot) -> Option<(&'s Reading, &'s Reading)> {
        edges(slot, self.remote)
    }

    /// The other end's readings at both edges of a slot.
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

/// Whether a machine that is measured is emulated. No time that its CPUs took, by whichever
/// account, is then a cost of anything: every estimate that comes from one is absent. Counts, bytes
/// and speeds are what they are.
pub fn is_emulated(header: &Header) -> bool {
    Machine::all(header).any(|machine| machine.is_emulated)
}

/// Whether both ends are on one machine although the link is `remote`, so that the readings of
/// either contain the work of both.
pub fn same_machine(header: &Header) -> bool {
    header
        .remote
        .as_ref()
        .and_then(|remote| remote.machine.as_ref())
        .is_some_and(|machine| machine.same_machine)
}
