//! CPU time of the soaked CPUs that other programs used while a run was measured, by own clocks:
//! the wall time of each soaked window, less the clocks of the soakers, of the traffic's threads
//! and of ksoftirqd, and less what the hypervisor took. Interrupts on their time are in it.

use crate::kept::KeptBlocks;
use crate::machine::{Machine, is_emulated};
use crate::model::account_kind::AccountKind;
use crate::model::estimates::{CpuShare, OtherPrograms};
use crate::own_clock;
use zc_run::{Header, LinkKind, Placement, Slot, Traffic, TrialKind};

/// CPU time that other programs used in the soaked windows of the blocks that count: in idle
/// windows alone where not all threads that work for the traffic are known. `None` where costs are
/// by wall time, on an emulated machine, and without such a window.
pub(super) fn cpu_shares(kept: &KeptBlocks) -> Option<OtherPrograms> {
    if kept.account != AccountKind::OwnClocks || is_emulated(kept.header) {
        return None;
    }
    let header = kept.header;
    let machines: Vec<Machine<'_>> = Machine::all(header).collect();
    let used: Vec<Used> =
        machines.iter().enumerate().map(|(at, machine)| used(kept, machine, at == 0)).collect();
    let available_ns: f64 = used.iter().map(|used| used.elapsed_ns * used.cpus as f64).sum();
    if available_ns <= 0.0 {
        return None;
    }
    let by_cpu = match used.first() {
        Some(local) if local.is_placed => local.shares(machines[0].cpus, counted(header)),
        _ => Vec::new(),
    };
    let share = used.iter().map(|used| used.all_ns).sum::<f64>() / available_ns;
    Some(OtherPrograms {
        share: share.clamp(0.0, 1.0),
        cpus: used.iter().map(|used| used.cpus).sum(),
        by_cpu,
        windows: kept.windows,
        windows_left_out: kept.windows_left_out,
    })
}

/// CPU time that other programs used on one machine.
struct Used {
    elapsed_ns: f64,
    /// Number of CPUs that count.
    cpus: usize,
    /// CPU time on all of them together.
    all_ns: f64,
    /// CPU time on each CPU of the machine, where each thread of the traffic has a CPU.
    by_cpu_ns: Vec<f64>,
    is_placed: bool,
}

impl Used {
    fn shares(&self, cpus: &[usize], counted: impl Fn(usize) -> bool) -> Vec<CpuShare> {
        std::iter::zip(cpus, &self.by_cpu_ns)
            .filter(|(cpu, _)| counted(**cpu))
            .map(|(cpu, ns)| CpuShare { cpu: *cpu, share: (ns / self.elapsed_ns).clamp(0.0, 1.0) })
            .collect()
    }
}

/// The CPUs that count: not that of the null link's ACK generator, which is zc's.
fn counted(header: &Header) -> impl Fn(usize) -> bool {
    let fixed = &header.plan.fixed;
    let not_counted = (fixed.link == LinkKind::Null).then_some(fixed.receiver_cpu);
    move |cpu| Some(cpu) != not_counted
}

fn used(kept: &KeptBlocks, machine: &Machine<'_>, is_local: bool) -> Used {
    let header = kept.header;
    let plan = &header.plan;
    let counted = counted(header);
    let counts = |place: usize| !is_local || counted(machine.cpus[place]);
    let mut used = Used {
        elapsed_ns: 0.0,
        cpus: (0..machine.cpus.len()).filter(|place| counts(*place)).count(),
        all_ns: 0.0,
        by_cpu_ns: vec![0.0; machine.cpus.len()],
        is_placed: !matches!(plan.traffic, Traffic::Server(_) | Traffic::Nfs(_)),
    };
    let unknown = plan.has_unknown_processes();
    for slot in kept.blocks.iter().flat_map(|block| &block.slots) {
        let trial = match slot {
            Slot::Idle(_) => None,
            Slot::Trial(trial)
                if matches!(trial.kind, TrialKind::Soaked | TrialKind::Paced) && !unknown =>
            {
                Some(trial)
            }
            Slot::Trial(_) => continue,
        };
        let Some((elapsed_ns, left_ns)) = own_clock::left_over(slot, machine) else { continue };
        used.elapsed_ns += elapsed_ns;
        used.all_ns +=
            (0..left_ns.len()).filter(|at| counts(*at)).map(|at| left_ns[at]).sum::<f64>();
        std::iter::zip(&mut used.by_cpu_ns, left_ns).for_each(|(sum, ns)| *sum += ns);
        let Some((trial, (opened, closed))) = trial.zip(machine.edges(slot)) else { continue };
        let Some(cell) = kept.index.cell(&trial.cell) else { continue };
        let fixed = plan.fixed.at(&cell.levels);
        used.is_placed &= fixed.placement != Placement::Free;
        let threads = [
            (fixed.sender_cpu, closed.sender.cpu_ns.saturating_sub(opened.sender.cpu_ns)),
            (fixed.receiver_cpu, closed.receiver.cpu_ns.saturating_sub(opened.receiver.cpu_ns)),
        ];
        for (cpu, ns) in threads {
            let place = machine.cpus.iter().position(|each| *each == cpu);
            if is_local && !counted(cpu) {
                continue;
            }
            used.all_ns -= ns as f64;
            if let Some(place) = place {
                used.by_cpu_ns[place] -= ns as f64;
            }
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_testkit::synthetic::{Synthetic, null_link, two_machines};

    fn found(run: &zc_run::Run) -> Option<OtherPrograms> {
        cpu_shares(&KeptBlocks::from_run(run))
    }

    #[test]
    fn the_share_of_other_programs_comes_back_whatever_the_traffic_and_the_hypervisor_take() {
        for (foreign_share, steal_share) in [(0.0, 0.0), (0.25, 0.0), (0.25, 0.1)] {
            let world = Synthetic { foreign_share, steal_share, blocks: 5, ..Synthetic::default() };
            for run in [world.run(), two_machines(world.run()), null_link(world.run())] {
                let found = found(&run).unwrap();
                // It includes what interrupts took from them.
                let off = found.share - foreign_share;
                assert!((-0.01..0.3 * foreign_share + 0.01).contains(&off), "{found:?}");
                assert_eq!(found.windows, 50);
            }
        }
        let run = Synthetic { own_clocks: false, ..Synthetic::default() }.run();
        assert_eq!(found(&run), None);
    }

    #[test]
    fn each_cpu_has_its_share_and_that_of_the_ack_generator_does_not_count() {
        let mut run = Synthetic { blocks: 5, ..Synthetic::default() }.run();
        for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
            let (Slot::Idle(zc_run::IdleWindow { opened, closed, .. })
            | Slot::Trial(zc_run::Trial { opened, closed, .. })) = slot;
            if let Some(cpu_ns) = closed.soak.cpu_ns.get_mut(1) {
                *cpu_ns -= (closed.soak.at_ns - opened.soak.at_ns) * 4 / 10;
            }
        }
        let by_cpu = |run: &zc_run::Run| {
            let found = found(run).unwrap();
            let shares = found.by_cpu.iter().map(|of| (of.cpu, (of.share * 10.0).round()));
            ((found.share * 10.0).round(), shares.collect::<Vec<_>>())
        };
        assert_eq!(by_cpu(&run), (2.0, vec![(0, 0.0), (1, 4.0)]));
        assert_eq!(by_cpu(&null_link(run.clone())), (0.0, vec![(0, 0.0)]));
        run.header.plan.fixed.placement = Placement::Free;
        assert_eq!(by_cpu(&run), (2.0, vec![]));
    }
}
