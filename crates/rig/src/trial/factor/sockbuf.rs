//! `sockbuf`: SO_SNDBUF of the sender. SO_RCVBUF is set on the listening socket
//! (`trial::receiving`), so that the window scale of the connection fits it.

use std::os::fd::BorrowedFd;

use super::effect::Effect;
use zc_run::{Cell, Error, FixedParams, LinkKind, Result, Unavailable};

pub(super) struct Sockbuf;

impl Effect for Sockbuf {
    fn refuse(&self, cell: &Cell, _fixed: &FixedParams, link: LinkKind) -> Option<Unavailable> {
        (link == LinkKind::Remote && cell.levels.sockbuf_bytes.is_some()).then(|| {
            Unavailable::unsupported("the server has one SO_RCVBUF for a whole run").remedy(
                "one size at a time, by --rcvbuf and --sndbuf; or a link inside this machine",
            )
        })
    }

    fn connected(&self, socket: BorrowedFd<'_>, fixed: &FixedParams) -> Result<()> {
        fixed.sndbuf_bytes.map_or(Ok(()), |bytes| {
            zc_kernel::tcp::set_sndbuf(socket, bytes)
                .map_err(|error| Error::os("set SO_SNDBUF", error))
        })
    }
}
