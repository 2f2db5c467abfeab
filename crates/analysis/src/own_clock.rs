//! CPU time that traffic took in one window, by the clocks of the soakers and of its threads.
//!
//! A soaker's thread clock runs while it has its CPU, and while an interrupt or a softirq has it in
//! its place. Its units say how much of that time was its own: as many as it would have done in
//! idle windows in the same time *of its clock*. The rest was taken by interrupts. So what traffic
//! took is
//!
//! ```text
//! clocks of its threads + clock of ksoftirqd
//!     + (clock of the soaker - units / units per ns when idle)
//! ```
//!
//! and what interrupts took from other programs ([`crate::taken`]). No term contains what those
//! programs themselves take, or what the hypervisor takes, where the kernel leaves it out of task
//! clocks (CONFIG_PARAVIRT_TIME_ACCOUNTING); elsewhere see [`crate::steal`].
//!
//! A CPU with a soaker is never idle while zc runs. Where it was, zc did not: SIGSTOP, a frozen
//! cgroup, a CPU quota that was used up. Nothing of the traffic ran then, and no interrupt came for
//! it, so that time is no part of the window.
//!
//! With CONFIG_IRQ_TIME_ACCOUNTING no task clock contains interrupts (`update_rq_clock_task` in
//! kernel/sched/core.c): see [`crate::less_others`].

use zc_run::{Block, Slot};

use crate::clocks::{Clock, Clocks, idle_clocks};
use crate::machine::Machine;
use crate::sides::{Account, Threads};
use crate::steal::StealInClocks;
use crate::taken::{LEAST_SHARE, TakenFrom};

/// The length of a soaked window, and how much of each of a machine's CPUs neither its soaker,
/// ksoftirqd nor the hypervisor had, and in which it was not idle.
pub(crate) fn left_over(slot: &Slot, machine: &Machine<'_>) -> Option<(f64, Vec<f64>)> {
    let window = Clocks::in_slot(slot, machine)?;
    let left_ns = |cpu: &Clock| {
        let not_others_ns = cpu.soaker_ns + cpu.ksoftirqd_ns + cpu.steal_ns + cpu.stopped_ns;
        window.elapsed_ns - not_others_ns
    };
    Some((window.elapsed_ns, window.by_cpu.iter().map(left_ns).collect()))
}

/// The account of a machine in the window of slot number `slot`. `None` if a clock is missing or
/// ran backwards.
pub(crate) fn account(
    block: &Block,
    slot: usize,
    machine: &Machine<'_>,
    steal: StealInClocks,
) -> Option<Account> {
    let window = Clocks::in_slot(&block.slots[slot], machine)?;
    let speeds = speeds(block, slot, machine, steal)?;
    let steal = steal.on(machine);
    let idle_shares = shares_of_others(block, slot, machine)?;
    let elapsed_ns = window.elapsed_ns;
    let of_cpu = |((cpu, speed), idle_share): ((&Clock, Option<f64>), f64)| {
        // A soaker whose speed is not known is one more program.
        let (soakers_ns, interrupts_ns) = match speed {
            Some(speed) => {
                (cpu.soaker_ns, cpu.soaker_without_ns(steal, elapsed_ns) - cpu.units / speed)
            }
            None => (0.0, 0.0),
        };
        let left_ns = elapsed_ns - soakers_ns - cpu.ksoftirqd_ns - cpu.stopped_ns;
        TakenFrom {
            known_ns: cpu.ksoftirqd_ns + interrupts_ns,
            interrupts_ns,
            soakers_ns,
            // May be less than nothing in one window, as steal comes in ticks.
            others_ns: left_ns - cpu.steal_outside_ns,
            left_ns,
            beyond_idle_ns: left_ns - idle_share * (elapsed_ns - cpu.stopped_ns),
            stopped_ns: cpu.stopped_ns,
        }
    };
    let by_cpu = std::iter::zip(&window.by_cpu, speeds).zip(idle_shares).map(of_cpu).collect();
    let stolen_ns = window.by_cpu.iter().map(|cpu| steal * cpu.steal_ns).collect();
    let window_ns = Some(elapsed_ns - window.stopped_ns()).filter(|ns| *ns > 0.0)?;
    Some(Account { window_ns, by_cpu, threads: Threads::AreOthers { stolen_ns } })
}

/// Units per ns of its own clock of each soaker at the middle of a window, if it were idle: in a
/// straight line between the idle windows before and after in which it had some of its CPU, or as
/// in one of them where the other is missing. `None` for a soaker that hardly ran in any.
pub(crate) fn speeds(
    block: &Block,
    slot: usize,
    machine: &Machine<'_>,
    steal: StealInClocks,
) -> Option<Vec<Option<f64>>> {
    when_idle(block, slot, machine, |window, cpu| speed(window, cpu, steal.on(machine)))
}

