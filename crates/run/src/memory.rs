//! What `zc run memory` has seen: how long each walk over each working set took, block after block. Speeds and ratios are
//! computed from these by `estimate`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Host, MemoryLoop, SupportRow};

/// A data cache, or one for data and instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// 1 is next to the CPU.
    pub level: u8,
    /// Its size.
    pub bytes: u64,
    /// The CPUs that share it, as the kernel lists them: `0-1`.
    pub shared_by: Option<String>,
}

/// The memory that a visit walks over, both buffers together where there are two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemorySet {
    /// Its size.
    pub bytes: u64,
    /// The level of the smallest cache that holds it; null when none does.
    pub level: Option<u8>,
    /// Whether it is larger than the cache of level 2, where memcpy is the bound of the folded loop.
    pub beyond_l2: bool,
    /// The folded loop that zc takes for a set of this size: chosen by its size, before anything is measured.
    pub folded: MemoryLoop,
}

/// One loop over one set, once. Passes that bring the set into the caches come before it and are not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryVisit {
    /// The place of the set in [`MemoryRun::sets`].
    pub set: usize,
    /// What was done.
    pub name: MemoryLoop,
    /// Passes over the set.
    pub passes: u64,
    /// Bytes read, or written where nothing is read, or copied: in all passes together, each counted once.
    pub bytes: u64,
    /// CLOCK_MONOTONIC.
    pub elapsed_ns: u64,
    /// CPU time of the thread meanwhile: less than `elapsed_ns` where something else had the CPU.
    pub cpu_ns: u64,
}

/// Every loop over every set once, in a random order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryBlock {
    /// In the order in which they were made.
    pub visits: Vec<MemoryVisit>,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRun {
    /// The version of zc that measured.
    pub zc_version: String,
    /// The machine.
    pub host: Host,
    /// The CPU that everything ran on.
    pub cpu: usize,
    /// Its caches, by level.
    pub caches: Vec<Cache>,
    /// Whether the caches are those that the kernel tells; if not, usual ones were assumed.
    pub caches_known: bool,
    /// /sys/kernel/mm/transparent_hugepage/enabled; null where it cannot be read. The memory is asked for without madvise(2).
    pub huge_pages: Option<String>,
    /// The seed of the order.
    pub seed: u64,
    /// The time that there was.
    pub budget_ns: u64,
    /// The working sets, smallest first.
    pub sets: Vec<MemorySet>,
    /// What was left out or made smaller than wanted, and why: a sentence each.
    pub left_out: Vec<String>,
    /// Loops that cannot be had here.
    pub unavailable: Vec<SupportRow>,
    /// The blocks that were finished.
    pub blocks: Vec<MemoryBlock>,
}
