//! The interface through which a session measures, block by block.

use zc_run::{BlockSamples, Cell, IdleWindow, Latencies, Result, Trial, TrialKind, Warning};

/// The rig of zc's own paths ([`Rig`](super::Rig)), or that of a server
/// (`zc_servers::ServerRig`).
pub trait Bench {
    /// Prepares for block number `block`.
    ///
    /// # Errors
    /// Something that the trials of the block need is gone.
    fn begin_block(&mut self, block: usize) -> Result<()>;

    /// The host has been put into another state: a server may have other processes now.
    fn state_was_entered(&mut self) {}

    /// Resumes the soakers (soaked trials and idle windows) or pauses them.
    ///
    /// # Errors
    /// The other machine is gone.
    fn soak(&mut self, on: bool) -> Result<()>;

    /// Measures a window in which nothing is sent. The soakers must be running.
    ///
    /// # Errors
    /// A meter that could be read before cannot be read now.
    fn idle(&mut self) -> Result<IdleWindow>;

    /// Runs a cell once, as a trial of the given kind. Nothing of the trial is left when it
    /// returns.
    ///
    /// # Errors
    /// The trial failed: the reason, as one sentence.
    fn run(&mut self, cell: &Cell, kind: TrialKind) -> Result<Trial>;

    /// Draws anew what outlives trials and may have been a matter of luck. The soakers must be
    /// paused.
    ///
    /// # Errors
    /// It cannot be drawn: what was there stays.
    fn redraw(&mut self) -> Result<()>;

    /// The samples taken since the last call, if any are taken.
    fn samples(&mut self) -> Option<BlockSamples>;

    /// A warning if a packet sniffer is on the link now.
    fn sniffers(&self) -> Option<Warning>;

    /// Whether the block that was begun last counts: what is collected over the blocks that count
    /// is added or thrown away.
    fn block_ended(&mut self, counts: bool);

    /// Latencies of the requests of each cell, in the blocks that count; empty where there are no
    /// requests.
    fn latencies(&self) -> Vec<Latencies>;
}
