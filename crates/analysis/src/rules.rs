//! The rules that drop blocks. They are fixed before the run and use only the state of the machine,
//! never a cost.

use super::machine::{Machine, same_machine};
use super::ticks::{TICK_NS, ticks_by_cpu};
use super::wall_clock::{Rates, idle_rates};
use crate::account_kind::{self, AccountKind, Permitted};
use zc_run::{Block, CpuTicks, Dropped, Header, Reading, Slot};

/// A block is dropped when the hypervisor took more than this share of the soaked CPUs.
pub const STEAL_LIMIT: f64 = 0.01;
/// A block is dropped when its neighbouring idle windows differ by more than this share (median).
///
/// A trial is compared with the idle windows beside it, so a CPU that changes its speed is no
/// error. It was 2 % once, which dropped 13 % of all blocks: with them the ratios were the same,
/// their intervals narrower and the positive control as right (docs/performance.md, "The drift
/// rule"). What is left are CPUs whose speed cannot be known from one window to the next.
pub const DRIFT_LIMIT: f64 = 0.10;
/// A block is dropped when other processes used more than this share of the soaked CPUs.
pub const FOREIGN_LIMIT: f64 = 0.02;

/// The first rule that the block breaks; `None` for a block that is kept. None applies to a block
/// whose costs leave other programs out, unless the plan is strict.
pub fn drop_reason(block: &Block, header: &Header) -> Option<Dropped> {
    if !header.plan.strict
        && AccountKind::for_block(block, header, Permitted::Best).leaves_others_out()
    {
        return None;
    }
    broken(block, header)
}

/// The first rule that the block breaks, whether they apply to it or not.
pub(crate) fn broken(block: &Block, header: &Header) -> Option<Dropped> {
    Machine::all(header).find_map(|machine| drop_reason_of(block, header, &machine))
}

/// Whether the costs of a run with this header leave out what other programs and the hypervisor
/// took, and no block is dropped for them.
pub fn leaves_others_out(header: &Header) -> bool {
    !header.plan.strict && account_kind::own_clocks_can_tell(header)
}

fn drop_reason_of(block: &Block, header: &Header, machine: &Machine<'_>) -> Option<Dropped> {
    if let Some(steal) =
        steal(block, machine).filter(|steal| steal.share() > STEAL_LIMIT && steal.ticks >= 2)
    {
        return Some(Dropped::Steal { share: steal.share() });
    }
    if let Some(share) = foreign(block, header, machine).filter(|share| *share > FOREIGN_LIMIT) {
        return Some(Dropped::Foreign { share });
    }
    idle_drift(block, machine)
        .filter(|share| *share > DRIFT_LIMIT)
        .map(|share| Dropped::IdleDrift { share })
}

/// Steal in one block, by /proc/stat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steal {
    /// Ticks (10 ms) of steal, summed over the soaked CPUs.
    pub ticks: u64,
    /// Available CPU time, summed over the soaked CPUs; above 0.
    pub available_ns: f64,
}

impl Steal {
    /// Stolen divided by available time, 0 to 1.
    pub fn share(&self) -> f64 {
        self.ticks as f64 * TICK_NS / self.available_ns
    }
}

/// Steal from the first reading of a block to its last; `None` without readings.
pub fn steal(block: &Block, machine: &Machine<'_>) -> Option<Steal> {
    let (opened, closed) =
        (machine.edges(block.slots.first()?)?.0, machine.edges(block.slots.last()?)?.1);
    let elapsed_ns = closed.stat.at_ns.checked_sub(opened.stat.at_ns).filter(|ns| *ns > 0)? as f64;
    let ticks = ticks_between(opened, closed, machine, |cpu| cpu.steal)?;
    Some(Steal { ticks, available_ns: elapsed_ns * machine.cpus.len() as f64 })
}

/// The median relative difference between neighbouring idle windows of a block; `None` with fewer
/// than two of them.
pub fn idle_drift(block: &Block, machine: &Machine<'_>) -> Option<f64> {
    let rates: Vec<f64> = block
        .slots
        .iter()
        .filter_map(|slot| idle_rates(slot, machine))
        .map(|rates| Rates::total(&rates))
        .collect();
    let differences: Vec<f64> = rates
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs() * 2.0 / (pair[0] + pair[1]))
        .collect();
    zc_stats::median(&differences)
}

