//! The session's interface to the analysis while it measures. This crate imports no analysis: the
//! caller of a session passes one in.

use zc_run::{Block, Dropped, Header, Run};

/// Judges blocks while a run goes on. Called between blocks, never during a trial.
pub trait Interim {
    /// Why a block that was measured to its end does not count, by the rules fixed before the run;
    /// `None` if it counts.
    fn drop_reason(&self, block: &Block, header: &Header) -> Option<Dropped>;

    /// Carries out an interim analysis if one is due when this share (0 to 1) of the budget is
    /// spent.
    fn look(&mut self, run: &Run, spent_share: f64) -> InterimResult;

    /// Why going on is of no use when this share (0 to 1) of the budget is spent; `None` to go on.
    fn hopeless(&mut self, run: &Run, spent_share: f64) -> Option<Hopeless>;

    /// Whether the costs of such a run leave out what other programs and the hypervisor took.
    fn leaves_others_out(&self, header: &Header) -> bool;
}

/// Why going on is of no use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hopeless {
    /// No block counts, for this reason.
    NothingKept(String),
    /// Another program has this CPU all the time.
    CpuTaken(usize),
}

/// Result of asking for an interim analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterimResult {
    /// No analysis was due.
    NotDue,
    /// One was carried out, and some interval is wider than the target.
    GoOn,
    /// One was carried out, and every interval is within the target.
    Stop,
    /// One was carried out in a run that is to end so, and every comparison is decided.
    Decided,
}
