//! The estimates of one cell of the plan.

use crate::unit::from_ns_per_kib;
use schemars::JsonSchema;
use serde::Serialize;

use super::figure::{Figure, RatioFigure, Sides};
use zc_run::{Levels, RecvPath, SendPath};

/// One cell of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellEstimate {
    /// As in the plan.
    pub label: String,
    /// As in the plan.
    pub send: SendPath,
    /// As in the plan.
    pub recv: RecvPath,
    /// What it has in place of what the plan holds fixed.
    pub levels: Levels,
    /// The label of the cell that its ratio refers to. `None`: it has no ratio, because it is what others refer to.
    pub by: Option<String>,
    /// True for the plan's own reference alone.
    pub reference: bool,
    /// True for the second copy of the reference.
    pub control: bool,
    /// KeptBlocks blocks in which its soaked trial gave a cost.
    pub blocks: usize,
    /// Soaked CPU time in ns per KiB.
    #[serde(rename = "cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub cost_ns_per_kib: Sides<Figure>,
    /// Soaked CPU time on CPUs that are neither the sender's nor the receiver's, ns per KiB; `None` when there are none.
    #[serde(rename = "other_cpus_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub other_cpus_ns_per_kib: Option<Figure>,
    /// Cost by the cost of the cell that `by` names. Empty where it names none.
    pub ratio: Sides<RatioFigure>,
    /// The cost of both sides does not stand out of the noise: its interval reaches 0, or its ratio had to be taken
    /// from ranked differences.
    pub at_noise_floor: bool,
    /// KeptBlocks blocks in which the cost of both sides came out at 0 or below.
    pub blocks_not_positive: usize,
    /// Gbit/s that one CPU's worth of time carries, from `cost_ns_per_kib`: `sender` and `both` only.
    pub gbit_per_core: Sides<Figure>,
    /// Payload bytes per second, unpaced and unsoaked.
    pub top_speed_bytes_per_s: Option<Figure>,
    /// That by the speed of the memcpy probe of the same blocks, from and to memory that is in no cache: the roof of a path that
    /// copies each byte once on one CPU.
    pub top_speed_by_memcpy: Option<Figure>,
    /// What the soakers did to the traffic.
    pub perturbation: Perturbation,
    /// Zero-copy completions that the kernel flagged as copied by all completions, over all windows of kept blocks;
    /// `None` when there were no completions.
    pub copied_share: Option<f64>,
    /// A zero-copy path of which more than half was copied here: what it costs is the price of a failed zero-copy, and
    /// says nothing about zero-copy on a link where it works.
    pub failed_zero_copy: bool,
    /// Calls, packets, interrupts and so on, over the soaked windows of kept blocks.
    pub traffic: Traffic,
    /// What getrusage and /proc/stat would have said.
    pub others: Others,
}

/// Soaked against unsoaked traffic at the same nominal rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Perturbation {
    /// Throughput with soakers by throughput of the twin trials without: median over blocks. `None` without twins.
    pub soaked_by_unsoaked_control: Option<f64>,
    /// Rate that was reached under soakers by the cell's nominal rate: all bytes by all time.
    pub soaked_by_nominal: Option<f64>,
    /// Less than 98 % of the nominal rate was reached: this cell's cost was taken at saturation, not at a fixed rate.
    pub saturated: bool,
}

/// What was counted beside the soakers, as rates. Sums over the soaked windows of kept blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Traffic {
    /// Payload bytes received in all these windows.
    pub bytes: u64,
    /// The windows' lengths added up.
    pub elapsed_ns: u64,
    /// System calls of the sender per MB (10^6 bytes).
    pub send_calls_per_mb: Option<f64>,
    /// System calls of the receiver per MB (10^6 bytes); `None` where nobody counted them.
    pub recv_calls_per_mb: Option<f64>,
    /// Average packet of the sending device in bytes, headers included (a GSO packet counts once).
    pub packet_bytes: Option<f64>,
    /// Packets of the sending device per second.
    pub packets_per_s: Option<f64>,
    /// Average packet that the sending device received in bytes, headers included (merged by GRO they count apart).
    pub rx_packet_bytes: Option<f64>,
    /// Packets that the sending device received per second: acknowledgements, nearly all of them.
    pub rx_packets_per_s: Option<f64>,
    /// Interrupts on the soaked CPUs per second, timers included.
    pub interrupts_per_s: Option<f64>,
    /// Voluntary and involuntary context switches of sender and receiver (of the sender, where it is alone) per MB (10^6
    /// bytes).
    pub switches_per_mb: Option<f64>,
    /// Packets sent again.
    pub retransmits: Option<u64>,
    /// ENOBUFS and ENOMEM answers to zero-copy sends.
    pub enobufs: u64,
    /// Calls that took fewer bytes than they were given, by all calls.
    pub short_share: Option<f64>,
    /// What held the sender back, by TCP_INFO.
    pub limited_by: Option<LimitedBy>,
    /// Bytes that were mapped, not copied, by bytes received; `None` for receive paths other than zerocopy-receive.
    pub mapped_share: Option<f64>,
}

/// Shares of the connection's busy time, by TCP_INFO (tcpi_rwnd_limited, tcpi_sndbuf_limited over tcpi_busy_time).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct LimitedBy {
    /// The receiver's window was closed.
    pub receive_window: f64,
    /// The send buffer was full.
    pub send_buffer: f64,
}

/// The figures of other accounting methods for the same traffic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Others {
    /// Thread CPU time of the sender and receiver threads in the soaked windows themselves.
    pub getrusage_soaked: OtherMethod,
    /// The same in the twin trials, where no soaker ran.
    pub getrusage_unsoaked_control: OtherMethod,
    /// Busy ticks (user, system, irq, softirq; not steal, and not nice, where the soakers' ticks are) of all soaked CPUs in
    /// the soaked windows. Only `both` exists; it holds whatever else ran, so its `by_soaked` is against both sides and
    /// elsewhere together.
    pub proc_stat: OtherMethod,
    /// What an iperf3 server at the far end says that its own process used, in ns per KiB; null for any other far end.
    #[serde(rename = "far_process_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub far_process_ns_per_kib: Option<f64>,
}

/// What one other method says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct OtherMethod {
    /// Its cost: sums over the windows of kept blocks, ns per KiB.
    #[serde(rename = "cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub cost_ns_per_kib: Sides<f64>,
    /// Its cost by the soaked cost (`CellEstimate::cost_ns_per_kib`): 0.5 means that it misses half.
    pub by_soaked: Sides<f64>,
    /// Bytes that it rests on.
    pub bytes: u64,
}
