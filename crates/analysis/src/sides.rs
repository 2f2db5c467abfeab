//! CPUs and machine of each side's cost: where each end runs, and what the ends share.

use crate::division::per;
use crate::machine::{Machine, same_machine};
use crate::taken::{For, Taken, TakenFrom};
use zc_run::{
    Block, FixedParams, Header, Levels, LinkKind, NfsPlan, Placement, Reading, Slot, TrialKind,
};

/// Whether sender and receiver have separate costs, in cells without a placement or link of their
/// own. They do on two machines, and on one where the link separates their softirqs and each is
/// pinned to a CPU of its own.
pub fn sides_apart(header: &Header) -> bool {
    are_separate(header, &Levels::default())
}

/// Whether sender and receiver of a cell with these levels have separate costs.
pub fn cell_has_separate_costs(header: &Header, levels: &Levels) -> bool {
    are_separate(header, levels)
}

fn are_separate(header: &Header, levels: &Levels) -> bool {
    let fixed = header.plan.fixed.at(levels);
    if fixed.link == LinkKind::Remote {
        // For NFS to another machine, one end has all of the cost, or both have it together.
        let nfs = header.plan.traffic.nfs();
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
        LinkKind::Remote if header.plan.traffic.nfs().is_some() => false,
        LinkKind::Remote => Machine::remote(header).is_none() && !same_machine(header),
        LinkKind::Loopback | LinkKind::Veth => false,
    }
}

/// The CPUs of this machine whose losses make up a cell's [`Side::Both`](crate::costs::Side::Both).
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

/// An account of one machine in one window.
pub(crate) struct Account {
    pub(crate) window_ns: f64,
    /// CPU time taken from each CPU, in the order of the machine's CPUs.
    pub(crate) by_cpu: Vec<TakenFrom>,
    pub(crate) threads: Threads,
}

/// Treatment of the traffic's threads in an account.
pub(crate) enum Threads {
    /// Their CPU time is in what is known.
    AreKnown,
    /// Their clocks are still to be separated from those of other programs.
    AreOthers {
        /// Steal of each CPU that is in the clock of the task that ran on it.
        stolen_ns: Vec<f64>,
    },
}

impl Account {
    /// CPU time taken from the CPUs at these places, where the traffic's threads used `threads_ns`.
    fn on(&self, places: impl IntoIterator<Item = usize>, threads_ns: f64) -> TakenFrom {
        let (mut taken, mut all_ns, mut stolen_ns) = (TakenFrom::default(), 0.0, 0.0);
        for place in places {
            taken.add(&self.by_cpu[place]);
            all_ns += self.window_ns;
            if let Threads::AreOthers { stolen_ns: each } = &self.threads {
                stolen_ns += each[place];
            }
        }
        if let Threads::AreOthers { .. } = self.threads {
            taken.known_ns += threads_ns * (1.0 - stolen_ns / all_ns);
            taken.others_ns -= threads_ns;
            taken.left_ns -= threads_ns;
            taken.beyond_idle_ns -= threads_ns;
        }
        taken
    }
}

