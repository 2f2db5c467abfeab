//! The meters at one moment. A window is two readings; all values only grow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SoftirqCounts;

/// All meters at one edge of a window. Times are CLOCK_MONOTONIC in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// The soakers: read last when a window opens and first when it closes.
    pub soak: SoakReading,
    /// CPU time of the soakers, of the threads of the flows and their io_uring workers, and of the
    /// thread that reads all this; read right before /proc/stat. From the threads' own clocks:
    /// CLOCK_PROCESS_CPUTIME_ID lags by up to a tick for every thread that is running on another
    /// CPU (kernel/sched/cputime.c, thread_group_cputime).
    pub process_cpu_ns: u64,
    /// The sum over sender threads. Idle windows have no values of flows.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub sender: TaskReading,
    /// The sum over receiver threads.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub receiver: TaskReading,
    /// Counts of the senders.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub sent: SendCounts,
    /// Counts of the receivers.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub received: RecvCounts,
    /// TCP_INFO of the sending sockets, summed where that is meaningful.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpReading>,
    /// Packets that TCP got where the flows' bytes are received; null where that is unknown (since
    /// format 4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<DeliveredReading>,
    /// /proc/stat.
    pub stat: StatReading,
    /// /proc/softirqs per soaked CPU.
    pub softirqs: SoftirqCounts,
    /// Device interrupts per soaked CPU, all sources of /proc/interrupts added up, timers included.
    pub interrupts: Vec<u64>,
    /// Packets and bytes of the sending device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkCounters>,
    /// CPU time of the ksoftirqd threads of the soaked CPUs together, read with /proc/stat; only in
    /// runs before format 3.7, which has it in [`SoakReading::ksoftirqd_ns`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ksoftirqd_ns: Option<u64>,
    /// Idle time of all CPUs of the machine together, the second number of /proc/uptime, which has
    /// steps of 10 ms: it was read within one period of bursts after such a step. Only where
    /// unsoaked controls and unsoaked paced trials open and close; null where the machine has no
    /// such clock (since format 3.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ns: Option<u64>,
    /// CPU time that was burned in softirq context on the sender's CPU: only of cells that do
    /// ([`Cell::burn_softirq_ns_per_mb`](crate::Cell::burn_softirq_ns_per_mb); since format 3.5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burned_ns: Option<u64>,
    /// A soaker's units of work that were burned beside a server, on its CPU: only in runs of a
    /// server (since format 4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burned_units: Option<u64>,
    /// Hardware events on the CPUs of the flows, read with the soakers: only in runs with
    /// `--counters` (since format 4).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<CpuCounts>,
    /// CPU time of all top-level cgroups together (`usage_usec` of their cpu.stat), zc's own
    /// included, read right before `process_cpu_ns`: only where no task clock contains interrupts,
    /// cgroup v2 is mounted and every CPU has a soaker (since format 3.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroups_ns: Option<u64>,
}

fn is_nothing<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Counters of the soakers, per CPU in the order of `FixedParams::soaked_cpus`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SoakReading {
    /// When the counters were read.
    pub at_ns: u64,
    /// Units of fixed work done so far. Empty while the soakers are stopped.
    pub units: Vec<u64>,
    /// When each soaker finished the last of its units.
    pub stamp_ns: Vec<u64>,
    /// CPU time of each soaker until then, by its thread clock (CLOCK_THREAD_CPUTIME_ID); empty in
    /// runs before format 3.7.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_ns: Vec<u64>,
    /// CPU time of the ksoftirqd thread of each CPU, read at `at_ns`; empty where it cannot be read
    /// and in runs before format 3.7.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ksoftirqd_ns: Vec<u64>,
}

/// Hardware events of one CPU so far, whatever ran there, soakers included (perf_event_open(2)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuCounts {
    /// The CPU's number.
    pub cpu: usize,
    /// Time for which they were to be counted.
    pub enabled_ns: u64,
    /// Time of it in which they were: less where other users of the counters had their turn.
    pub running_ns: u64,
    /// PERF_COUNT_HW_CPU_CYCLES.
    pub cycles: u64,
    /// PERF_COUNT_HW_INSTRUCTIONS.
    pub instructions: u64,
    /// PERF_COUNT_HW_CACHE_MISSES: misses of the last level of the cache.
    pub llc_misses: u64,
}

/// CPU time of a set of threads: what getrusage(RUSAGE_THREAD) adds up to (utime + stime).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskReading {
    /// When it was read.
    pub at_ns: u64,
    /// Thread CPU time (CLOCK_THREAD_CPUTIME_ID of each thread, added up).
    pub cpu_ns: u64,
    /// Voluntary context switches; read together with /proc/stat, not at `at_ns`.
    pub voluntary_switches: u64,
    /// Involuntary context switches; read together with /proc/stat, not at `at_ns`.
    pub involuntary_switches: u64,
}

/// CPU time of threads in user mode and in the kernel, by getrusage(2). The kernel splits the sum
/// in proportion to the ticks in each mode, so over a short time only the sum is exact
/// (kernel/sched/cputime.c, cputime_adjust).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Time in user mode (ru_utime).
    pub user_ns: u64,
    /// Time in the kernel (ru_stime).
    pub system_ns: u64,
    /// Elapsed time; of several threads the longest.
    pub elapsed_ns: u64,
}

impl Usage {
    /// Adds what another thread used in the same time.
    pub fn add(&mut self, other: &Self) {
        let Self { user_ns, system_ns, elapsed_ns } = other;
        self.user_ns += user_ns;
        self.system_ns += system_ns;
        self.elapsed_ns = self.elapsed_ns.max(*elapsed_ns);
    }
}

