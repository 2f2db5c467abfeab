//! The steps before the first block: each is announced, and can be interrupted.

use super::budget::Budget;
use super::progress::Progress;
use super::states::States;
use zc_kernel::clock::{monotonic_ns, sleep_until_or_stop};
use zc_kernel::stop::Stop;
use zc_run::{Cell, Error, HostState, Result};

/// State that the steps before the first block share.
pub(super) struct Steps<'a> {
    pub(super) budget: &'a Budget,
    /// The host states, in a run that has them.
    pub(super) states: Option<&'a mut States>,
    pub(super) stop: &'a Stop,
    pub(super) progress: &'a mut dyn Progress,
}

/// The error of a run that was interrupted before its first block.
pub(super) fn interrupted() -> Error {
    Error::interrupted("interrupted before anything was measured")
}

/// Whether preparing goes on.
///
/// # Errors
/// `stop` is set.
pub(super) fn go_on(stop: &Stop) -> Result<()> {
    if stop.is_set() { Err(interrupted()) } else { Ok(()) }
}

impl Steps<'_> {
    /// Announces the next step.
    pub(super) fn say(&mut self, what: &str) {
        self.progress.preparing(what, self.budget.left());
    }

    /// Prepares for a trial of a cell: brings the host into the cell's state and announces the
    /// step.
    ///
    /// # Errors
    /// The run was interrupted, its budget is spent, or the host cannot be brought into that state.
    pub(super) fn enter(&mut self, cell: &Cell, what: &str) -> Result<()> {
        self.enter_state(cell.levels.state.as_ref())?;
        let what = format!("{what} {}", cell.label);
        self.say(&what);
        self.goes_on(&what)
    }

    /// Whether preparing goes on with `what`, which comes next or has failed.
    ///
    /// # Errors
    /// The run was interrupted, or its budget is spent.
    pub(super) fn goes_on(&self, what: &str) -> Result<()> {
        go_on(self.stop)?;
        self.budget.allows(what)
    }

    /// Brings the host into a state, if there is one.
    ///
    /// # Errors
    /// Same as [`enter`](Self::enter).
    pub(super) fn enter_state(&mut self, state: Option<&HostState>) -> Result<()> {
        go_on(self.stop)?;
        if let (Some(states), Some(state)) = (self.states.as_deref_mut(), state) {
            let settling_ns = states.enter(state)?.unwrap_or_default().as_nanos() as u64;
            sleep_until_or_stop(monotonic_ns() + settling_ns, self.stop);
        }
        go_on(self.stop)
    }
}