/// CPU time taken in the trial in slot number `slot`, of a cell with these levels, by the accounts
/// that `account` makes of each machine.
pub(crate) fn taken(
    block: &Block,
    slot: usize,
    header: &Header,
    levels: &Levels,
    account: impl Fn(&Block, usize, &Machine<'_>) -> Option<Account>,
) -> Option<Taken> {
    let machine = Machine::local(header);
    let local = account(block, slot, &machine)?;
    let threads = ThreadClocks::in_trial(block, slot, &machine)?;
    if header.plan.fixed.link != LinkKind::Remote {
        return within_machine(&local, threads, header, levels);
    }
    let apart = sides_apart(header);
    let side = |side: For| if apart { side } else { For::Both };
    let mut parts = vec![(side(For::Sender), local.on(0..machine.cpus.len(), threads.both_ns()))];
    if let Some(far) = Machine::remote(header) {
        let remote = account(block, slot, &far)?;
        let threads = ThreadClocks::in_trial(block, slot, &far)?;
        let times = as_many_bytes(&block.slots[slot], &far, local.window_ns, remote.window_ns)?;
        let taken = remote.on(0..far.cpus.len(), threads.both_ns());
        parts.push((side(For::Receiver), taken.times(times)));
    }
    Some(Taken { window_ns: local.window_ns, parts })
}

/// CPU time taken where both ends run on one machine, each on its CPU or where the cell places
/// them.
fn within_machine(
    account: &Account,
    threads: ThreadClocks,
    header: &Header,
    levels: &Levels,
) -> Option<Taken> {
    let fixed = header.plan.fixed.at(levels);
    let alone = sender_alone(header);
    let window_ns = account.window_ns;
    if fixed.placement == Placement::Free {
        // Either end may have run on any soaked CPU. The load of a server that ran already is taken
        // off later.
        let has_receiver = !alone || header.plan.server_ran_already();
        let threads_ns = if has_receiver { threads.both_ns() } else { threads.sender_ns };
        let all = account.on(0..fixed.soaked_cpus.len(), threads_ns);
        return Some(Taken { window_ns, parts: vec![(For::Both, all)] });
    }
    let place = |cpu: usize| fixed.soaked_cpus.iter().position(|each| *each == cpu);
    let (sender, receiver) = (place(fixed.sender_cpu)?, place(fixed.receiver_cpu)?);
    place(steered_cpu(header, &fixed))?;
    let apart = are_separate(header, levels);
    let (mut parts, mut others) = (Vec::new(), Vec::new());
    for (place, cpu) in fixed.soaked_cpus.iter().enumerate() {
        if is_of_both(header, &fixed, *cpu) {
            let mut threads_ns = 0.0;
            if place == sender {
                threads_ns += threads.sender_ns;
            }
            if place == receiver && !alone {
                threads_ns += threads.receiver_ns;
            }
            let side = match () {
                () if apart && place == sender => For::Sender,
                () if apart && place == receiver => For::Receiver,
                () => For::Both,
            };
            // Each by itself, as other programs may have been on any of them.
            parts.push((side, account.on([place], threads_ns)));
        } else if !receives(header, &fixed, *cpu) {
            others.push(place);
        }
    }
    if !others.is_empty() {
        parts.push((For::OtherCpus, account.on(others, 0.0)));
    }
    Some(Taken { window_ns, parts })
}

/// CPU time of the traffic's threads on one machine, by their clocks, beyond what they use in idle
/// windows: a server that runs for others too, and the kernel's workers, always do something.
#[derive(Clone, Copy, Default)]
struct ThreadClocks {
    sender_ns: f64,
    receiver_ns: f64,
}

impl ThreadClocks {
    /// The clocks in a trial; `None` where a clock ran backwards.
    fn in_trial(block: &Block, slot: usize, machine: &Machine<'_>) -> Option<Self> {
        let (window_ns, used) = Self::in_window(&block.slots[slot], machine)?;
        let (before, after) = (&block.slots[..slot], &block.slots[slot + 1..]);
        let idle = |slot: &Slot| match slot {
            Slot::Idle(_) => Self::in_window(slot, machine),
            Slot::Trial(_) => None,
        };
        let beside = [before.iter().rev().find_map(idle), after.iter().find_map(idle)];
        let (mut idle_ns, mut when_idle) = (0.0, Self::default());
        for (window_ns, used) in beside.into_iter().flatten() {
            idle_ns += window_ns;
            when_idle.sender_ns += used.sender_ns;
            when_idle.receiver_ns += used.receiver_ns;
        }
        let share = per(window_ns, idle_ns).unwrap_or(0.0);
        Some(Self {
            sender_ns: used.sender_ns - share * when_idle.sender_ns,
            receiver_ns: used.receiver_ns - share * when_idle.receiver_ns,
        })
    }

    /// The length of a window and what its clocks say.
    fn in_window(slot: &Slot, machine: &Machine<'_>) -> Option<(f64, Self)> {
        let (opened, closed) = machine.edges(slot)?;
        let since = |from: u64, to: u64| to.checked_sub(from).map(|ns| ns as f64);
        let used = Self {
            sender_ns: since(opened.sender.cpu_ns, closed.sender.cpu_ns)?,
            receiver_ns: since(opened.receiver.cpu_ns, closed.receiver.cpu_ns)?,
        };
        Some((since(opened.soak.at_ns, closed.soak.at_ns)?, used))
    }

    fn both_ns(self) -> f64 {
        self.sender_ns + self.receiver_ns
    }
}

/// Factor by which the local window of a trial is longer than the remote one: by bytes, or by time
/// where nothing was sent.
fn as_many_bytes(slot: &Slot, far: &Machine<'_>, local_ns: f64, remote_ns: f64) -> Option<f64> {
    let Slot::Trial(trial) = slot else { return None };
    let (opened, closed) = far.edges(slot)?;
    if trial.kind == TrialKind::Paced {
        return Some(local_ns / remote_ns);
    }
    Some(arrived(&trial.opened, &trial.closed)? as f64 / arrived(opened, closed)? as f64)
}

/// Payload bytes that arrived between two readings; `None` if there were none.
pub(crate) fn arrived(opened: &Reading, closed: &Reading) -> Option<u64> {
    closed.received.bytes.checked_sub(opened.received.bytes).filter(|bytes| *bytes > 0)
}