/// Shares of each CPU that neither its soaker nor ksoftirqd had in the idle windows beside a
/// window, as [`speeds`]; what the hypervisor took is in them. 0 without idle windows.
fn shares_of_others(block: &Block, slot: usize, machine: &Machine<'_>) -> Option<Vec<f64>> {
    let share = |window: &Clocks, cpu: usize| {
        let Clock { soaker_ns, ksoftirqd_ns, .. } = window.by_cpu[cpu];
        Some(1.0 - (soaker_ns + ksoftirqd_ns) / window.elapsed_ns)
    };
    let shares = when_idle(block, slot, machine, share)?;
    Some(shares.into_iter().map(|share| share.unwrap_or(0.0)).collect())
}

/// Idle-window figure of each CPU at the middle of the window in slot number `slot`: interpolated
/// linearly between the idle windows before and after that have it, or that of one of them where
/// the other is missing. The outer `Option` is `None` where the slot has no readings.
fn when_idle(
    block: &Block,
    slot: usize,
    machine: &Machine<'_>,
    figure: impl Fn(&Clocks, usize) -> Option<f64>,
) -> Option<Vec<Option<f64>>> {
    let (opened, closed) = machine.edges(&block.slots[slot])?;
    let middle_ns = (opened.soak.at_ns as f64 + closed.soak.at_ns as f64) / 2.0;
    let before = nearest(block.slots[..slot].iter().rev(), machine, &figure);
    let after = nearest(block.slots[slot + 1..].iter(), machine, &figure);
    let at_middle = |beside| match beside {
        (Some((from_ns, from)), Some((to_ns, to))) => {
            Some(from + (middle_ns - from_ns) / (to_ns - from_ns) * (to - from))
        }
        (Some((_, only)), None) | (None, Some((_, only))) => Some(only),
        (None, None) => None,
    };
    Some(std::iter::zip(before, after).map(at_middle).collect())
}

