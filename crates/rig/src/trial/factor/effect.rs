//! The hooks by which a factor changes a trial.

use std::os::fd::BorrowedFd;

use crate::path::SendSetup;
use zc_kernel::tcp::Unconnected;
use zc_run::{Cell, FixedParams, LinkKind, Result, Unavailable};

/// The hooks of one factor, in the order in which a trial calls them. `fixed` holds the parameters
/// with the cell's levels in place.
pub(crate) trait Effect: Sync {
    /// Changes what the cell's send path is built from.
    fn set_up(&self, _cell: &Cell, _fixed: &FixedParams, _setup: &mut SendSetup) {}

    /// Why the cell cannot run over a link of this kind; `None` if it can.
    fn refuse(&self, _cell: &Cell, _fixed: &FixedParams, _link: LinkKind) -> Option<Unavailable> {
        None
    }

    /// Prepares the sender's socket before it connects.
    ///
    /// # Errors
    /// The kernel refuses.
    fn before_connect(&self, _socket: &Unconnected, _fixed: &FixedParams) -> Result<()> {
        Ok(())
    }

    /// Prepares the sender's socket once it is connected, before it sends anything.
    ///
    /// # Errors
    /// The kernel refuses.
    fn connected(&self, _socket: BorrowedFd<'_>, _fixed: &FixedParams) -> Result<()> {
        Ok(())
    }

    /// Prepares the sender's socket after the last piece, before the path drains.
    ///
    /// # Errors
    /// The kernel refuses.
    fn before_drain(&self, _socket: BorrowedFd<'_>, _fixed: &FixedParams) -> Result<()> {
        Ok(())
    }
}
