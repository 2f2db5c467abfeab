//! The machine: what readers need to judge or reproduce the figures.

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
    /// The CPUs and their settings.
    pub cpu: CpuFacts,
    /// The size of the memory.
    pub memory: MemoryFacts,
    /// `kvm`, `xen` ... if a hypervisor is detected, [`EMULATOR`] if the CPU is emulated; null if
    /// neither is.
    pub hypervisor: Option<String>,
    /// Kernel timer frequency CONFIG_HZ; null if it is unknown.
    pub tick_hz: Option<u32>,
    /// CPU time accounting: whether CONFIG_IRQ_TIME_ACCOUNTING is on, so that no task clock
    /// contains interrupts and softirqs; null if that is unknown.
    pub irq_time_accounting: Option<bool>,
    /// Whether CONFIG_PARAVIRT_TIME_ACCOUNTING is on, so that no task clock contains steal; null if
    /// that is unknown (since format 3.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paravirt_time_accounting: Option<bool>,
    /// Whether CONFIG_VIRT_CPU_ACCOUNTING_GEN is built in: CPUs that run without ticks count the
    /// time of tasks at each entry to the kernel; null if that is unknown (since format 3.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virt_cpu_accounting: Option<bool>,
    /// The median step of a thread's CPU clock that is read over and over, in ns; null if it is
    /// unknown (since format 3.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_clock_step_ns: Option<u64>,
    /// `tsc`, `kvm-clock` ...
    pub clocksource: Option<String>,
    /// Vulnerabilities and mitigations, by file name of /sys/devices/system/cpu/vulnerabilities.
    pub mitigations: std::collections::BTreeMap<String, String>,
    /// sysctls that affect sending, by name, with the value as read.
    pub sysctls: std::collections::BTreeMap<String, String>,
    /// Other settings of the kernel, and facilities in the path of packets, that change costs, by
    /// name: transparent huge pages, init_on_alloc, the preemption model, an IOMMU, the microcode
    /// ... (since format 3.2).
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub conditions: std::collections::BTreeMap<String, String>,
    /// RLIMIT_MEMLOCK in bytes; null is unlimited.
    pub memlock_bytes: Option<u64>,
    /// RLIMIT_NOFILE.
    pub nofile: Option<u64>,
    /// Effective user id of zc.
    pub euid: u32,
}

/// The value of [`Host::hypervisor`] for a machine whose CPU is emulated: QEMU without hardware
/// virtualization, its Tiny Code Generator.
pub const EMULATOR: &str = "qemu-tcg";

/// The name of the meter of `zc doctor` that reads the clocks of the top-level cgroups.
pub const CGROUP_CLOCKS: &str = "clocks of cgroups";

/// Why no cost of an emulated machine is shown.
pub const WHY_EMULATED: &str = "the CPU of this machine is emulated: its instructions take what \
                                their translations take, so nothing has a cost here; what is \
                                counted holds";

/// Remedy: machines that have costs.
pub const INSTEAD_OF_EMULATED: &str = "use a machine of its own, or a virtual one with KVM";

/// Why soakers tell nothing in a cgroup that may use fewer CPUs than are soaked: they use all that
/// it may, and then everything in it is throttled.
pub fn why_throttled(quota_cpus: f64, soaked: usize) -> String {
    format!(
        "this cgroup may use {quota_cpus:.2} CPUs and {soaked} are soaked: the kernel will stop \
         all of them in turns"
    )
}

/// Remedy for throttled soakers.
pub const INSTEAD_OF_THROTTLED: &str =
    "run outside of the container, or without its CPU limit (docker: no --cpus)";

/// A thread clock with longer steps than this, in ns, tells nothing about a window of 80 ms.
const LONG_STEP_NS: u64 = 100_000;

/// Whether a thread clock with such steps advances by ticks, as where the kernel has no better
/// clock than jiffies.
pub fn clock_ticks(step_ns: Option<u64>) -> bool {
    step_ns.is_some_and(|step_ns| step_ns > LONG_STEP_NS)
}

impl Host {
    /// Whether thread clocks advance by ticks.
    pub fn thread_clocks_tick(&self) -> bool {
        clock_ticks(self.thread_clock_step_ns)
    }

    /// Whether the CPU is emulated. An instruction then takes what its translation takes on another
    /// CPU: no time that is spent there tells what anything costs.
    pub fn is_emulated(&self) -> bool {
        self.hypervisor.as_deref() == Some(EMULATOR)
    }
}

/// The CPUs and their current settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuFacts {
    /// Model name of the first CPU.
    pub model: String,
    /// Number of online CPUs.
    pub online: usize,
    /// CPUs that this process may use.
    pub allowed: Vec<usize>,
    /// Threads per core.
    pub threads_per_core: Option<usize>,
    /// Frequency governor of the first CPU; null when there is no cpufreq.
    pub governor: Option<String>,
    /// Whether turbo/boost is on; null if that is unknown.
    pub boost: Option<bool>,
    /// Size of the last-level cache in bytes.
    pub llc_bytes: Option<u64>,
    /// Number of NUMA nodes.
    pub numa_nodes: Option<usize>,
}

/// The memory and how much is available.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryFacts {
    /// MemTotal in bytes.
    pub total_bytes: u64,
    /// MemAvailable in bytes.
    pub available_bytes: u64,
}
