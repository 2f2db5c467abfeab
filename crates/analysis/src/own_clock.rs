//! What traffic took from CPUs in one window, by the clocks of the soakers and of its threads.
//!
//! A soaker's thread clock runs while it has its CPU, and while an interrupt or a softirq has it in its
//! place. Its units say how much of that time was its own: as many as it would have done in idle
//! windows in the same time *of its clock*. The rest was taken by interrupts. So what traffic took is
//!
//! ```text
//! clocks of its threads + clock of ksoftirqd + (clock of the soaker - units / units per ns when idle)
//! ```
//!
//! and what interrupts took from other programs ([`crate::taken`]). What those programs themselves take
//! is in no term, and neither is what the hypervisor takes, where the kernel leaves it out of task clocks
//! (CONFIG_PARAVIRT_TIME_ACCOUNTING).
//!
//! With CONFIG_IRQ_TIME_ACCOUNTING no task clock contains interrupts (`update_rq_clock_task` in
//! kernel/sched/core.c), and the wall time that soakers lost is what there is.

use zc_run::{Block, Header, Reading, Slot};

use crate::figures::per;
use crate::machine::Machine;
use crate::model::estimates::{CostAccount, WhyWallTime};
use crate::rules::{self, TICK_NS};
use crate::sides::Account;
use crate::taken::{LEAST_SHARE, TakenFrom};

/// Why own clocks on the machines of a run cannot tell costs: the kernel's task clocks lack interrupts,
/// or not all threads that work for the traffic are known. `None` where they can.
fn why_not(header: &Header) -> Option<WhyWallTime> {
    let plan = &header.plan;
    let known = !plan.has_unknown_processes() && plan.responses.is_none();
    let is_elsewhere = plan.is_of_a_client() || plan.is_of_a_server() && plan.nfs.is_some();
    match () {
        () if !known || is_elsewhere => Some(WhyWallTime::UnknownTasks),
        () if Machine::all(header).any(|machine| machine.irq_time == Some(true)) => {
            Some(WhyWallTime::InterruptsApart)
        }
        () => None,
    }
}

/// The account by which the costs of these blocks of a run are computed, if it may be `permitted`.
pub(crate) fn account_of(blocks: &[&Block], header: &Header, permitted: Permitted) -> CostAccount {
    let told = blocks.iter().any(|block| have_clocks(block, header));
    let why_not = if told { why_not(header) } else { Some(WhyWallTime::NoClocks) };
    let compared = (permitted == Permitted::WallTime).then_some(WhyWallTime::ComparedRun);
    match why_not.or(compared) {
        Some(because) => CostAccount::WallTime { because },
        None => CostAccount::OwnClocks,
    }
}

/// The accounts by which costs may be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permitted {
    /// Own clocks where they tell, wall time elsewhere.
    OwnClocks,
    /// Wall time alone, as in runs without own clocks.
    WallTime,
}

/// Whether own clocks tell the cost of the trial in slot number `slot`.
pub(crate) fn are_told(block: &Block, slot: usize, header: &Header) -> bool {
    why_not(header).is_none() && has_clocks(&block.slots[slot], header)
}

fn has_clocks(slot: &Slot, header: &Header) -> bool {
    let are_there = |machine: Machine<'_>| {
        machine.edges(slot).is_some_and(|(opened, _)| !opened.soak.cpu_ns.is_empty())
    };
    Machine::all(header).all(are_there)
}

fn have_clocks(block: &Block, header: &Header) -> bool {
    block.slots.iter().any(|slot| has_clocks(slot, header))
}

/// Whether own clocks tell the costs of a block.
pub(crate) fn are_told_in(block: &Block, header: &Header) -> bool {
    why_not(header).is_none() && have_clocks(block, header)
}

