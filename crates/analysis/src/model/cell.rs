//! Estimates of one cell of the plan, as data.

use crate::unit::from_ns_per_kib;
use schemars::JsonSchema;
use serde::Serialize;

use super::figure::{Figure, RatioFigure, Sides};
use zc_run::{Levels, Transfer};

/// Ratios of a cell to its baseline that are of two kinds (Hartigans' dip test).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TwoStates {
    /// Median ratio of the blocks in the cheaper state.
    pub low: f64,
    /// Their number.
    pub low_blocks: usize,
    /// Median ratio of the blocks in the dearer state.
    pub high: f64,
    /// Their number.
    pub high_blocks: usize,
}

/// Estimates of one cell of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellEstimate {
    /// Label in the plan.
    pub label: String,
    /// What was transferred, and by what.
    #[serde(flatten)]
    pub transfer: Transfer,
    /// Its levels of the factors, which replace the fixed parameters of the plan.
    pub levels: Levels,
    /// Label of its baseline, the cell that its cost is divided by. `None`: it has no ratio,
    /// because it is a baseline itself.
    pub by: Option<String>,
    /// True for the reference of the plan.
    pub reference: bool,
    /// True for the controls, which are copies of the reference.
    pub control: bool,
    /// True for the positive control, to which a known cost is added.
    pub positive_control: bool,
    /// Kept blocks in which its soaked trial has a cost.
    pub blocks: usize,
    /// Soaked CPU time in ns per KiB: the median over blocks. Net of zc's own harness (its pacing
    /// and its meters) where the run measured that.
    #[serde(rename = "cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub cost_ns_per_kib: Sides<Figure>,
    /// The same as a mean: all CPU time divided by all bytes. It is what a capacity is planned
    /// with, and holds the bursts of everything else that used the machine.
    #[serde(rename = "mean_cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub mean_cost_ns_per_kib: Sides<f64>,
    /// The cost with the harness in it.
    #[serde(rename = "gross_cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub gross_cost_ns_per_kib: Sides<Figure>,
    /// Cost of the harness per KiB of this cell's traffic, on the CPUs of both sides: a sender that
    /// is woken in the same way and sends nothing. `None` in a run that did not measure it (before
    /// format 3.1, and under `zc profile`); its costs are gross.
    #[serde(rename = "harness_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub harness_ns_per_kib: Option<Figure>,
    /// CPU time of both sides in ns per KiB on a host that is idle otherwise, net of the harness:
    /// by the idle time that the traffic takes where no soaker runs. `None` where that was not
    /// measured (before format 3.3, to another machine, under `zc profile`), where /proc/uptime is
    /// not the kernel's, and where the rate is not held.
    #[serde(rename = "idle_host_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub idle_host_ns_per_kib: Option<Figure>,
    /// Soaked CPU time on CPUs other than the sender's and the receiver's, ns per KiB; `None`
    /// without such CPUs.
    #[serde(rename = "other_cpus_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub other_cpus_ns_per_kib: Option<Figure>,
    /// Cost divided by the cost of the cell that `by` names. Empty where it names none.
    pub ratio: Sides<RatioFigure>,
    /// The two states that the cell is in, block by block, where it has two; the ratio of both
    /// sides then lies between them.
    pub two_states: Option<TwoStates>,
    /// The cost of both sides is at the noise floor: its interval reaches 0.
    pub at_noise_floor: bool,
    /// The whole interval of the cost of both sides is below 0: a fault of the instrument.
    pub below_zero: bool,
    /// Kept blocks in which the cost of both sides is 0 or below.
    pub blocks_not_positive: usize,
    /// Gbit/s per CPU fully used, from `cost_ns_per_kib`: `sender` and `both` only.
    pub gbit_per_core: Sides<Figure>,
    /// Payload bytes per second, unpaced and unsoaked; `None` for paced clients.
    pub top_speed_bytes_per_s: Option<Figure>,
    /// Top speed divided by the speed of the memcpy probe in the same blocks, between uncached
    /// memory: the limit of a path that copies each byte once on one CPU.
    pub top_speed_by_memcpy: Option<Figure>,
    /// Effect of the soakers on the traffic.
    pub perturbation: Perturbation,
    /// Zero-copy completions that the kernel flagged as copied, divided by all completions, over
    /// whole trials of kept blocks; `None` without completions.
    pub copied_share: Option<f64>,
    /// More than half of a zero-copy path was copied. Its cost is the price of a failed zero-copy
    /// and says nothing about a link where zero-copy works.
    pub failed_zero_copy: bool,
    /// Calls, packets, interrupts and so on, over the soaked windows of kept blocks.
    pub traffic: Traffic,
    /// The cost by what was counted in these windows.
    pub cost_per: CostPer,
    /// State of the sockets as these windows closed.
    pub sockets: SocketState,
    /// Hardware events in these windows.
    pub events: CountedEvents,
    /// Costs of the same traffic by getrusage and /proc/stat.
    pub others: Others,
}

