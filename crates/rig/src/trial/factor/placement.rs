//! `placement`: which CPUs the threads of a trial may run on.

use super::effect::Effect;
use crate::path::SendSetup;
use zc_run::{Cell, FixedParams, LinkKind, Placement as Level, Unavailable};

pub(super) struct Placement;

impl Effect for Placement {
    /// Workers of io_uring may run where their submitters may.
    fn set_up(&self, _cell: &Cell, fixed: &FixedParams, setup: &mut SendSetup) {
        setup.cpu = setup.cpu.filter(|_| fixed.placement != Level::Free);
    }

    fn refuse(&self, _cell: &Cell, fixed: &FixedParams, link: LinkKind) -> Option<Unavailable> {
        let placement = fixed.placement;
        if placement == Level::Separate {
            return None;
        }
        let why = match link {
            LinkKind::Null => "the ACK generator of the null link needs a CPU of its own",
            LinkKind::Remote => "the two ends are on machines of their own",
            LinkKind::Loopback | LinkKind::Veth => return None,
        };
        Some(
            Unavailable::unsupported(format!("{why}, and this is placement \"{placement}\""))
                .remedy("take a link with a receiver: --link loopback or --link veth"),
        )
    }
}
