//! The cost of one soaked trial: the CPU time that its soakers did not get.
//!
//! A soaker's rate in the trial's window is compared with the idle rate of the same CPU *at that
//! moment*. The idle rate is interpolated linearly in time between the idle windows before and
//! after, each taken at its middle. The missing part of that rate is the share of the CPU that the
//! trial took, whichever task was charged for it. Rates of other blocks are never used, because
//! clock frequencies and the load of neighbours drift.
//!
//! Over the link `remote`, the cost on each machine comes from its own soakers and its own clock.
//! All that a machine lost is the cost of its end, on whichever CPU its network card interrupted.
//!
//! **Net of the harness.** zc wakes its sender for each burst and reads its meters; a sender that
//! never sleeps would not. So every block has a paced trial, which does all of that and sends
//! nothing, and what it cost is taken off the costs of the block's other trials. Runs from
//! before format 3.1 have no such trials: their costs are gross.
//!
//! **Net of the load.** A server that zc did not start may run on any CPU, beside the thread that asks
//! it. The loss of all CPUs is then that of both, and the CPU time of that thread by its clock, in the
//! same window, is taken off. Interrupts and softirqs on soakers' time stay in, whichever of the two
//! they were for.
//!
//! Both the session, which checks its progress, and the estimates use these costs.

use std::collections::HashMap;

use super::machine::{Machine, is_emulated, same_machine};
use super::own_clock::{self, Taken};
use super::plan_index::PlanIndex;
use zc_run::{
    Block, Cell, FixedParams, Header, Levels, LinkKind, NfsPlan, Placement, Reading, Slot, Trial,
    TrialKind,
};

/// The side that a cost belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Loss of the sender's CPU; over `remote`, of the sender's machine. Only where the sides have
    /// separate costs.
    Sender,
    /// Loss of the receiver's CPU; over `remote`, of the receiver's machine. Only where the sides
    /// have separate costs.
    Receiver,
    /// Loss of sender and receiver together. Where there is no receiver, or its end does not
    /// measure, the sender's loss alone. Where the threads are not pinned, the loss of all soaked
    /// CPUs.
    Both,
    /// Loss of all other soaked CPUs together. Only where there are any; never over `remote`, nor
    /// where the threads are not pinned.
    OtherCpus,
}

/// CPU time that was lost in one window, by side. It is a difference with noise and may be
/// negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Losses {
    /// Length of the window, above 0.
    pub window_ns: f64,
    /// See [`Side::Sender`].
    pub sender_ns: Option<f64>,
    /// See [`Side::Receiver`]. Over `remote`, the loss in the remote machine's own window, scaled
    /// from the bytes that arrived in that window to those of the local one.
    pub receiver_ns: Option<f64>,
    /// See [`Side::Both`].
    pub both_ns: f64,
    /// See [`Side::OtherCpus`].
    pub other_cpus_ns: Option<f64>,
}

impl Losses {
    /// The loss of a side; `None` where the side has no cost of its own.
    pub fn of(&self, side: Side) -> Option<f64> {
        match side {
            Side::Sender => self.sender_ns,
            Side::Receiver => self.receiver_ns,
            Side::Both => Some(self.both_ns),
            Side::OtherCpus => self.other_cpus_ns,
        }
    }

    /// By how much these are more than `others`, of the same window.
    fn beyond(self, others: &Self) -> Self {
        let less = |a: Option<f64>, b: Option<f64>| Some(a? - b?);
        Self {
            window_ns: self.window_ns,
            sender_ns: less(self.sender_ns, others.sender_ns),
            receiver_ns: less(self.receiver_ns, others.receiver_ns),
            both_ns: self.both_ns - others.both_ns,
            other_cpus_ns: less(self.other_cpus_ns, others.other_cpus_ns),
        }
    }

