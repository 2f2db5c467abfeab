//! `push`: MSG_MORE, and the final push of what MSG_MORE or TCP_CORK delayed. TCP_CORK and
//! TCP_NODELAY are in the factor's definition.

use std::os::fd::BorrowedFd;

use super::effect::Effect;
use crate::path::{More, SendSetup};
use zc_run::{Cell, Error, FixedParams, LinkKind, Push as Level, Result, Unavailable};

pub(super) struct Push;

impl Effect for Push {
    fn set_up(&self, _cell: &Cell, fixed: &FixedParams, setup: &mut SendSetup) {
        setup.more = match fixed.push {
            Level::Plain | Level::Cork | Level::Nodelay => More::Never,
            Level::File => More::Inside,
            Level::More => More::Always,
        };
    }

    fn refuse(&self, cell: &Cell, fixed: &FixedParams, _link: LinkKind) -> Option<Unavailable> {
        (matches!(fixed.push, Level::More | Level::File) && cell.transfer.is_of_datagrams()).then(
            || Unavailable::unsupported("MSG_MORE would join what this path sends as datagrams"),
        )
    }

    fn before_drain(&self, socket: BorrowedFd<'_>, fixed: &FixedParams) -> Result<()> {
        if matches!(fixed.push, Level::Cork | Level::More) {
            // Otherwise the last packet, if it is not full, leaves 200 ms later, and its completion
            // is as late.
            zc_kernel::tcp::set_nodelay(socket, true)
                .map_err(|error| Error::os("set TCP_NODELAY", error))?;
        }
        Ok(())
    }
}
