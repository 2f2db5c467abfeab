//! What a session tells whoever watches it.
//!
//! Every call is made between trials: what the watcher does (estimates, drawing) costs budget, never accuracy.

use std::time::Duration;

use zc_run::{Header, Run, Warning};

/// Watches a run.
pub trait Progress {
    /// Something before the first block, in a few words: `bringing up veth`, `top speed of sendfile`.
    fn preparing(&mut self, what: &str, left: Duration);

    /// Everything that is known before the first block.
    fn started(&mut self, header: &Header);

    /// The next trial is about to begin.
    fn trial(&mut self, next: Next<'_>);

    /// The last of `run.blocks` is complete, counted or dropped, and saved.
    fn block_done(&mut self, run: &Run);

    /// Found during the run. (Those in the header come with [`started`](Self::started).)
    fn warning(&mut self, warning: &Warning);
}

/// A trial about to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next<'a> {
    /// The block, counted from 0.
    pub block: usize,
    /// The cell's label.
    pub cell: &'a str,
    /// Which trial of the block it is, counted from 0.
    pub trial: usize,
    /// How many trials a block has.
    pub trials: usize,
    /// What is left of the budget.
    pub left: Duration,
}

/// Watches nothing: for tests, and where nobody looks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn preparing(&mut self, _what: &str, _left: Duration) {}
    fn started(&mut self, _header: &Header) {}
    fn trial(&mut self, _next: Next<'_>) {}
    fn block_done(&mut self, _run: &Run) {}
    fn warning(&mut self, _warning: &Warning) {}
}