/// Share of the machine's soaked CPUs that was used by neither zc's process there nor the kernel on
/// its behalf, over the block's soaked windows. Where both ends are on one machine, both processes
/// are zc's. What a server used that zc did not start is not known, so the idle windows alone
/// count.
pub fn foreign(block: &Block, header: &Header, machine: &Machine<'_>) -> Option<f64> {
    let irq_time = machine.irq_time;
    // A remote end with soakers of its own works on other CPUs.
    let shared = same_machine(header) && Machine::remote(header).is_none();
    let unknown = header.plan.has_unknown_processes();
    let (mut available_ns, mut unexplained_ns) = (0.0, 0.0);
    for slot in &block.slots {
        match slot {
            Slot::Idle(_) => {}
            Slot::Trial(trial) if trial.kind.is_soaked() && irq_time.is_some() && !unknown => {}
            Slot::Trial(_) => continue,
        }
        let Some((opened, closed)) = machine.edges(slot) else { continue };
        let Some((available, unexplained)) =
            unexplained(opened, closed, machine, irq_time == Some(true))
        else {
            continue;
        };
        available_ns += available;
        unexplained_ns += unexplained;
        if shared {
            unexplained_ns -= process_ns_of_the_other(slot, machine);
        }
    }
    (available_ns > 0.0).then(|| (unexplained_ns / available_ns).max(0.0))
}

/// CPU time of the process at the other end, in its own window of the same length.
fn process_ns_of_the_other(slot: &Slot, machine: &Machine<'_>) -> f64 {
    let other = machine.other_edges(slot);
    other.map_or(0.0, |(opened, closed)| {
        closed.process_cpu_ns.saturating_sub(opened.process_cpu_ns) as f64
    })
}

/// CPU time available in a window, and the part of it that no account explains. The clock is that
/// of /proc/stat, because the process's CPU time is read with it.
fn unexplained(
    opened: &Reading,
    closed: &Reading,
    machine: &Machine<'_>,
    irq_time: bool,
) -> Option<(f64, f64)> {
    let elapsed_ns = closed.stat.at_ns.checked_sub(opened.stat.at_ns).filter(|ns| *ns > 0)? as f64;
    let own_ns =
        closed.process_cpu_ns.checked_sub(opened.process_cpu_ns).filter(|ns| *ns > 0)? as f64;
    let ksoftirqd_ns = ksoftirqd_ns(opened, closed);
    let taken = |cpu: &CpuTicks| {
        cpu.steal.saturating_add(if irq_time { cpu.irq.saturating_add(cpu.softirq) } else { 0 })
    };
    let taken_ns = ticks_between(opened, closed, machine, taken)? as f64 * TICK_NS;
    let available_ns = elapsed_ns * machine.cpus.len() as f64;
    Some((available_ns, available_ns - own_ns - ksoftirqd_ns - taken_ns))
}

/// CPU time of ksoftirqd in a window: of the soaked CPUs since format 3.7, before it of all CPUs.
fn ksoftirqd_ns(opened: &Reading, closed: &Reading) -> f64 {
    if !opened.soak.ksoftirqd_ns.is_empty() {
        let by_cpu = std::iter::zip(&opened.soak.ksoftirqd_ns, &closed.soak.ksoftirqd_ns);
        return by_cpu.map(|(opened, closed)| closed.saturating_sub(*opened) as f64).sum();
    }
    match (opened.ksoftirqd_ns, closed.ksoftirqd_ns) {
        (Some(opened), Some(closed)) => closed.saturating_sub(opened) as f64,
        _ => 0.0,
    }
}

