//! CPU time that traffic took in one window where no task clock contains interrupts
//! (CONFIG_IRQ_TIME_ACCOUNTING): the wall time that soakers lost, less what other programs used.
//!
//! The clocks of the top-level cgroups, less those of zc's own threads, tell what other programs
//! used of the whole machine. The time that is left over by soakers and by other programs is the
//! traffic's, but for what interrupts and the hypervisor take without it, as in the idle windows:
//!
//! ```text
//! left over  = window - units / (units per ns of the soaker's clock when idle) - others
//! taken      = left over in the window - left over in idle windows, in the same time
//! ```
//!
//! That needs a soaker on every CPU. It is not known which CPUs other programs used in a window:
//! they are assumed to have used each as in the idle windows of the block, so that the cost of one
//! end alone has more noise than that of both together. Steal stays in the costs.

use zc_run::{Block, Header, Reading, Slot, Traffic};

use crate::clocks::{Clock, Clocks};
use crate::machine::{Machine, same_machine};
use crate::own_clock::speeds;
use crate::sides::{Account, Threads};
use crate::steal::StealInClocks;
use crate::taken::TakenFrom;

/// Whether this account can be used for the trial in slot number `slot`. The clocks of other
/// programs include what a server uses, and what another zc on this machine uses.
pub(crate) fn is_available(block: &Block, slot: usize, header: &Header) -> bool {
    let plan = &header.plan;
    let has_server = plan.traffic != Traffic::Stream;
    let is_read = |machine: Machine<'_>| {
        let edges = machine.edges(&block.slots[slot]);
        machine.all_soaked && edges.is_some_and(|(opened, _)| opened.cgroups_ns.is_some())
    };
    !has_server && !same_machine(header) && Machine::all(header).all(is_read)
}

/// The account of a machine in the window of slot number `slot`. `None` if a clock is missing or
/// ran backwards.
pub(crate) fn account(
    block: &Block,
    slot: usize,
    machine: &Machine<'_>,
    steal: StealInClocks,
) -> Option<Account> {
    let (opened, closed) = machine.edges(&block.slots[slot])?;
    let clocks = Clocks::between(opened, closed, machine)?;
    let others_ns = others_ns(opened, closed, &clocks)?;
    let speeds: Vec<f64> =
        speeds(block, slot, machine, steal)?.into_iter().collect::<Option<_>>()?;
    let idle = Idle::around(block, slot, machine)?;
    let window_ns = clocks.elapsed_ns;
    let of_cpu = |((cpu, speed), idle): ((&Clock, f64), &IdleCpu)| {
        let lost_ns = window_ns - cpu.units / speed;
        let known_ns = lost_ns - others_ns * idle.share_of_others - idle.left_over * window_ns;
        TakenFrom { known_ns, ..TakenFrom::default() }
    };
    let by_cpu = std::iter::zip(&clocks.by_cpu, speeds).zip(&idle.by_cpu).map(of_cpu).collect();
    Some(Account { window_ns, by_cpu, threads: Threads::AreKnown })
}

/// CPU time of other programs in a window, on all CPUs. It is a difference with noise and may be
/// negative.
fn others_ns(opened: &Reading, closed: &Reading, clocks: &Clocks) -> Option<f64> {
    let all_ns = closed.cgroups_ns?.checked_sub(opened.cgroups_ns?)?;
    let own_ns = closed.process_cpu_ns.checked_sub(opened.process_cpu_ns)?;
    // Read with /proc/stat, outside of the window's own edges.
    let read_ns = closed.stat.at_ns.checked_sub(opened.stat.at_ns).filter(|ns| *ns > 0)?;
    Some((all_ns as f64 - own_ns as f64) * clocks.elapsed_ns / read_ns as f64)
}

/// Use of the CPUs without traffic.
struct Idle {
    /// Each CPU, in the order of the machine's CPUs.
    by_cpu: Vec<IdleCpu>,
}

/// See [`Idle`].
struct IdleCpu {
    /// The share of other programs' CPU time that is used on this CPU.
    share_of_others: f64,
    /// The share of the time that is left over by the soaker and by other programs.
    left_over: f64,
}

impl Idle {
    /// Computes it from the idle windows before and after a slot, and the shares of others from all
    /// idle windows of the block.
    fn around(block: &Block, slot: usize, machine: &Machine<'_>) -> Option<Self> {
        let of_slot = |slot: &Slot| IdleWindow::from_slot(slot, machine);
        let windows: Vec<IdleWindow> = block.slots.iter().filter_map(of_slot).collect();
        let shares = shares(&windows, machine.cpus.len());
        let (opened, closed) = machine.edges(&block.slots[slot])?;
        let middle_ns = (opened.soak.at_ns as f64 + closed.soak.at_ns as f64) / 2.0;
        let before = windows.iter().rev().find(|window| window.middle_ns <= middle_ns)?;
        let after = windows.iter().find(|window| window.middle_ns > middle_ns)?;
        let towards_after = (middle_ns - before.middle_ns) / (after.middle_ns - before.middle_ns);
        let by_cpu = shares.into_iter().enumerate().map(|(cpu, share_of_others)| {
            let left_over = |window: &IdleWindow| {
                window.unused_by_soaker[cpu] - window.others * share_of_others
            };
            let (from, to) = (left_over(before), left_over(after));
            IdleCpu { share_of_others, left_over: from + towards_after * (to - from) }
        });
        Some(Self { by_cpu: by_cpu.collect() })
    }
}

