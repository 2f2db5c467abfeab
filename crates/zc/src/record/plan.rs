//! What was to be measured: the cells, what was held fixed, and how long each part of a trial takes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LinkKind, RecvPath, SendPath, SoakerKind};

/// One combination of factor levels that is measured once in every block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Unique in the plan: the path's name, or `read+send (A/A)` for the control.
    pub label: String,
    /// How the bytes are sent.
    pub send: SendPath,
    /// How they are received.
    pub recv: RecvPath,
    /// True for the second copy of the reference: same path, another name.
    pub control: bool,
}

/// The lengths that make up a trial and its idle window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// Thrown away before each window: a path's first milliseconds are not its steady state.
    pub warmup_ns: u64,
    /// The measured part.
    pub window_ns: u64,
    /// An idle window beside each trial.
    pub idle_ns: u64,
    /// An unsoaked window (top speed and twin).
    pub unsoaked_ns: u64,
}

/// What every cell of the plan has in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FixedParams {
    /// The link's kind.
    pub link: LinkKind,
    /// The rate at which cost is measured, in payload bytes per second, over all flows.
    pub rate_bytes_per_s: f64,
    /// True when zc chose the rate from the measured top speeds, false when the user gave it.
    pub rate_chosen: bool,
    /// The pacer sends for one such period at a time and then sleeps until the next is due.
    pub burst_ns: u64,
    /// Bytes per call for paths with a user-space buffer.
    pub buffer_bytes: usize,
    /// Bytes per call on the receiving side.
    pub recv_buffer_bytes: usize,
    /// The largest piece of a file that is handed to a path at once; at a rate, no larger than a burst's bytes rounded up to
    /// a power of two.
    pub piece_bytes: usize,
    /// Connections at a time, each with its own sender and receiver thread.
    pub flows: usize,
    /// TCP congestion control of both ends.
    pub congestion: String,
    /// SO_SNDBUF as asked for; null leaves the kernel's autotuning on.
    pub sndbuf_bytes: Option<usize>,
    /// SO_RCVBUF as asked for; null leaves the kernel's autotuning on.
    pub rcvbuf_bytes: Option<usize>,
    /// The CPU that sender threads are pinned to.
    pub sender_cpu: usize,
    /// The CPU that receiver threads are pinned to.
    pub receiver_cpu: usize,
    /// Every CPU that carries a soaker, in the order of all per-CPU vectors of the run.
    pub soaked_cpus: Vec<usize>,
    /// What the soakers do.
    pub soaker: SoakerKind,
}

/// Which bytes are sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSetFacts {
    /// `generated` or `given`.
    pub origin: String,
    /// How many files.
    pub files: usize,
    /// Their lengths added up.
    pub total_bytes: u64,
    /// The shortest file.
    pub min_bytes: u64,
    /// The longest file.
    pub max_bytes: u64,
    /// The kind of file system the first file lies on, as statfs(2) tells: `ext4`, `tmpfs`, `0x...`.
    pub filesystem: String,
    /// Given paths that were left out, and why (one sentence each).
    pub skipped: Vec<String>,
}

/// The whole plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// `paths`.
    pub experiment: String,
    /// The label of the cell that ratios refer to.
    pub reference: String,
    /// What is measured, in the order in which it was asked for.
    pub cells: Vec<Cell>,
    /// What all cells share.
    pub fixed: FixedParams,
    /// How long the parts of a trial are.
    pub timing: Timing,
    /// The file set.
    pub files: FileSetFacts,
    /// The seed of the order.
    pub seed: u64,
    /// The time budget, everything included.
    pub budget_ns: u64,
    /// Half-width of every ratio's interval at which the run may stop early: 0.025 is +-2.5 %.
    pub target: f64,
}