/// Soaked compared with unsoaked traffic at the same nominal rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Perturbation {
    /// Throughput with soakers divided by that of the unsoaked controls: median over blocks. `None`
    /// without unsoaked controls.
    pub soaked_by_unsoaked_control: Option<f64>,
    /// Rate reached with soakers divided by the cell's nominal rate: mean over windows, none of
    /// which counts by more than a burst beyond the others.
    pub soaked_by_nominal: Option<f64>,
    /// The same by the part of the nominal rate that the traffic had CPU time for beside other
    /// programs: less than 1 where it alone needs more CPU time than there is.
    pub soaked_by_possible: Option<f64>,
    /// Less than 98 % of the possible rate was reached: the cost was measured at saturation, not at
    /// a fixed rate.
    pub saturated: bool,
}

/// A cell that reached at least this share of its rate was measured at that rate.
pub(crate) const RATE_HELD: f64 = 0.98;

impl Perturbation {
    /// Whether the rate was not reached because other programs had the CPUs.
    pub fn is_held_back(&self) -> bool {
        !self.saturated && self.soaked_by_nominal.is_some_and(|share| share < RATE_HELD)
    }
}

/// Counters other than the soakers, as rates: sums over the soaked windows of kept blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Traffic {
    /// Payload bytes received in these windows.
    pub bytes: u64,
    /// Total length of the windows.
    pub elapsed_ns: u64,
    /// System calls of the sender per MB (10^6 bytes).
    pub send_calls_per_mb: Option<f64>,
    /// Times per MB (10^6 bytes) that the sender slept and was woken: voluntary context switches.
    pub wake_ups_per_mb: Option<f64>,
    /// System calls of the receiver per MB (10^6 bytes); `None` where they were not counted.
    pub recv_calls_per_mb: Option<f64>,
    /// Average size of the packets sent by the sending device in bytes, headers included (a GSO
    /// packet counts once).
    pub packet_bytes: Option<f64>,
    /// Packets sent by the sending device per second.
    pub packets_per_s: Option<f64>,
    /// Packets sent by the sending device per MB (10^6 bytes) of payload; `None` over the loopback
    /// device, which sends acknowledgements too.
    pub packets_per_mb: Option<f64>,
    /// Packets that TCP got at the receiving end per MB (10^6 bytes): one that GRO has merged, or
    /// that was never segmented, is one. `None` where that is unknown: the receiver is not a zc,
    /// others received beside it, there is a proxy, or it is of UDP.
    pub received_packets_per_mb: Option<f64>,
    /// Average size of these packets in bytes, without headers.
    pub received_packet_bytes: Option<f64>,
    /// Segments in such a packet on average, by the receiving sockets (tcpi_segs_in).
    pub segments_per_received_packet: Option<f64>,
    /// Segments that the sending sockets received per MB (10^6 bytes) of payload, by TCP_INFO
    /// (tcpi_segs_in): acknowledgements.
    pub acks_per_mb: Option<f64>,
    /// Average size of the packets received by the sending device in bytes, headers included
    /// (packets merged by GRO count separately).
    pub rx_packet_bytes: Option<f64>,
    /// Packets received by the sending device per second, nearly all of them acknowledgements.
    pub rx_packets_per_s: Option<f64>,
    /// Interrupts on the soaked CPUs per second, timers included.
    pub interrupts_per_s: Option<f64>,
    /// Voluntary and involuntary context switches of sender and receiver (of the sender, where only
    /// its cost is known) per MB (10^6 bytes).
    pub switches_per_mb: Option<f64>,
    /// Fragments of memory that the payload of a packet lies in, as TCP hands it to the card, which
    /// maps each for DMA: in the unsoaked trials, over the link `null`. `None` where they were not
    /// counted.
    pub fragments_per_packet: Option<f64>,
    /// Such fragments per MB (10^6 bytes).
    pub fragments_per_mb: Option<f64>,
    /// Bytes of datagrams that did not arrive, divided by those sent, over whole trials; `None` for
    /// streams.
    pub lost_share: Option<f64>,
    /// Retransmitted packets.
    pub retransmits: Option<u64>,
    /// ENOBUFS and ENOMEM answers to zero-copy sends.
    pub enobufs: u64,
    /// Calls that took fewer bytes than requested, divided by all calls.
    pub short_share: Option<f64>,
    /// Time limited by receive window or send buffer, by TCP_INFO.
    pub limited_by: Option<LimitedBy>,
    /// Bytes that were mapped instead of copied, divided by bytes received; `None` for receive
    /// paths other than zerocopy-receive.
    pub mapped_share: Option<f64>,
}