/// The length of a soaked window, and how much of each of a machine's CPUs neither its soaker,
/// ksoftirqd nor the hypervisor had.
pub(crate) fn left_over(slot: &Slot, machine: &Machine<'_>) -> Option<(f64, Vec<f64>)> {
    let (opened, closed) = machine.edges(slot)?;
    let window = Clocks::between(opened, closed, machine)?;
    let left_ns = |cpu: &Clock| window.elapsed_ns - cpu.soaker_ns - cpu.ksoftirqd_ns - cpu.steal_ns;
    Some((window.elapsed_ns, window.by_cpu.iter().map(left_ns).collect()))
}

/// The account of a machine in the window of slot number `slot`. `None` if a clock is missing or ran
/// backwards.
pub(crate) fn account<'b>(
    block: &'b Block,
    slot: usize,
    machine: &Machine<'_>,
) -> Option<Account<'b>> {
    let (opened, closed) = machine.edges(&block.slots[slot])?;
    let window = Clocks::between(opened, closed, machine)?;
    let speeds = speeds(block, slot, machine)?;
    let idle_shares = shares_of_others(block, slot, machine)?;
    let window_ns = window.elapsed_ns;
    let on = move |places: &[usize], threads_ns: f64| {
        let mut taken = TakenFrom { known_ns: threads_ns, ..TakenFrom::default() };
        let mut left_ns = places.len() as f64 * window_ns - threads_ns;
        let (mut stolen_ns, mut idle_ns) = (0.0, 0.0);
        for place in places {
            let cpu = &window.by_cpu[*place];
            taken.known_ns += cpu.ksoftirqd_ns;
            left_ns -= cpu.ksoftirqd_ns + cpu.steal_ns;
            stolen_ns += cpu.steal_ns;
            idle_ns += idle_shares[*place] * window_ns;
            // A soaker whose speed is not known is one more program.
            if let Some(speed) = speeds[*place] {
                taken.soakers_ns += cpu.soaker_ns;
                taken.interrupts_ns += cpu.soaker_ns - cpu.units / speed;
            }
        }
        taken.known_ns += taken.interrupts_ns;
        // May be less than nothing in one window, as steal comes in ticks.
        taken.others_ns = left_ns - taken.soakers_ns;
        taken.left_ns = taken.others_ns + stolen_ns;
        taken.beyond_idle_ns = taken.left_ns - idle_ns;
        taken
    };
    Some(Account { window_ns, on: Box::new(on) })
}

/// Units and clocks of a window.
struct Clocks {
    /// The middle of the window by CLOCK_MONOTONIC.
    middle_ns: f64,
    elapsed_ns: f64,
    /// In the order of the machine's CPUs.
    by_cpu: Vec<Clock>,
}

/// See [`Clocks`].
struct Clock {
    units: f64,
    soaker_ns: f64,
    ksoftirqd_ns: f64,
    /// What the hypervisor took, by the ticks of /proc/stat: nothing interrupts a CPU then.
    steal_ns: f64,
}

impl Clocks {
    /// `None` when the window has no length, or a clock is missing or ran backwards.
    fn between(opened: &Reading, closed: &Reading, machine: &Machine<'_>) -> Option<Self> {
        let (from, to) = (&opened.soak, &closed.soak);
        let elapsed_ns = to.at_ns.checked_sub(from.at_ns).filter(|ns| *ns > 0)? as f64;
        let lists = [&from.units, &to.units, &from.cpu_ns, &to.cpu_ns];
        if machine.cpus.is_empty() || lists.iter().any(|list| list.len() != machine.cpus.len()) {
            return None;
        }
        let grown = |from: u64, to: u64| to.checked_sub(from).map(|by| by as f64);
        let ksoftirqd_ns = |cpu: usize| {
            match (from.ksoftirqd_ns.get(cpu), to.ksoftirqd_ns.get(cpu)) {
                (Some(from), Some(to)) => grown(*from, *to),
                _ => Some(0.0), // it is one of the other programs
            }
        };
        let ticks = rules::ticks_by_cpu(opened, closed, machine, |cpu| cpu.steal);
        let stat_ns = closed.stat.at_ns.saturating_sub(opened.stat.at_ns) as f64;
        let steal_ns = |cpu: usize| {
            let ticks = ticks.as_ref().map_or(0.0, |ticks| ticks[cpu] as f64);
            per(ticks * TICK_NS * elapsed_ns, stat_ns).unwrap_or(0.0)
        };
        let of_cpu = |cpu: usize| {
            Some(Clock {
                units: grown(from.units[cpu], to.units[cpu])?,
                soaker_ns: grown(from.cpu_ns[cpu], to.cpu_ns[cpu])?,
                ksoftirqd_ns: ksoftirqd_ns(cpu)?,
                steal_ns: steal_ns(cpu),
            })
        };
        let by_cpu = (0..machine.cpus.len()).map(of_cpu).collect::<Option<_>>()?;
        Some(Self { middle_ns: from.at_ns as f64 + elapsed_ns / 2.0, elapsed_ns, by_cpu })
    }
}

