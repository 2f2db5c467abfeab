//! Choice of the account for the costs of a run: the clocks that they come from.

use zc_run::{Block, Header, Host};

use crate::less_others;
use crate::machine::Machine;
pub(crate) use crate::model::account_kind::{AccountKind, WhyWallTime};

/// The accounts by which costs may be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permitted {
    /// The best account that is available.
    Best,
    /// Wall time alone, as in runs without own clocks.
    WallTime,
}

impl AccountKind {
    /// The account of the trial in slot number `slot`.
    pub(crate) fn for_trial(
        block: &Block,
        slot: usize,
        header: &Header,
        permitted: Permitted,
    ) -> Self {
        let why = match why_not_own_clocks(block, slot, header) {
            None if permitted == Permitted::Best => return Self::OwnClocks,
            None => WhyWallTime::ComparedRun,
            Some(why) => why,
        };
        if permitted == Permitted::Best
            && why == WhyWallTime::InterruptsApart
            && less_others::is_available(block, slot, header)
        {
            return Self::WallLessOthers;
        }
        Self::WallTime { because: why }
    }

    /// The account of a block: that of its first soaked trial that has readings.
    pub(crate) fn for_block(block: &Block, header: &Header, permitted: Permitted) -> Self {
        let slots = 0..block.slots.len();
        let mut accounts = slots.map(|slot| Self::for_trial(block, slot, header, permitted));
        let not_read = Self::WallTime { because: WhyWallTime::NoClocks };
        accounts.find(|account| *account != not_read).unwrap_or(not_read)
    }

    /// The account of a run with these blocks; without any, as if nothing had been read.
    pub(crate) fn for_run<'b>(
        blocks: impl IntoIterator<Item = &'b Block>,
        header: &Header,
        permitted: Permitted,
    ) -> Self {
        let first =
            blocks.into_iter().next().map(|block| Self::for_block(block, header, permitted));
        first.unwrap_or(Self::WallTime { because: WhyWallTime::NoClocks })
    }

    /// The best account that a machine permits, where `has_cgroups` says whether the clocks of its
    /// top-level cgroups can be read.
    pub fn permitted_by(host: &Host, has_cgroups: bool) -> Self {
        match why_not_on(host.thread_clocks_tick(), host.irq_time_accounting) {
            None => Self::OwnClocks,
            Some(WhyWallTime::InterruptsApart) if has_cgroups => Self::WallLessOthers,
            Some(why) => Self::WallTime { because: why },
        }
    }

    /// Whether other programs' use of the CPUs is in no cost.
    pub fn leaves_others_out(self) -> bool {
        matches!(self, Self::OwnClocks | Self::WallLessOthers)
    }
}

/// Why task clocks of a machine cannot tell costs.
fn why_not_on(clocks_tick: bool, irq_time: Option<bool>) -> Option<WhyWallTime> {
    if clocks_tick {
        return Some(WhyWallTime::ClocksTick);
    }
    (irq_time == Some(true)).then_some(WhyWallTime::InterruptsApart)
}

fn why_not_own_clocks(block: &Block, slot: usize, header: &Header) -> Option<WhyWallTime> {
    let is_read = |machine: Machine<'_>| {
        let edges = machine.edges(&block.slots[slot]);
        edges.is_some_and(|(opened, _)| !opened.soak.cpu_ns.is_empty())
    };
    if !Machine::all(header).all(is_read) {
        return Some(WhyWallTime::NoClocks);
    }
    why_not_in(header)
}

/// Whether own clocks can tell the costs of a run with this header, if they are read.
pub(crate) fn own_clocks_can_tell(header: &Header) -> bool {
    why_not_in(header).is_none()
}

fn why_not_in(header: &Header) -> Option<WhyWallTime> {
    if !header.plan.has_all_clocks() {
        return Some(WhyWallTime::UnknownTasks);
    }
    let of_machine = |machine: Machine<'_>| why_not_on(machine.clocks_tick, machine.irq_time);
    Machine::all(header).find_map(of_machine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{Run, Traffic};
    use zc_testkit::synthetic::{Synthetic, two_machines};

    fn account(run: &Run) -> AccountKind {
        AccountKind::for_run(&run.blocks, &run.header, Permitted::Best)
    }

    fn small() -> Run {
        Synthetic { blocks: 1, ..Synthetic::default() }.run()
    }

    #[test]
    fn the_account_of_a_run_follows_from_its_kernel_and_its_format() {
        assert_eq!(account(&small()), AccountKind::OwnClocks);
        let old = Synthetic { blocks: 1, own_clocks: false, ..Synthetic::default() }.run();
        assert_eq!(account(&old), AccountKind::WallTime { because: WhyWallTime::NoClocks });
        let of_host = |change: fn(&mut zc_run::Host)| {
            let mut run = small();
            change(&mut run.header.host);
            account(&run)
        };
        assert_eq!(
            of_host(|host| host.irq_time_accounting = Some(true)),
            AccountKind::WallTime { because: WhyWallTime::InterruptsApart }
        );
        assert_eq!(of_host(|host| host.irq_time_accounting = None), AccountKind::OwnClocks);
        let ticks = AccountKind::WallTime { because: WhyWallTime::ClocksTick };
        assert_eq!(of_host(|host| host.thread_clock_step_ns = Some(4_000_000)), ticks);
        assert_eq!(of_host(|host| host.thread_clock_step_ns = Some(300)), AccountKind::OwnClocks);
        let mut empty = small();
        empty.blocks.clear();
        assert_eq!(account(&empty), AccountKind::WallTime { because: WhyWallTime::NoClocks });
    }

    #[test]
    fn a_machine_permits_what_its_kernel_s_clocks_can_tell() {
        let permitted = |irq_time, step_ns, has_cgroups| {
            let host = Host {
                irq_time_accounting: irq_time,
                thread_clock_step_ns: step_ns,
                ..Host::default()
            };
            AccountKind::permitted_by(&host, has_cgroups)
        };
        assert_eq!(permitted(Some(false), Some(200), true), AccountKind::OwnClocks);
        assert_eq!(permitted(None, None, false), AccountKind::OwnClocks);
        assert_eq!(permitted(Some(true), Some(200), true), AccountKind::WallLessOthers);
        let wall = |why| AccountKind::WallTime { because: why };
        assert_eq!(permitted(Some(true), None, false), wall(WhyWallTime::InterruptsApart));
        assert_eq!(permitted(Some(true), Some(1_000_000), true), wall(WhyWallTime::ClocksTick));
    }

    #[test]
    fn the_other_machine_s_kernel_counts_too() {
        let mut run = two_machines(small());
        assert_eq!(account(&run), AccountKind::OwnClocks);
        let far = run.header.remote.as_mut().and_then(|remote| remote.machine.as_mut()).unwrap();
        far.host.irq_time_accounting = Some(true);
        assert_eq!(account(&run), AccountKind::WallTime { because: WhyWallTime::InterruptsApart });
    }

    #[test]
    fn tasks_that_zc_does_not_know_need_wall_time() {
        let mut run = small();
        run.header.plan.traffic = Traffic::Server(zc_testkit::server::ran_already());
        assert_eq!(account(&run), AccountKind::WallTime { because: WhyWallTime::UnknownTasks });
    }
}
