//! The machine: what a reader must know to believe or repeat the figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine and its kernel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// uname's node name.
    pub hostname: String,
    /// uname's release: `6.18.44`.
    pub kernel_release: String,
    /// uname's version (build) string.
    pub kernel_version: String,
    /// uname's machine: `x86_64`.
    pub machine: String,
    /// /proc/cmdline.
    pub kernel_command_line: Option<String>,
    /// The CPUs.
    pub cpu: CpuFacts,
    /// The memory.
    pub memory: MemoryFacts,
    /// `kvm`, `xen` ... when a hypervisor is seen; null on bare metal as far as can be seen.
    pub hypervisor: Option<String>,
    /// Kernel timer frequency CONFIG_HZ, when it can be found.
    pub tick_hz: Option<u32>,
    /// CPU time accounting: whether CONFIG_IRQ_TIME_ACCOUNTING is on, when it can be found.
    pub irq_time_accounting: Option<bool>,
    /// `tsc`, `kvm-clock` ...
    pub clocksource: Option<String>,
    /// Vulnerabilities and mitigations, by file name of /sys/devices/system/cpu/vulnerabilities.
    pub mitigations: std::collections::BTreeMap<String, String>,
    /// sysctls that matter to sending: name to value as read.
    pub sysctls: std::collections::BTreeMap<String, String>,
    /// RLIMIT_MEMLOCK in bytes; null is unlimited.
    pub memlock_bytes: Option<u64>,
    /// RLIMIT_NOFILE.
    pub nofile: Option<u64>,
    /// Effective user id.
    pub euid: u32,
}

/// The CPUs as they stand.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuFacts {
    /// Model name.
    pub model: String,
    /// CPUs online.
    pub online: usize,
    /// CPUs that this process may use.
    pub allowed: Vec<usize>,
    /// Threads per core.
    pub threads_per_core: Option<usize>,
    /// Frequency governor of the first CPU; null when there is no cpufreq.
    pub governor: Option<String>,
    /// Whether turbo/boost is on; null when it cannot be seen.
    pub boost: Option<bool>,
    /// Size of the last-level cache in bytes.
    pub llc_bytes: Option<u64>,
    /// NUMA nodes.
    pub numa_nodes: Option<usize>,
}

/// The memory as it stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryFacts {
    /// MemTotal in bytes.
    pub total_bytes: u64,
    /// MemAvailable in bytes.
    pub available_bytes: u64,
}
