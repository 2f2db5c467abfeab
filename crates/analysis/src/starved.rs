//! Whether other programs leave so little of the CPUs that not even own clocks tell a cost.

use crate::account_kind::{AccountKind, Permitted};
use crate::costs::trial_costs;
use crate::machine::Machine;
use crate::own_clock;
use crate::plan_index::PlanIndex;
use zc_run::{Block, Run};

/// The CPUs of this machine whose soakers hardly ran, in a run none of whose cells has a cost
/// because of it. Empty in any other run, and where the costs are not by own clocks.
pub fn starved_cpus(run: &Run) -> Vec<usize> {
    let kept: Vec<&Block> = run.blocks.iter().filter(|block| block.dropped.is_none()).collect();
    let account = AccountKind::for_run(kept.iter().copied(), &run.header, Permitted::Best);
    if account != AccountKind::OwnClocks {
        return Vec::new();
    }
    let starved = own_clock::starved(&kept, &Machine::local(&run.header));
    if starved.is_empty() {
        return starved;
    }
    let costs = trial_costs(&kept, &run.header, &PlanIndex::new(&run.header.plan));
    if costs.iter().flatten().any(Option::is_some) { Vec::new() } else { starved }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::Slot;
    use zc_testkit::synthetic::Synthetic;

    /// A run whose soaker at this place had a share of what it would have had otherwise.
    fn beside(share: f64, place: usize, world: Synthetic) -> Run {
        let mut run = world.run();
        for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
            let (opened, closed) = match slot {
                Slot::Idle(idle) => (&idle.opened, &mut idle.closed),
                Slot::Trial(trial) => (&trial.opened, &mut trial.closed),
            };
            let (from, to) = (&opened.soak, &mut closed.soak);
            let shares = [(&from.units, &mut to.units), (&from.cpu_ns, &mut to.cpu_ns)];
            for (from, to) in shares {
                if let (Some(from), Some(to)) = (from.get(place), to.get_mut(place)) {
                    *to = from + ((*to - from) as f64 * share) as u64;
                }
            }
        }
        run
    }

    #[test]
    fn a_cpu_that_another_program_has_all_the_time_is_found_where_the_costs_need_it() {
        let world = || Synthetic { blocks: 4, ..Synthetic::default() };
        let cpus = world().run().header.plan.fixed.soaked_cpus;
        assert_eq!(starved_cpus(&beside(0.003, 0, world())), [cpus[0]]);
        assert_eq!(starved_cpus(&beside(0.003, 1, world())), [cpus[1]]);
        assert_eq!(starved_cpus(&beside(0.5, 0, world())), Vec::<usize>::new());
        assert_eq!(starved_cpus(&world().run()), Vec::<usize>::new());
        let by_wall = Synthetic { own_clocks: false, ..world() };
        assert_eq!(starved_cpus(&beside(0.003, 0, by_wall)), Vec::<usize>::new());
    }

    #[test]
    fn one_block_with_costs_is_enough() {
        let mut run = beside(0.003, 0, Synthetic { blocks: 40, ..Synthetic::default() });
        let whole = Synthetic { blocks: 40, ..Synthetic::default() }.run();
        assert!(!starved_cpus(&run).is_empty());
        run.blocks[30] = whole.blocks[30].clone();
        assert_eq!(starved_cpus(&run), Vec::<usize>::new());
    }
}