/// The CPUs' shares of what other programs used in these windows: of the time that the soakers did
/// not have, as almost all of it was theirs.
fn shares(windows: &[IdleWindow], cpus: usize) -> Vec<f64> {
    let of_cpu = |cpu: usize| -> f64 {
        windows.iter().map(|window| window.unused_by_soaker[cpu].max(0.0)).sum()
    };
    let used: Vec<f64> = (0..cpus).map(of_cpu).collect();
    let all: f64 = used.iter().sum();
    used.into_iter().map(|used| if all > 0.0 { used / all } else { 1.0 / cpus as f64 }).collect()
}

/// An idle window, in shares of its length.
struct IdleWindow {
    middle_ns: f64,
    /// Share of each CPU, in the order of the machine's CPUs.
    unused_by_soaker: Vec<f64>,
    /// Share of other programs, on all CPUs.
    others: f64,
}

impl IdleWindow {
    /// `None` for any other slot.
    fn from_slot(slot: &Slot, machine: &Machine<'_>) -> Option<Self> {
        let Slot::Idle(_) = slot else { return None };
        let (opened, closed) = machine.edges(slot)?;
        let clocks = Clocks::between(opened, closed, machine)?;
        let unused = clocks.by_cpu.iter().map(|cpu| 1.0 - cpu.soaker_ns / clocks.elapsed_ns);
        Some(Self {
            middle_ns: clocks.middle_ns,
            unused_by_soaker: unused.collect(),
            others: others_ns(opened, closed, &clocks)? / clocks.elapsed_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account_kind::Permitted;
    use crate::costs::{Side, TrialCost, trial_costs};
    use crate::{AccountKind, PlanIndex, WhyWallTime};
    use zc_run::Run;
    use zc_testkit::synthetic::Synthetic;

    fn world() -> Synthetic {
        Synthetic {
            blocks: 20,
            noise: 0.0,
            block_drift: 0.0,
            idle_noise: 0.0,
            interrupts_apart: true,
            ..Synthetic::default()
        }
    }

    fn costs(run: &Run) -> Vec<Vec<Option<TrialCost>>> {
        let blocks: Vec<&Block> = run.blocks.iter().collect();
        trial_costs(&blocks, &run.header, &PlanIndex::new(&run.header.plan))
    }

    /// Costs of the reference, sender and receiver together; in truth 900 ns/KiB.
    fn costs_of_both(run: &Run) -> Vec<f64> {
        let ns = |block: &Vec<Option<TrialCost>>| block[0].as_ref().unwrap().ns_per_kib(Side::Both);
        costs(run).iter().map(|block| ns(block).unwrap()).collect()
    }

    fn worst(costs: &[f64]) -> f64 {
        costs.iter().map(|ns| (ns / 900.0 - 1.0).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn costs_are_the_true_ones_on_a_quiet_machine_and_beside_others() {
        for (foreign_share, foreign_noise) in [(0.0, 0.0), (0.3, 0.0), (0.2, 0.8)] {
            let run = Synthetic { foreign_share, foreign_noise, ..world() }.run();
            let account = AccountKind::for_run(&run.blocks, &run.header, Permitted::Best);
            assert_eq!(account, AccountKind::WallLessOthers);
            let found = costs_of_both(&run);
            assert!(worst(&found) < 0.01, "{foreign_share} {foreign_noise}: {found:?}");
        }
    }

    #[test]
    fn wall_time_alone_has_others_in_the_costs() {
        let mut run = Synthetic { foreign_share: 0.2, foreign_noise: 0.8, ..world() }.run();
        run.header.host.cpu.online = 4; // of which two have no soaker
        let account = AccountKind::for_run(&run.blocks, &run.header, Permitted::Best);
        assert_eq!(account, AccountKind::WallTime { because: WhyWallTime::InterruptsApart });
        assert!(worst(&costs_of_both(&run)) > 0.1);
    }

    #[test]
    fn each_end_has_its_cost_where_others_use_both_cpus_alike() {
        let run = Synthetic { foreign_share: 0.3, ..world() }.run();
        for block in costs(&run) {
            let cost = block[0].as_ref().unwrap();
            let near = |side, ns: f64| (cost.ns_per_kib(side).unwrap() / ns - 1.0).abs() < 0.01;
            assert!(near(Side::Sender, 500.0) && near(Side::Receiver, 400.0), "{cost:?}");
        }
    }

    #[test]
    fn a_cgroup_that_was_removed_leaves_a_window_without_a_cost() {
        let mut run = world().run();
        let slots = &mut run.blocks[0].slots;
        let trial = slots.iter_mut().find_map(|slot| match slot {
            Slot::Trial(trial) if trial.kind.is_soaked() => Some(trial),
            _ => None,
        });
        let trial = trial.unwrap();
        trial.closed.cgroups_ns = trial.opened.cgroups_ns.map(|ns| ns - 1);
        let found = costs(&run);
        let missing = |block: &Vec<Option<TrialCost>>| block.iter().filter(|c| c.is_none()).count();
        assert_eq!((missing(&found[0]), missing(&found[1])), (1, 0));
    }
}