/// CPU time by packets, calls and acknowledgements, in microseconds: the median cost of a byte,
/// divided by how many of them there are per byte in the soaked windows. Their intervals are those
/// of the cost: how many there are is taken as known. `None` where they were not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct CostPer {
    /// For each packet of the sending device, of which a GSO packet is one; of the receiver for
    /// each packet that TCP got there, of which one that GRO has merged is one.
    pub us_per_packet: Sides<Figure>,
    /// For each system call of the side; of both ends for each of the sender.
    pub us_per_call: Sides<Figure>,
    /// For each acknowledgement that the sender received.
    pub us_per_ack: Sides<Figure>,
}

/// State of a cell's sockets by the kernel, whatever was asked for: medians over windows, of the
/// first flow. `None` where zc has none of them, or does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SocketState {
    /// Congestion control of the senders (TCP_CONGESTION); of several each once, with `, ` between.
    pub congestion: Option<String>,
    /// Payload of a segment (tcpi_snd_mss).
    pub mss_bytes: Option<u64>,
    /// Congestion window (tcpi_snd_cwnd).
    pub cwnd_packets: Option<u64>,
    /// Where slow start ends (tcpi_snd_ssthresh); `None` before the first loss.
    pub ssthresh_packets: Option<u64>,
    /// The sender's buffer (SO_SNDBUF), as set or as the kernel has tuned it.
    pub sndbuf_bytes: Option<u64>,
    /// The receiver's (SO_RCVBUF), likewise.
    pub rcvbuf_bytes: Option<u64>,
    /// What the receiver lets its window grow to (tcpi_rcv_ssthresh).
    pub rcv_ssthresh_bytes: Option<u64>,
    /// tcpi_pacing_rate: a limit where something paces; `None` without one.
    pub pacing_bytes_per_s: Option<u64>,
}

/// Hardware events per byte of payload on the CPUs of the flows, beyond those of the soakers, which
/// idle windows show: medians over blocks, with zc's own harness in them, and with what other
/// programs did. `None` without `--counters`, and where a flow may run on other CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct CountedEvents {
    /// Cycles.
    pub cycles_per_byte: Option<Figure>,
    /// Instructions.
    pub instructions_per_byte: Option<Figure>,
    /// Misses of the last level of the cache.
    pub llc_misses_per_byte: Option<Figure>,
    /// Share of the time in which they were counted; below 1 where other users of the counters had
    /// their turn, and counts are scaled up for that.
    pub counted_share: Option<f64>,
}

/// Shares of the connection's busy time, by TCP_INFO (tcpi_rwnd_limited, tcpi_sndbuf_limited over
/// tcpi_busy_time).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct LimitedBy {
    /// Limited by the receiver's window, 0 to 1.
    pub receive_window: f64,
    /// Limited by the send buffer, 0 to 1.
    pub send_buffer: f64,
}

/// Figures of other accounting methods for the same traffic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Others {
    /// CPU time of the sender and receiver threads in the soaked windows.
    pub getrusage_soaked: OtherMethod,
    /// The same in the unsoaked controls.
    pub getrusage_unsoaked_control: OtherMethod,
    /// Busy ticks (user, system, irq, softirq; not steal, and not nice, where the soakers' ticks
    /// are) of all soaked CPUs in the soaked windows. Only `both` exists. It includes whatever else
    /// ran, so its `by_soaked` divides by the cost of both sides and of the other CPUs together.
    pub proc_stat: OtherMethod,
    /// CPU time of an iperf3 server at the remote end by its own report, in ns per KiB; null for
    /// any other remote end.
    #[serde(rename = "far_process_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub far_process_ns_per_kib: Option<f64>,
}

/// Costs by one other accounting method.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct OtherMethod {
    /// Its cost over the windows of kept blocks, ns per KiB: the median by getrusage, the total by
    /// /proc/stat.
    #[serde(rename = "cost_us_per_mb", serialize_with = "from_ns_per_kib")]
    pub cost_ns_per_kib: Sides<f64>,
    /// Its cost divided by the soaked cost in the same form (median or total), which is gross as it
    /// is itself: 0.5 means that it misses half.
    pub by_soaked: Sides<f64>,
    /// Payload bytes in these windows.
    pub bytes: u64,
}
