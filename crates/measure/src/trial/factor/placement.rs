//! `placement`: which CPUs the threads of a trial may run on.

use super::super::cell_config::CellConfig;
use super::Effect;
use crate::path::SendSetup;
use zc_run::{Cell, FixedParams, LinkKind, Placement as Level, Unavailable};

pub(super) struct Placement;

/// The CPUs that threads may run on whose side has the CPU `pinned`.
pub(in crate::trial) fn cpus(fixed: &FixedParams, pinned: usize) -> Vec<usize> {
    match fixed.placement {
        Level::Separate | Level::Same => vec![pinned],
        Level::Free => fixed.soaked_cpus.clone(),
    }
}

impl Effect for Placement {
    /// Workers of io_uring go where their submitters may go.
    fn set_up(&self, _cell: &Cell, fixed: &FixedParams, setup: &mut SendSetup) {
        setup.cpu = setup.cpu.filter(|_| fixed.placement != Level::Free);
    }

    fn refuse(&self, config: &CellConfig, link: LinkKind) -> Option<Unavailable> {
        let placement = config.fixed.placement;
        if placement == Level::Separate {
            return None;
        }
        let why = match link {
            LinkKind::Null => "the far end of the null link needs a CPU of its own",
            LinkKind::Remote => "the two ends are on machines of their own",
            LinkKind::Loopback | LinkKind::Veth => return None,
        };
        Some(
            Unavailable::unsupported(format!("{why}, and this is placement \"{placement}\""))
                .remedy("take a link with a receiver: --link loopback or --link veth"),
        )
    }
}
