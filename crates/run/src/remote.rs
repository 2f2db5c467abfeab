//! The other machine of a run over the link `remote`, and its readings.
//!
//! It has its own clock. Its readings are compared only with one another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DeviceFacts, Host, Reading};

/// Round trips that the usual warm-up of a trial is lengthened by: slow start doubles the window
/// with each, and a connection is in its steady state after them.
pub const ROUND_TRIPS_TO_WARM_UP: u64 = 20;

/// Shortest usual window, in round trips, so that acknowledgements are spread evenly over it.
pub const ROUND_TRIPS_IN_A_WINDOW: u64 = 4;

/// The kind of the far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PeerKind {
    /// `zc serve`: it measures too.
    Zc,
    /// An iperf3 server: it reports getrusage of its process.
    Iperf3,
    /// A discard port: it receives bytes and reports nothing.
    Discard,
}

/// The far end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RemoteFacts {
    /// Its kind.
    pub kind: PeerKind,
    /// The address that the bytes go to.
    pub address: String,
    /// The round-trip time that the kernel measured on the first connection (tcpi_min_rtt).
    pub rtt_ns: u64,
    /// The zc that measures there; null if there is none.
    pub machine: Option<RemoteMachine>,
}

/// The far machine, if a zc measures there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RemoteMachine {
    /// The version of zc there.
    pub zc_version: String,
    /// The machine.
    pub host: Host,
    /// Whether it is the sender's machine, in another network namespace or container: then the two
    /// ends use the same CPUs and their costs cannot be separated.
    pub same_machine: bool,
    /// The CPU that receiver threads are pinned to.
    pub receiver_cpu: usize,
    /// The CPUs that carry a soaker there, in the order of all per-CPU vectors of its readings: all
    /// that it may use; on the same machine those that the sender's end does not soak.
    pub soaked_cpus: Vec<usize>,
    /// The device by which it answers the sender; null if that is unknown (since format 3.6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceFacts>,
}

/// All meters of the far machine at both edges of its window, by its own clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RemoteWindow {
    /// Reading as the window opened.
    pub opened: Reading,
    /// Reading as it closed.
    pub closed: Reading,
    /// The first receiver's socket as it closed, until that is in
    /// [`SocketFacts`](crate::SocketFacts): in saved runs always absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<ReceiverSocket>,
}

/// State of a socket that receives, according to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiverSocket {
    /// SO_RCVBUF, as the kernel has tuned it or twice what was asked for.
    pub rcvbuf_bytes: usize,
    /// tcpi_rcv_ssthresh.
    pub rcv_ssthresh_bytes: u32,
}

/// The report of a far end other than zc about a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RemoteReport {
    /// CPU time of its process (getrusage) divided by the duration of the test, in per cent of one
    /// CPU.
    pub cpu_percent: f64,
    /// Bytes received, by its report.
    pub received_bytes: u64,
    /// Duration of the test, by its report.
    pub seconds: f64,
}