/// Ticks of some columns between two readings, summed over the soaked CPUs; `None` when a reading
/// lacks a CPU.
fn ticks_between(
    opened: &Reading,
    closed: &Reading,
    machine: &Machine<'_>,
    columns: impl Fn(&CpuTicks) -> u64,
) -> Option<u64> {
    Some(ticks_by_cpu(opened, closed, machine, columns)?.into_iter().fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{IdleWindow, Traffic, Trial};
    use zc_testkit::synthetic::{Synthetic, two_machines};

    fn reasons(world: &Synthetic) -> Vec<Option<Dropped>> {
        let run = world.run();
        run.blocks.iter().map(|block| drop_reason(block, &run.header)).collect()
    }

    fn small() -> Synthetic {
        Synthetic { blocks: 8, strict: true, ..Synthetic::default() }
    }

    #[test]
    fn a_block_whose_costs_are_by_own_clocks_is_kept_unless_the_run_is_strict() {
        let busy = |own_clocks, strict| {
            let world = Synthetic { steal_share: 0.03, foreign_share: 0.3, ..small() };
            let run = reasons(&Synthetic { own_clocks, strict, ..world });
            (run.iter().filter(|reason| reason.is_some()).count(), run.len())
        };
        assert_eq!(busy(true, false), (0, 8));
        for (own_clocks, strict) in [(true, true), (false, false), (false, true)] {
            assert_eq!(busy(own_clocks, strict), (8, 8), "{own_clocks} {strict}");
        }
    }

    #[test]
    fn a_quiet_machine_keeps_all_its_blocks() {
        assert!(reasons(&small()).iter().all(Option::is_none));
    }

    #[test]
    fn steal_drops_a_block_above_one_per_cent() {
        let run = reasons(&Synthetic { steal_share: 0.03, ..small() });
        assert!(
            run.iter()
                .all(|reason| matches!(reason, Some(Dropped::Steal { share }) if *share > 0.02)),
            "{run:?}"
        );
        assert!(reasons(&Synthetic { steal_share: 0.005, ..small() }).iter().all(Option::is_none));
    }

    #[test]
    fn the_remote_machine_has_the_same_rules() {
        let reasons_of_two = |world: Synthetic| {
            let run = two_machines(world.run());
            run.blocks.iter().map(|block| drop_reason(block, &run.header)).collect::<Vec<_>>()
        };
        assert!(
            reasons_of_two(small()).iter().all(Option::is_none),
            "{:?}",
            reasons_of_two(small())
        );
        let stolen = reasons_of_two(Synthetic { steal_share: 0.03, ..small() });
        assert!(
            stolen.iter().all(|reason| matches!(reason, Some(Dropped::Steal { .. }))),
            "{stolen:?}"
        );

        // Foreign work on the remote machine only.
        let mut run = zc_testkit::synthetic::two_machines(small().run());
        for slot in &mut run.blocks[0].slots {
            let (Slot::Idle(IdleWindow { remote, .. }) | Slot::Trial(Trial { remote, .. })) = slot;
            let window = remote.as_mut().unwrap();
            window.closed.process_cpu_ns -=
                (window.closed.process_cpu_ns - window.opened.process_cpu_ns) / 10;
        }
        assert!(matches!(drop_reason(&run.blocks[0], &run.header), Some(Dropped::Foreign { .. })));
        assert_eq!(drop_reason(&run.blocks[1], &run.header), None);
    }

    #[test]
    fn one_tick_of_steal_is_not_enough() {
        let mut run =
            Synthetic { cells: Synthetic::default().cells[..1].to_vec(), blocks: 1, ..small() }
                .run();
        let Some(Slot::Idle(last)) = run.blocks[0].slots.last_mut() else {
            panic!("a block ends idle")
        };
        last.closed.stat.cpus[0].steal += 1;
        let steal = steal(&run.blocks[0], &Machine::local(&run.header)).unwrap();
        assert!(steal.share() > STEAL_LIMIT && steal.ticks == 1);
        assert_eq!(drop_reason(&run.blocks[0], &run.header), None);
    }

    #[test]
    fn idle_rates_that_keep_jumping_drop_a_block_and_one_jump_does_not() {
        let run = reasons(&Synthetic { idle_noise: 0.3, ..small() });
        assert!(
            run.iter().all(|reason| matches!(reason, Some(Dropped::IdleDrift { .. }))),
            "{run:?}"
        );

        let mut run = Synthetic { blocks: 1, ..small() }.run();
        let Slot::Idle(window) = &mut run.blocks[0].slots[4] else { panic!("slot 4 is idle") };
        let (opened, closed) = (&window.opened.soak.units, &mut window.closed.soak.units);
        closed[0] -= (closed[0] - opened[0]) / 5;
        assert_eq!(drop_reason(&run.blocks[0], &run.header), None);
    }

    #[test]
    fn foreign_work_drops_a_block_above_two_per_cent() {
        let run = reasons(&Synthetic { foreign_share: 0.05, ..small() });
        let near = |share: f64| (share - 0.05).abs() < 0.01;
        assert!(
            run.iter()
                .all(|reason| matches!(reason, Some(Dropped::Foreign { share }) if near(*share))),
            "{run:?}"
        );
        assert!(reasons(&Synthetic { foreign_share: 0.01, ..small() }).iter().all(Option::is_none));
    }

    #[test]
    fn ksoftirqd_is_not_foreign_in_the_account_of_any_format() {
        let foreign_beside = |spoil: fn(&mut Reading, u64)| {
            let mut run = Synthetic { blocks: 1, foreign_share: 0.05, ..small() }.run();
            for slot in &mut run.blocks[0].slots {
                let (Slot::Idle(IdleWindow { opened, closed, .. })
                | Slot::Trial(Trial { opened, closed, .. })) = slot;
                // 5 % of two CPUs.
                for reading in [opened, closed] {
                    let ns = reading.stat.at_ns / 10;
                    spoil(reading, ns);
                }
            }
            foreign(&run.blocks[0], &run.header, &Machine::local(&run.header)).unwrap()
        };
        let by_cpu = |reading: &mut Reading, ns: u64| {
            if let Some(ksoftirqd_ns) = reading.soak.ksoftirqd_ns.last_mut() {
                *ksoftirqd_ns = ns;
            }
        };
        assert!(foreign_beside(|_, _| {}) > FOREIGN_LIMIT);
        assert!(foreign_beside(by_cpu) < FOREIGN_LIMIT);
        let of_all = |reading: &mut Reading, ns: u64| {
            reading.soak.ksoftirqd_ns.clear();
            reading.ksoftirqd_ns = Some(ns);
        };
        assert!(foreign_beside(of_all) < FOREIGN_LIMIT);
    }

    #[test]
    fn what_a_server_does_that_zc_did_not_start_is_not_foreign() {
        let mut run = Synthetic { blocks: 1, foreign_share: 0.05, ..small() }.run();
        run.header.plan.traffic = Traffic::Server(zc_testkit::server::ran_already());
        let foreign = |run: &zc_run::Run| {
            foreign(&run.blocks[0], &run.header, &Machine::local(&run.header)).unwrap()
        };
        assert!(foreign(&run) > FOREIGN_LIMIT, "in idle windows it is");
        for slot in &mut run.blocks[0].slots {
            if let Slot::Idle(IdleWindow { opened, closed, .. }) = slot {
                // zc itself had all of an idle window.
                let elapsed_ns = closed.stat.at_ns - opened.stat.at_ns;
                closed.process_cpu_ns = opened.process_cpu_ns + 2 * elapsed_ns;
            }
        }
        assert!(foreign(&run) < FOREIGN_LIMIT);
        run.header.plan.traffic.server_mut().unwrap().serve = Some("nginx".to_owned());
        assert!(foreign(&run) > FOREIGN_LIMIT, "beside a server of zc's it is");
    }

    #[test]
    fn interrupt_time_that_the_kernel_accounts_separately_is_not_foreign() {
        let mut run = Synthetic { blocks: 1, foreign_share: 0.05, ..small() }.run();
        // The same missing time, but the kernel accounts for it: 5 % of two CPUs, in ticks.
        let mut passed_ns = 0;
        for slot in &mut run.blocks[0].slots {
            let (Slot::Idle(IdleWindow { opened, closed, .. })
            | Slot::Trial(Trial { opened, closed, .. })) = slot;
            opened.stat.cpus[0].softirq = passed_ns / 10 / 10_000_000;
            passed_ns += closed.stat.at_ns - opened.stat.at_ns;
            closed.stat.cpus[0].softirq = passed_ns / 10 / 10_000_000;
        }
        run.header.host.irq_time_accounting = Some(true);
        assert!(
            foreign(&run.blocks[0], &run.header, &Machine::local(&run.header)).unwrap()
                < FOREIGN_LIMIT
        );
        run.header.host.irq_time_accounting = Some(false);
        assert!(
            foreign(&run.blocks[0], &run.header, &Machine::local(&run.header)).unwrap()
                > FOREIGN_LIMIT
        );
        run.header.host.irq_time_accounting = None;
        assert!(
            foreign(&run.blocks[0], &run.header, &Machine::local(&run.header)).unwrap()
                > FOREIGN_LIMIT
        );
    }

    #[test]
    fn a_block_without_readings_breaks_no_rule() {
        let run = small().run();
        let mut empty = run.blocks[0].clone();
        empty.slots.clear();
        assert_eq!(drop_reason(&empty, &run.header), None);
        let mut bare = run.blocks[0].clone();
        for slot in &mut bare.slots {
            let (Slot::Idle(IdleWindow { opened, closed, .. })
            | Slot::Trial(Trial { opened, closed, .. })) = slot;
            (*opened, *closed) = (Reading::default(), Reading::default());
        }
        assert_eq!(drop_reason(&bare, &run.header), None);
    }
}
