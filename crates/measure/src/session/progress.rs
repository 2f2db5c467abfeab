//! The callbacks by which a session reports its progress.
//!
//! Every call is made between trials: the work of the callee (estimates, drawing) costs budget,
//! never accuracy.

use std::time::Duration;

use zc_remote::carry::Carried;
use zc_run::{Run, Warning};

/// Receives the progress of a run.
pub trait Progress {
    /// A step before the first block, in a few words: `bringing up veth`, `top speed of sendfile`.
    fn preparing(&mut self, what: &str, left: Duration);

    /// A program is about to be sent to the other machine.
    fn carrying(&mut self, carried: &Carried);

    /// The next trial is about to begin.
    fn trial(&mut self, next: Next<'_>);

    /// The last of `run.blocks` is complete, counted or dropped, and saved.
    fn block_done(&mut self, run: &Run);

    /// A warning found during the run. Those in the header are printed with the result.
    fn warning(&mut self, warning: &Warning);
}

/// The trial that is about to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next<'a> {
    /// The block, counted from 0.
    pub block: usize,
    /// Label of the cell to be measured.
    pub cell: &'a str,
    /// Which trial of the block it is, counted from 0.
    pub trial: usize,
    /// Number of trials in a block.
    pub trials: usize,
    /// Time left of the budget.
    pub left: Duration,
}

/// Ignores everything: for tests, and for runs without a display.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn preparing(&mut self, _what: &str, _left: Duration) {}
    fn carrying(&mut self, _carried: &Carried) {}
    fn trial(&mut self, _next: Next<'_>) {}
    fn block_done(&mut self, _run: &Run) {}
    fn warning(&mut self, _warning: &Warning) {}
}