/// Units per ns of its own clock of each soaker at the middle of a window, if it were idle: in a
/// straight line between the idle windows before and after in which it had some of its CPU, or as in
/// one of them where the other is missing. `None` for a soaker that hardly ran in any.
pub(crate) fn speeds(
    block: &Block,
    slot: usize,
    machine: &Machine<'_>,
) -> Option<Vec<Option<f64>>> {
    (0..machine.cpus.len())
        .map(|cpu| when_idle(block, slot, machine, |window| speed(window, cpu)))
        .collect()
}

/// Shares of each CPU that neither its soaker nor ksoftirqd had in the idle windows beside a window,
/// as [`speeds`]; what the hypervisor took is in them. 0 where no idle window tells.
fn shares_of_others(block: &Block, slot: usize, machine: &Machine<'_>) -> Option<Vec<f64>> {
    let share = |window: &Clocks, cpu: usize| {
        let Clock { soaker_ns, ksoftirqd_ns, .. } = window.by_cpu[cpu];
        1.0 - (soaker_ns + ksoftirqd_ns) / window.elapsed_ns
    };
    let of_cpu = |cpu: usize| when_idle(block, slot, machine, |window| Some(share(window, cpu)));
    let shares = (0..machine.cpus.len()).map(of_cpu).collect::<Option<Vec<_>>>()?;
    Some(shares.into_iter().map(|share| share.unwrap_or(0.0)).collect())
}

/// What a figure of idle windows was at the middle of the window in slot number `slot`: in a straight
/// line between those before and after that have it, or as in one of them where the other is missing.
/// The outer `None` where the slot has no readings.
fn when_idle(
    block: &Block,
    slot: usize,
    machine: &Machine<'_>,
    figure: impl Fn(&Clocks) -> Option<f64>,
) -> Option<Option<f64>> {
    let (opened, closed) = machine.edges(&block.slots[slot])?;
    let middle_ns = (opened.soak.at_ns as f64 + closed.soak.at_ns as f64) / 2.0;
    let figure = |slot: &Slot| {
        let window = idle_clocks(slot, machine)?;
        Some((window.middle_ns, figure(&window)?))
    };
    let before = block.slots[..slot].iter().rev().find_map(figure);
    let after = block.slots[slot + 1..].iter().find_map(figure);
    Some(match (before, after) {
        (Some((from_ns, from)), Some((to_ns, to))) => {
            Some(from + (middle_ns - from_ns) / (to_ns - from_ns) * (to - from))
        }
        (Some((_, only)), None) | (None, Some((_, only))) => Some(only),
        (None, None) => None,
    })
}

/// Units per ns of a soaker's own clock in a window; `None` where it hardly ran.
fn speed(window: &Clocks, cpu: usize) -> Option<f64> {
    let Clock { units, soaker_ns, .. } = window.by_cpu[cpu];
    let ran = soaker_ns >= LEAST_SHARE * window.elapsed_ns && units > 0.0;
    ran.then(|| units / soaker_ns)
}

/// The clocks of an idle window; `None` for any other slot.
fn idle_clocks(slot: &Slot, machine: &Machine<'_>) -> Option<Clocks> {
    let Slot::Idle(_) = slot else { return None };
    let (opened, closed) = machine.edges(slot)?;
    Clocks::between(opened, closed, machine)
}
