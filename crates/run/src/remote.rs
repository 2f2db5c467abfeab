//! The other machine of a run over the link `remote`: who it is, and what was read there.
//!
//! Its clock is its own. What it read is only ever compared with what it read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Host, Reading};

/// What stands at the far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PeerKind {
    /// `zc serve`: it measures too.
    Zc,
    /// An iperf3 server: it says what getrusage says of its process.
    Iperf3,
    /// Something that swallows bytes and says nothing.
    Discard,
}

/// The far end as it was met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RemoteFacts {
    /// What stands there.
    pub kind: PeerKind,
    /// The address that the bytes go to.
    pub address: String,
    /// The round trip, as the kernel measured it on the first connection (tcpi_min_rtt).
    pub rtt_ns: u64,
    /// What measures there; null when nothing does.
    pub machine: Option<RemoteMachine>,
}

/// The far machine, where a zc measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RemoteMachine {
    /// The version of zc there.
    pub zc_version: String,
    /// The machine.
    pub host: Host,
    /// It is the same machine as the sender's, in another network namespace or container: the costs of the two ends are
    /// taken from the same CPUs and cannot be told apart.
    pub same_machine: bool,
    /// The CPU that receiver threads are pinned to.
    pub receiver_cpu: usize,
    /// The CPUs that carry a soaker there, in the order of all per-CPU vectors of its readings: all that it may use; on the same
    /// machine those that the sender's end does not soak already.
    pub soaked_cpus: Vec<usize>,
}

/// All meters of the far machine at both edges of its window, by its own clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RemoteWindow {
    /// As it opened.
    pub opened: Reading,
    /// As it closed.
    pub closed: Reading,
}

/// What a far end that is no zc said of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RemoteReport {
    /// CPU time of its process (getrusage) by the time that the test took, in per cent of one CPU.
    pub cpu_percent: f64,
    /// Bytes that it says it received.
    pub received_bytes: u64,
    /// How long it says the test took.
    pub seconds: f64,
}