/// Counts of a send path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendCounts {
    /// Payload bytes taken by the socket.
    pub bytes: u64,
    /// System calls made, waits for completions included.
    pub calls: u64,
    /// Zero-copy sends that the kernel has reported as completed.
    pub completions: u64,
    /// Of these, the sends that it flagged as copied.
    pub copied: u64,
    /// ENOBUFS or ENOMEM answers to zero-copy sends: the limit of pinned or option memory was
    /// reached.
    pub enobufs: u64,
    /// Calls that sent fewer bytes than requested.
    pub short: u64,
    /// Bytes that the socket took around the payload: headers and tags of TLS records (since
    /// format 4).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub framing_bytes: u64,
}

/// Counts of a receive path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecvCounts {
    /// Payload bytes taken out of the socket.
    pub bytes: u64,
    /// System calls made.
    pub calls: u64,
    /// Bytes that were mapped instead of copied (zerocopy-receive only).
    pub mapped_bytes: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl SendCounts {
    /// Adds the counts of another thread.
    pub fn add(&mut self, other: &Self) {
        let Self { bytes, calls, completions, copied, enobufs, short, framing_bytes } = other;
        self.bytes += bytes;
        self.calls += calls;
        self.completions += completions;
        self.copied += copied;
        self.enobufs += enobufs;
        self.short += short;
        self.framing_bytes += framing_bytes;
    }

    /// The payload in `wire_bytes` of what the socket took: a receiver that does not look into
    /// records counts those.
    pub fn payload(&self, wire_bytes: u64) -> u64 {
        if self.framing_bytes == 0 {
            return wire_bytes;
        }
        let taken = self.bytes.saturating_add(self.framing_bytes);
        (u128::from(wire_bytes) * u128::from(self.bytes) / u128::from(taken)) as u64
    }
}

impl RecvCounts {
    /// Adds the counts of another thread.
    pub fn add(&mut self, other: &Self) {
        let Self { bytes, calls, mapped_bytes } = other;
        self.bytes += bytes;
        self.calls += calls;
        self.mapped_bytes += mapped_bytes;
    }
}

/// TCP_INFO (include/uapi/linux/tcp.h) of the sending sockets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpReading {
    /// When it was read.
    pub at_ns: u64,
    /// tcpi_bytes_sent (retransmissions included).
    pub bytes_sent: u64,
    /// tcpi_bytes_acked.
    pub bytes_acked: u64,
    /// tcpi_bytes_retrans.
    pub bytes_retrans: u64,
    /// tcpi_total_retrans.
    pub total_retrans: u64,
    /// tcpi_segs_out.
    pub segs_out: u64,
    /// tcpi_segs_in.
    pub segs_in: u64,
    /// tcpi_busy_time.
    pub busy_us: u64,
    /// tcpi_rwnd_limited.
    pub rwnd_limited_us: u64,
    /// tcpi_sndbuf_limited.
    pub sndbuf_limited_us: u64,
    /// tcpi_snd_mss of the first flow.
    pub snd_mss: u32,
    /// tcpi_snd_cwnd of the first flow.
    pub snd_cwnd: u32,
}

/// Packets that TCP got in the network namespace of the receivers, and the segments in them. GRO
/// merges segments into a packet before TCP has it. TCP then counts the packet once (`tcp_v4_rcv`
/// in net/ipv4/tcp_ipv4.c), and each socket all of its segments (`tcp_segs_in` in
/// include/net/tcp.h).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveredReading {
    /// When it was read.
    pub at_ns: u64,
    /// `Tcp: InSegs` of /proc/net/snmp: packets that TCP got, whoever they were for.
    pub packets: u64,
    /// tcpi_segs_in of the receiving sockets: segments that they got.
    pub segs_in: u64,
    /// tcpi_bytes_received of the receiving sockets.
    pub bytes: u64,
    /// Segments of all packets of IP, whoever they were for: `IpExt: InNoECTPkts` and its three
    /// siblings in /proc/net/netstat, and those of /proc/net/snmp6 (`ip_rcv_core` in
    /// net/ipv4/ip_input.c). Beyond those of the flows, others received there. Null where the
    /// namespace is the link's own, in which nobody else does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_segs_in: Option<u64>,
}

/// /proc/stat, per soaked CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatReading {
    /// When it was read.
    pub at_ns: u64,
    /// Ticks (USER_HZ, 10 ms) per CPU.
    pub cpus: Vec<CpuTicks>,
    /// `ctxt`: context switches of the machine.
    pub context_switches: u64,
    /// `intr`: interrupts of the machine.
    pub interrupts: u64,
}

/// One cpuN line of /proc/stat, in USER_HZ ticks. `guest` is already in `user` and is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTicks {
    /// Time in user mode.
    pub user: u64,
    /// Time in user mode at a positive nice value.
    pub nice: u64,
    /// Time in the kernel.
    pub system: u64,
    /// Idle time.
    pub idle: u64,
    /// Idle time while I/O was outstanding.
    pub iowait: u64,
    /// Time in hard interrupts.
    pub irq: u64,
    /// Time in softirqs.
    pub softirq: u64,
    /// Time that the hypervisor took.
    pub steal: u64,
}

/// Counters of a network device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkCounters {
    /// When they were read.
    pub at_ns: u64,
    /// Packets sent (a GSO packet counts once).
    pub tx_packets: u64,
    /// Bytes sent, headers included.
    pub tx_bytes: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Bytes received, headers included.
    pub rx_bytes: u64,
    /// Packets dropped, both ways.
    pub dropped: u64,
}