    /// The same in a window of another length, if losses are the same in any time.
    pub(crate) fn scaled_to(self, window_ns: f64) -> Self {
        let by = window_ns / self.window_ns;
        let times = |ns: Option<f64>| ns.map(|ns| ns * by);
        Self {
            window_ns,
            sender_ns: times(self.sender_ns),
            receiver_ns: times(self.receiver_ns),
            both_ns: self.both_ns * by,
            other_cpus_ns: times(self.other_cpus_ns),
        }
    }
}

/// The soaked CPU time of one trial's window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialCost {
    /// Payload bytes that arrived in the window; above 0.
    pub bytes: u64,
    /// Everything that was taken in the window, the harness included.
    pub gross: Losses,
    /// What other tasks used in the window beyond what they used in the idle windows beside it, by
    /// the side's CPUs, where `gross` is by own clocks: what the soakers lost by wall time, less
    /// `gross`. `None` where `gross` is what they lost by wall time.
    pub unattributed: Option<Losses>,
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
    /// By the sender: its units of work at the idle rate of its CPU.
    pub task_ns: f64,
    /// In softirq context; 0 where that is not possible.
    pub softirq_ns: f64,
}

impl TrialCost {
    /// Soaked CPU time, net of the load and, where that was measured, of the harness; `None` where
    /// the side has no cost of its own.
    pub fn ns(&self, side: Side) -> Option<f64> {
        let harness_ns = self.harness.and_then(|harness| harness.of(side)).unwrap_or(0.0);
        Some(self.gross_ns(side)? - harness_ns)
    }

    /// As [`ns`](Self::ns), with the harness in it.
    fn gross_ns(&self, side: Side) -> Option<f64> {
        let load_ns = if side == Side::Both { self.load_ns } else { 0.0 };
        Some(self.gross.of(side)? - load_ns)
    }

    /// Soaked CPU time per KiB of payload, as [`ns`](Self::ns).
    pub fn ns_per_kib(&self, side: Side) -> Option<f64> {
        self.ns(side).map(|ns| self.per_kib(ns))
    }

    /// Soaked CPU time per KiB of payload, with the harness in it.
    pub fn gross_ns_per_kib(&self, side: Side) -> Option<f64> {
        self.gross_ns(side).map(|ns| self.per_kib(ns))
    }

