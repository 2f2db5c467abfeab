//! The observations of `zc run memory`: how long each loop over each working set took, by block.
//! `zc-analysis` computes speeds and ratios from these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Host, MemoryLoop, SupportRow};

/// A data cache, or one for data and instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// 1 is next to the CPU.
    pub level: u8,
    /// Size in bytes.
    pub bytes: u64,
    /// The CPUs that share it, as the kernel lists them: `0-1`.
    pub shared_by: Option<String>,
}

/// A working set: the memory of a visit, with both buffers if there are two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemorySet {
    /// Size in bytes.
    pub bytes: u64,
    /// The level of the smallest cache that holds it; null if none does.
    pub level: Option<u8>,
    /// Whether it is larger than the level-2 cache: there memcpy is the bound of the folded loop.
    pub beyond_l2: bool,
    /// The folded loop that zc uses for a set of this size, chosen before anything is measured.
    pub folded: MemoryLoop,
}

/// One loop over one set, once. The passes that bring the set into the caches do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryVisit {
    /// The index of the set in [`MemoryRun::sets`].
    pub set: usize,
    /// The loop.
    pub name: MemoryLoop,
    /// Passes over the set.
    pub passes: u64,
    /// Bytes read, or written if nothing is read, or copied, in all passes together, each counted
    /// once.
    pub bytes: u64,
    /// Duration of all passes by CLOCK_MONOTONIC.
    pub elapsed_ns: u64,
    /// CPU time of the thread meanwhile: less than `elapsed_ns` if something else used the CPU.
    pub cpu_ns: u64,
}

/// Every loop over every set once, in a random order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryBlock {
    /// The visits, in the order in which they were made.
    pub visits: Vec<MemoryVisit>,
}

/// A run of the experiment `memory`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRun {
    /// The version of zc that measured.
    pub zc_version: String,
    /// The machine.
    pub host: Host,
    /// The CPU of all measurements.
    pub cpu: usize,
    /// Its caches, by level.
    pub caches: Vec<Cache>,
    /// Whether the caches are those that the kernel reports; otherwise common ones were assumed.
    pub caches_known: bool,
    /// /sys/kernel/mm/transparent_hugepage/enabled; null if it cannot be read. The memory is
    /// allocated without madvise(2).
    pub huge_pages: Option<String>,
    /// The seed of the order.
    pub seed: u64,
    /// The time budget.
    pub budget_ns: u64,
    /// The working sets, smallest first.
    pub sets: Vec<MemorySet>,
    /// Working sets left out or made smaller, and why: one sentence each.
    pub left_out: Vec<String>,
    /// Loops that are not available here.
    pub unavailable: Vec<SupportRow>,
    /// The blocks that were finished.
    pub blocks: Vec<MemoryBlock>,
}