/// A figure of each CPU in the first idle window that has it, and the middle of that window.
fn nearest<'s>(
    slots: impl Iterator<Item = &'s Slot>,
    machine: &Machine<'_>,
    figure: impl Fn(&Clocks, usize) -> Option<f64>,
) -> Vec<Option<(f64, f64)>> {
    let mut found = vec![None; machine.cpus.len()];
    for window in slots.filter_map(|slot| idle_clocks(slot, machine)) {
        for (cpu, found) in found.iter_mut().enumerate().filter(|(_, found)| found.is_none()) {
            *found = figure(&window, cpu).map(|figure| (window.middle_ns, figure));
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    found
}

/// Units per ns of a soaker's own clock in a window; `None` where it hardly ran.
fn speed(window: &Clocks, cpu: usize, steal: f64) -> Option<f64> {
    let clock = &window.by_cpu[cpu];
    let soaker_ns = clock.soaker_without_ns(steal, window.elapsed_ns);
    let ran = soaker_ns >= LEAST_SHARE * window.elapsed_ns && clock.units > 0.0;
    ran.then(|| clock.units / soaker_ns)
}

/// The CPUs of this machine on which the soaker hardly ran in the idle windows of these blocks:
/// other programs had the rest.
pub(crate) fn starved(blocks: &[&Block], machine: &Machine<'_>) -> Vec<usize> {
    let slots = blocks.iter().flat_map(|block| &block.slots);
    let windows: Vec<Clocks> = slots.filter_map(|slot| idle_clocks(slot, machine)).collect();
    let hardly_ran = |place: usize| {
        let of_window = |window: &Clocks| {
            let cpu = &window.by_cpu[place];
            (cpu.soaker_ns, window.elapsed_ns - cpu.ksoftirqd_ns - cpu.steal_ns)
        };
        let sum = |sum: (f64, f64), each: (f64, f64)| (sum.0 + each.0, sum.1 + each.1);
        let (soaker_ns, left_ns) = windows.iter().map(of_window).fold((0.0, 0.0), sum);
        soaker_ns < LEAST_SHARE * left_ns
    };
    let places = (0..machine.cpus.len()).filter(|place| hardly_ran(*place));
    places.map(|place| machine.cpus[place]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlanIndex;
    use crate::costs::{Side, TrialCost, trial_costs};
    use zc_run::{Run, Trial};
    use zc_testkit::synthetic::Synthetic;

    /// A run of one block without noise, in whose first trial something is changed, and in the idle
    /// window before it.
    fn cost(spoil: impl Fn(&mut Trial, &mut zc_run::IdleWindow)) -> Option<TrialCost> {
        let world =
            Synthetic { noise: 0.0, block_drift: 0.0, idle_noise: 0.0, ..Synthetic::default() };
        let mut run = Synthetic { blocks: 1, ..world }.run();
        let [Slot::Idle(idle), Slot::Trial(trial), ..] = run.blocks[0].slots.as_mut_slice() else {
            panic!("a trial comes after an idle window")
        };
        spoil(trial, idle);
        cost_of_the_first(&run)
    }

    fn cost_of_the_first(run: &Run) -> Option<TrialCost> {
        let index = PlanIndex::new(&run.header.plan);
        let Slot::Trial(trial) = &run.blocks[0].slots[1] else { panic!("slot 1 is a trial") };
        trial_costs(&[&run.blocks[0]], &run.header, &index)[0][index.place(&trial.cell)?]
    }

    #[test]
    fn what_ksoftirqd_did_is_in_the_cost_of_its_cpu_and_is_no_other_task_s() {
        // 5 ms that the soaker of the sender's CPU did not have.
        let before = cost(|_, _| {}).unwrap();
        let after = cost(|trial, _| {
            let soak = &mut trial.closed.soak;
            soak.cpu_ns[0] -= 5_000_000;
            soak.units[0] -= 5_000_000 / 3000;
            soak.ksoftirqd_ns[0] += 5_000_000;
        });
        let after = after.unwrap();
        let more = |of: fn(&TrialCost) -> f64| of(&after) - of(&before);
        assert!((more(|cost| cost.gross.sender_ns.unwrap()) - 5e6).abs() < 0.01 * 5e6, "{after:?}");
        assert_eq!(more(|cost| cost.gross.receiver_ns.unwrap()), 0.0);
        let unattributed_ns = more(|cost| cost.unattributed.unwrap().both_ns);
        assert!(unattributed_ns.abs() < 0.02 * 5e6, "{unattributed_ns}");
    }

    #[test]
    fn an_idle_window_in_which_a_soaker_hardly_ran_does_not_tell_its_speed() {
        let ns = |cost: Option<TrialCost>| cost.unwrap().ns_per_kib(Side::Sender).unwrap();
        let whole = ns(cost(|_, _| {}));
        // Twice as fast, for 1 % and for half of the window.
        let beside = |share: f64| {
            ns(cost(|_, idle| {
                let (opened, closed) = (&idle.opened.soak, &mut idle.closed.soak);
                let left = |from: u64, to: u64, by: f64| from + ((to - from) as f64 * by) as u64;
                closed.units[0] = left(opened.units[0], closed.units[0], 2.0 * share);
                closed.cpu_ns[0] = left(opened.cpu_ns[0], closed.cpu_ns[0], share);
            }))
        };
        assert!((beside(0.01) / whole - 1.0).abs() < 0.01, "{} {whole}", beside(0.01));
        assert!((beside(0.5) / whole - 1.0).abs() > 0.1, "{} {whole}", beside(0.5));
    }

    #[test]
    fn a_window_in_which_a_clock_ran_backwards_has_no_cost() {
        assert!(cost(|_, _| {}).is_some());
        type Spoil = fn(&mut Trial);
        let backwards: [(&str, Spoil); 5] = [
            ("soaker", |trial| trial.closed.soak.cpu_ns[1] = trial.opened.soak.cpu_ns[1] - 1),
            ("units", |trial| trial.closed.soak.units[0] = trial.opened.soak.units[0] - 1),
            ("ksoftirqd", |trial| trial.opened.soak.ksoftirqd_ns[0] = 1),
            ("a thread", |trial| trial.opened.sender.cpu_ns = trial.closed.sender.cpu_ns + 1),
            ("time", |trial| trial.closed.soak.at_ns = trial.opened.soak.at_ns - 1),
        ];
        for (clock, spoil) in backwards {
            assert_eq!(cost(|trial, _| spoil(trial)), None, "{clock}");
        }
    }

    #[test]
    fn an_idle_window_in_which_a_clock_ran_backwards_is_passed_over() {
        let ns = |cost: Option<TrialCost>| cost.unwrap().ns_per_kib(Side::Both).unwrap();
        let whole = ns(cost(|_, _| {}));
        let spoilt =
            ns(cost(|_, idle| idle.opened.soak.cpu_ns[0] = idle.closed.soak.cpu_ns[0] + 1));
        assert!((spoilt / whole - 1.0).abs() < 0.01, "{spoilt} {whole}");
    }

    #[test]
    fn stamps_of_cpus_whose_clocks_differ_change_no_cost() {
        let whole = cost(|_, _| {});
        let shifted = cost(|trial, _| {
            for reading in [&mut trial.opened, &mut trial.closed] {
                reading.soak.stamp_ns[1] = reading.soak.stamp_ns[1].saturating_sub(50_000_000);
            }
        });
        assert!(whole.is_some());
        assert_eq!(shifted, whole);
    }
}