    /// Soaked CPU time per KiB of payload that is the harness; `None` where it was not measured.
    pub fn harness_ns_per_kib(&self, side: Side) -> Option<f64> {
        self.harness?.of(side).map(|ns| self.per_kib(ns))
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

/// Whether sender and receiver have separate costs, in cells without a placement or link of their
/// own. They do on two machines, and on one where the link separates their softirqs and each is
/// pinned to a CPU of its own.
pub fn sides_apart(header: &Header) -> bool {
    apart_at(header, &Levels::default())
}

/// Whether sender and receiver of a cell with these levels have separate costs.
pub fn sides_of_cell_apart(header: &Header, levels: &Levels) -> bool {
    apart_at(header, levels)
}

fn apart_at(header: &Header, levels: &Levels) -> bool {
    let fixed = header.plan.fixed.at(levels);
    if fixed.link == LinkKind::Remote {
        // Of NFS towards another machine one end has all of the cost, or both have it together.
        let nfs = header.plan.nfs.as_ref();
        return !same_machine(header) && nfs.is_none_or(NfsPlan::is_of_the_server);
    }
    fixed.placement == Placement::Separate
        && fixed.sender_cpu != fixed.receiver_cpu
        && header.link_of(levels).is_some_and(|link| link.sides_apart)
}

/// Whether only the sender's cost is known: the link itself consumes the bytes, on a CPU that is
/// not counted, or the remote end does not measure.
pub fn sender_alone(header: &Header) -> bool {
    if header.plan.is_of_a_server() {
        return true; // the other side is the load
    }
    match header.plan.fixed.link {
        LinkKind::Null => true,
        LinkKind::Remote if header.plan.nfs.is_some() => false,
        LinkKind::Remote => Machine::remote(header).is_none() && !same_machine(header),
        LinkKind::Loopback | LinkKind::Veth => false,
    }
}

/// The cost of the soaked trial in slot number `slot`. `None` when there is no such trial, when no
/// bytes arrived, when an idle window is missing before or after it, when a soaker's counter is
/// missing, or when the block lacks the paced trial of its harness. `harness` has what was lost in
/// the paced trial of a cell.
fn net_cost<'h>(
    block: &Block,
    slot: usize,
    header: &'h Header,
    index: &PlanIndex<'h>,
    harness: impl FnOnce(&'h str) -> Option<Losses>,
) -> Option<TrialCost> {
    let Slot::Trial(trial) = block.slots.get(slot)? else { return None };
    if trial.kind != TrialKind::Soaked {
        return None;
    }
    let bytes = arrived(&trial.opened, &trial.closed)?;
    let cell = index.cell(&trial.cell);
    let (gross, unattributed) = taken(block, slot, header, cell)?;
    let harness = match cell.and_then(|cell| cell.harness.as_deref()) {
        None => None,
        Some(label) => Some(harness(label)?.scaled_to(gross.window_ns)),
    };
    let burned = match cell.and_then(|cell| Some((cell, cell.burn_units_per_mb?))) {
        None => None,
        Some((cell, units_per_mb)) => Some(Burned {
            task_ns: burned_ns(block, slot, header, cell, units_per_mb)?,
            softirq_ns: softirq_burned_ns(trial),
        }),
    };
    Some(TrialCost {
        bytes,
        gross,
        unattributed,
        load_ns: load_ns(trial, header),
        harness,
        burned,
    })
}

/// CPU time of the thread that asked a server, where the loss of its CPU is in the cost.
fn load_ns(trial: &Trial, header: &Header) -> f64 {
    if !header.plan.server_ran_already() {
        return 0.0;
    }
    trial.closed.receiver.cpu_ns.saturating_sub(trial.opened.receiver.cpu_ns) as f64
}

/// What the units that the sender burned in a window took from the soaker of its CPU: the soaker
/// would have done them at its idle rate. Threads that are not pinned may run on any soaked CPU.
fn burned_ns(
    block: &Block,
    slot: usize,
    header: &Header,
    cell: &Cell,
    units_per_mb: f64,
) -> Option<f64> {
    let Slot::Trial(trial) = block.slots.get(slot)? else { return None };
    let sent = trial.closed.sent.bytes.checked_sub(trial.opened.sent.bytes)?;
    let machine = Machine::local(header);
    let idle_units_per_ns = match own_clock::speeds(block, slot, &machine) {
        Some(speeds) if own_clock::tells_costs(header) => speeds,
        _ => rates(block, slot, &machine)?.1,
    };
    let fixed = header.plan.fixed.at(&cell.levels);
    // Beside a server it burns on one CPU, wherever the server is.
    let beside_server = header.plan.server.is_some() || header.plan.nfs.is_some();
    let free = fixed.placement == Placement::Free && !beside_server;
    let rates: Vec<f64> = std::iter::zip(machine.cpus, &idle_units_per_ns)
        .filter(|(cpu, _)| free || **cpu == fixed.sender_cpu)
        .map(|(_, rate)| *rate)
        .collect();
    let units = sent as f64 / 1e6 * units_per_mb;
    (!rates.is_empty()).then(|| units * rates.len() as f64 / rates.iter().sum::<f64>())
}

/// What was burned in softirq context in a trial's window.
fn softirq_burned_ns(trial: &Trial) -> f64 {
    match (trial.opened.burned_ns, trial.closed.burned_ns) {
        (Some(from_ns), Some(to_ns)) => to_ns.saturating_sub(from_ns) as f64,
        _ => 0.0,
    }
}

/// What was lost in the block's paced trial of the cell `label`.
fn harness(block: &Block, header: &Header, index: &PlanIndex<'_>, label: &str) -> Option<Losses> {
    let is_it = |slot: &Slot| match slot {
        Slot::Trial(trial) => trial.kind == TrialKind::Paced && trial.cell == label,
        Slot::Idle(_) => false,
    };
    taken(block, block.slots.iter().position(is_it)?, header, index.cell(label))
        .map(|(gross, _)| gross)
}

/// What was taken in the trial in slot number `slot`, which is of `cell`; where that is by own clocks,
/// also by how much more the soakers lost by wall time.
fn taken(
    block: &Block,
    slot: usize,
    header: &Header,
    cell: Option<&Cell>,
) -> Option<(Losses, Option<Losses>)> {
    let own_clocks = own_clock::tells_costs(header)
        && machine_has_own_clocks(block, slot, header);
    if !own_clocks {
        return Some((losses(block, slot, header, cell, wall)?, None));
    }
    let own = losses(block, slot, header, cell, |block, slot, machine| {
        Taken::of(block, slot, machine).map(Lost::OwnClock)
    })?;
    let wall = losses(block, slot, header, cell, wall);
    Some((own, wall.map(|wall| wall.beyond(&own))))
}

/// Whether the soakers' own clocks are in the readings of a slot.
fn machine_has_own_clocks(block: &Block, slot: usize, header: &Header) -> bool {
    Machine::all(header).all(|machine| {
        machine.edges(&block.slots[slot]).is_some_and(|(opened, _)| !opened.soak.cpu_ns.is_empty())
    })
}

/// What was lost in the trial in slot number `slot`, which is of `cell`, by what `account` says of
/// each machine.
fn losses(
    block: &Block,
    slot: usize,
    header: &Header,
    cell: Option<&Cell>,
    account: fn(&Block, usize, &Machine<'_>) -> Option<Lost>,
) -> Option<Losses> {
    let machine = Machine::local(header);
    let lost = account(block, slot, &machine)?;
    if header.plan.fixed.link == LinkKind::Remote {
        between_machines(&lost, block, slot, header, account)
    } else {
        let none = Levels::default();
        let threads = Threads::of(&block.slots[slot], &machine)?;
        within_machine(&lost, threads, header, cell.map_or(&none, |cell| &cell.levels))
    }
}

/// CPU time of the traffic's threads on one machine, by their clocks.
#[derive(Clone, Copy)]
struct Threads {
    sender_ns: f64,
    receiver_ns: f64,
}

impl Threads {
    /// In a window; `None` where a clock ran backwards.
    fn of(slot: &Slot, machine: &Machine<'_>) -> Option<Self> {
        let (opened, closed) = machine.edges(slot)?;
        let since = |from: u64, to: u64| to.checked_sub(from).map(|ns| ns as f64);
        Some(Self {
            sender_ns: since(opened.sender.cpu_ns, closed.sender.cpu_ns)?,
            receiver_ns: since(opened.receiver.cpu_ns, closed.receiver.cpu_ns)?,
        })
    }

    fn both_ns(self) -> f64 {
        self.sender_ns + self.receiver_ns
    }
}

/// Payload bytes that arrived between two readings; `None` if there were none.
fn arrived(opened: &Reading, closed: &Reading) -> Option<u64> {
    closed.received.bytes.checked_sub(opened.received.bytes).filter(|bytes| *bytes > 0)
}

/// The CPUs of this machine whose losses make up a cell's [`Side::Both`].
pub fn cpus_of_both(header: &Header, levels: &Levels) -> Vec<usize> {
    let fixed = header.plan.fixed.at(levels);
    let any = fixed.link == LinkKind::Remote || fixed.placement == Placement::Free;
    fixed
        .soaked_cpus
        .iter()
        .copied()
        .filter(|cpu| any || is_of_both(header, &fixed, *cpu))
        .collect()
}

fn is_of_both(header: &Header, fixed: &FixedParams, cpu: usize) -> bool {
    cpu == fixed.sender_cpu || (receives(header, fixed, cpu) && !sender_alone(header))
}

fn receives(header: &Header, fixed: &FixedParams, cpu: usize) -> bool {
    cpu == fixed.receiver_cpu || cpu == steered_cpu(header, fixed)
}

/// A link with packet steering steers to the plan's receiver CPU, wherever the receiver's thread
/// runs.
fn steered_cpu(header: &Header, fixed: &FixedParams) -> usize {
    if header.link.rps.is_some() { header.plan.fixed.receiver_cpu } else { fixed.receiver_cpu }
}

/// The cost where both ends run on one machine, each on its CPU or where the cell places them.
fn within_machine(
    lost: &Lost,
    threads: Threads,
    header: &Header,
    levels: &Levels,
) -> Option<Losses> {
    let fixed = header.plan.fixed.at(levels);
    let alone = sender_alone(header);
    if fixed.placement == Placement::Free {
        // Either end may have run on any soaked CPU.
        let threads_ns = if alone { threads.sender_ns } else { threads.both_ns() };
        return Some(Losses {
            window_ns: lost.window_ns(),
            sender_ns: None,
            receiver_ns: None,
            both_ns: lost.on(&(0..fixed.soaked_cpus.len()).collect::<Vec<_>>(), threads_ns)?,
            other_cpus_ns: None,
        });
    }
    let place = |cpu: usize| fixed.soaked_cpus.iter().position(|each| *each == cpu);
    let (sender, receiver) = (place(fixed.sender_cpu)?, place(fixed.receiver_cpu)?);
    place(steered_cpu(header, &fixed))?;
    let (mut of_both, mut others) = (Vec::new(), Vec::new());
    for (place, cpu) in fixed.soaked_cpus.iter().enumerate() {
        if is_of_both(header, &fixed, *cpu) {
            of_both.push(place);
        } else if !receives(header, &fixed, *cpu) {
            others.push(place);
        }
    }
    // Each by itself, as other programs may have been on any of them.
    let on = |place: usize| {
        let of_sender_ns = if place == sender { threads.sender_ns } else { 0.0 };
        let receives = place == receiver && !alone;
        let of_receiver_ns = if receives { threads.receiver_ns } else { 0.0 };
        lost.on(&[place], of_sender_ns + of_receiver_ns)
    };
    let both_ns = of_both.into_iter().map(on).sum::<Option<f64>>()?;
    let apart = apart_at(header, levels);
    Some(Losses {
        window_ns: lost.window_ns(),
        sender_ns: if apart { on(sender) } else { None },
        receiver_ns: if apart && !alone { on(receiver) } else { None },
        both_ns,
        other_cpus_ns: if others.is_empty() { None } else { lost.on(&others, 0.0) },
    })
}

/// The cost where each end has a machine of its own and all losses of that machine are its cost.
/// Two ends in different namespaces of one machine share its losses.
fn between_machines(
    local: &Lost,
    block: &Block,
    slot: usize,
    header: &Header,
    account: fn(&Block, usize, &Machine<'_>) -> Option<Lost>,
) -> Option<Losses> {
    let on_all = |lost: &Lost, machine: &Machine<'_>| {
        let threads = Threads::of(&block.slots[slot], machine)?;
        lost.on(&(0..machine.cpus.len()).collect::<Vec<_>>(), threads.both_ns())
    };
    let local_ns = on_all(local, &Machine::local(header))?;
    let remote_ns = match Machine::remote(header) {
        None => None,
        Some(far) => {
            let far_lost = account(block, slot, &far)?;
            let lost_ns = on_all(&far_lost, &far)?;
            let times = as_many_bytes(&block.slots[slot], &far, local, &far_lost)?;
            Some(lost_ns * times)
        }
    };
    let apart = sides_apart(header);
    Some(Losses {
        window_ns: local.window_ns(),
        sender_ns: apart.then_some(local_ns),
        receiver_ns: remote_ns.filter(|_| apart),
        both_ns: local_ns + remote_ns.unwrap_or(0.0),
        other_cpus_ns: None,
    })
}

/// By how much the local window of a trial is longer than the remote one: by bytes, and by time
/// where nothing was sent.
fn as_many_bytes(slot: &Slot, far: &Machine<'_>, local: &Lost, remote: &Lost) -> Option<f64> {
    let Slot::Trial(trial) = slot else { return None };
    let (opened, closed) = far.edges(slot)?;
    if trial.kind == TrialKind::Paced {
        return Some(local.window_ns() / remote.window_ns());
    }
    Some(arrived(&trial.opened, &trial.closed)? as f64 / arrived(opened, closed)? as f64)
}

/// What was taken from the CPUs of a machine in a window.
enum Lost {
    /// CPU time that the soakers did not get, by wall time.
    Wall {
        window_ns: f64,
        /// In the order of the machine's CPUs.
        by_cpu_ns: Vec<f64>,
    },
    /// By the soakers' own clocks.
    OwnClock(Taken),
}

impl Lost {
    fn window_ns(&self) -> f64 {
        match self {
            Self::Wall { window_ns, .. } => *window_ns,
            Self::OwnClock(taken) => taken.window_ns(),
        }
    }

    /// What traffic took on the CPUs at these places, where its threads used `threads_ns`.
    fn on(&self, places: &[usize], threads_ns: f64) -> Option<f64> {
        match self {
            Self::Wall { by_cpu_ns, .. } => Some(places.iter().map(|place| by_cpu_ns[*place]).sum()),
            Self::OwnClock(taken) => taken.from(places.iter().copied(), threads_ns),
        }
    }
}

fn wall(block: &Block, slot: usize, machine: &Machine<'_>) -> Option<Lost> {
    let (window, idle_units_per_ns) = rates(block, slot, machine)?;
    let by_cpu_ns = std::iter::zip(&window.units_per_ns, idle_units_per_ns)
        .map(|(units_per_ns, idle)| {
            (idle > 0.0).then(|| (1.0 - units_per_ns / idle) * window.elapsed_ns)
        })
        .collect::<Option<_>>()?;
    Some(Lost::Wall { window_ns: window.elapsed_ns, by_cpu_ns })
}

/// The rates of a machine's soakers in a trial's window, and their idle rates at that moment: in a
/// straight line between the idle windows before and after it.
fn rates(block: &Block, slot: usize, machine: &Machine<'_>) -> Option<(Rates, Vec<f64>)> {
    let (opened, closed) = machine.edges(&block.slots[slot])?;
    let window = Rates::between(opened, closed, machine)?;
    let before = block.slots[..slot].iter().rev().find_map(|slot| idle_rates(slot, machine))?;
    let after = block.slots[slot + 1..].iter().find_map(|slot| idle_rates(slot, machine))?;
    let span = after.middle_ns - before.middle_ns;
    if span <= 0.0 {
        return None;
    }
    let towards_after = (window.middle_ns - before.middle_ns) / span;
    let idle = std::iter::zip(&before.units_per_ns, &after.units_per_ns)
        .map(|(before, after)| before + towards_after * (after - before))
        .collect();
    Some((window, idle))
}

/// The costs of a block's soaked trials, in the order of the plan's cells; `None` for a cell
/// without one, and for all of them on an emulated machine. `index` is that of the plan.
pub fn block_costs(
    block: &Block,
    header: &Header,
    index: &PlanIndex<'_>,
) -> Vec<Option<TrialCost>> {
    let mut costs = vec![None; header.plan.cells.len()];
    if is_emulated(header) {
        return costs;
    }
    // Most cells share one harness.
    let mut harnesses: HashMap<&str, Option<Losses>> = HashMap::new();
    for (slot, what) in block.slots.iter().enumerate() {
        let Slot::Trial(trial) = what else { continue };
        let Some(cell) = index.place(&trial.cell) else { continue };
        if costs[cell].is_none() {
            costs[cell] = net_cost(block, slot, header, index, |label| {
                *harnesses.entry(label).or_insert_with(|| harness(block, header, index, label))
            });
        }
    }
    costs
}

/// The rate of every soaker in a window.
pub(super) struct Rates {
    /// The middle of the window by CLOCK_MONOTONIC.
    pub(super) middle_ns: f64,
    pub(super) elapsed_ns: f64,
    /// In the order of the machine's CPUs.
    pub(super) units_per_ns: Vec<f64>,
}

impl Rates {
    /// `None` when the window has no length or a counter is missing or ran backwards.
    pub(super) fn between(
        opened: &Reading,
        closed: &Reading,
        machine: &Machine<'_>,
    ) -> Option<Self> {
        let (from, to) = (&opened.soak, &closed.soak);
        let elapsed_ns = to.at_ns.checked_sub(from.at_ns).filter(|ns| *ns > 0)? as f64;
        let cpus = machine.cpus.len();
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

    pub(super) fn total(&self) -> f64 {
        self.units_per_ns.iter().sum()
    }
}

/// The rates of an idle window; `None` for any other slot, and when a soaker made no progress.
pub(super) fn idle_rates(slot: &Slot, machine: &Machine<'_>) -> Option<Rates> {
    let Slot::Idle(_) = slot else { return None };
    let (opened, closed) = machine.edges(slot)?;
    Rates::between(opened, closed, machine)
        .filter(|rates| rates.units_per_ns.iter().all(|rate| *rate > 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::Run;
    use zc_testkit::synthetic::{Synthetic, two_machines};

    fn costs_of(run: &Run, block: &Block) -> Vec<Option<TrialCost>> {
        block_costs(block, &run.header, &PlanIndex::of(&run.header.plan))
    }

    fn trial_cost(block: &Block, slot: usize, header: &Header) -> Option<TrialCost> {
        let index = PlanIndex::of(&header.plan);
        net_cost(block, slot, header, &index, |label| harness(block, header, &index, label))
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
            for (closed, opened) in closed.soak.units.iter_mut().zip(&opened.soak.units) {
                *closed += *closed - opened;
            }
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
        let world = Synthetic { cpus: 3, other_cpus_ns_per_kib: 77.0, ..quiet() };
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
        run.header.plan.server = Some(zc_testkit::server::ran_already());
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
        // Of a server that zc started, the load has a CPU that is in no cost.
        let mut ours = run.clone();
        ours.header.plan.server.as_mut().unwrap().serve = Some("nginx".to_owned());
        ours.header.plan.fixed.placement = Placement::Separate;
        let cost = costs_of(&ours, &ours.blocks[0])[0].unwrap();
        assert_eq!(cost.load_ns, 0.0);
        let sender = cost.ns_per_kib(Side::Both).unwrap();
        assert!((sender - world.cells[0].sender_ns_per_kib).abs() < 1.0, "{sender}");
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
    fn the_placement_of_a_cell_decides_whether_its_sides_have_separate_costs() {
        let header = quiet().header();
        let at = |placement| Levels { placement: Some(placement), ..Levels::default() };
        assert!(sides_apart(&header) && sides_of_cell_apart(&header, &Levels::default()));
        assert!(!sides_of_cell_apart(&header, &at(Placement::Same)));
        assert!(!sides_of_cell_apart(&header, &at(Placement::Free)));
        let mut header = header;
        header.plan.fixed.placement = Placement::Free;
        assert!(!sides_apart(&header) && sides_of_cell_apart(&header, &at(Placement::Separate)));
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
        let run = quiet().run();
        let header = &run.header;
        assert!(trial_cost(&run.blocks[0], 1, header).is_some());
        assert_eq!(trial_cost(&run.blocks[0], 0, header), None, "an idle window");
        assert_eq!(trial_cost(&run.blocks[0], 10_000, header), None, "no such slot");

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
