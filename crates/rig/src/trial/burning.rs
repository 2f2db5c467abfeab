//! Burns a known cost in softirq context, for cells that have one.

use std::sync::{Arc, OnceLock};

use super::worker::TrialError;
use crate::link::explain_bpf;
use zc_kernel::bpf::AckBurn;
use zc_run::{Cell, Unavailable};

/// The program that burns, loaded when it is first asked for.
#[derive(Debug, Default)]
pub(super) struct SoftirqBurner(OnceLock<std::result::Result<Arc<AckBurn>, Unavailable>>);

impl SoftirqBurner {
    /// The program.
    ///
    /// # Errors
    /// It cannot be had, with the reason.
    pub(super) fn program(&self) -> std::result::Result<Arc<AckBurn>, Unavailable> {
        let load = || AckBurn::load().map(Arc::new).map_err(|error| explain_bpf(&error));
        self.0.get_or_init(load).clone()
    }

    /// The program, if the cell needs it.
    ///
    /// # Errors
    /// The cell needs it, and it cannot be had.
    pub(super) fn for_cell(
        &self,
        cell: &Cell,
    ) -> std::result::Result<Option<Arc<AckBurn>>, TrialError> {
        let needed = cell.burn_softirq_ns_per_mb.map(|_| self.program());
        needed.transpose().map_err(TrialError::CannotRun)
    }
}
