//! The observations of `zc soak --service`, `--cgroup` and `--pid`: a service that runs, in windows
//! one after another. `zc-analysis` computes what it costs from these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ProcessTime, SoakStart, SoakWindow};

/// Target of the observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum ServiceTarget {
    /// A process and its descendants.
    Pid {
        /// Its number.
        pid: i32,
        /// Its name (`comm`).
        name: String,
    },
    /// All processes of a cgroup and of those below it.
    Cgroup {
        /// The service's name or the path as typed.
        name: String,
        /// The cgroup's folder.
        path: String,
        /// The file with its CPU time; null if no hierarchy counts it.
        cpu: Option<String>,
    },
}

/// A count between two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The time between them.
    pub elapsed_ns: u64,
    /// The count.
    pub count: u64,
}

/// TCP between two readings, in the service's network namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpSpan {
    /// The time between them.
    pub elapsed_ns: u64,
    /// Segments that sockets of the service sent and received, of those that were open at the
    /// second reading.
    pub own_segments: u64,
    /// Segments, counted in the same way, of all sockets.
    pub open_segments: u64,
    /// Segments that the namespace sent and received, by /proc/PID/net/snmp.
    pub all_segments: u64,
    /// UDP datagrams that it sent and received.
    pub datagrams: u64,
    /// Payload bytes that sockets of the service sent, of those that were open at the second
    /// reading.
    pub own_bytes: u64,
}

/// A window, and the readings around it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceWindow {
    /// The soakers.
    pub window: SoakWindow,
    /// CPU time of the service's processes in ns by their CPU clocks, with that of descendants
    /// which ended and were waited for.
    pub clocks: Span,
    /// CPU time of the cgroup in ns; null without one.
    pub cgroup: Option<Span>,
    /// Number of its processes at the end.
    pub processes: usize,
    /// The time between the readings of all processes.
    pub others_elapsed_ns: u64,
    /// The other processes, without zc and its soakers; their `idle_ns` is 0.
    pub others: Vec<ProcessTime>,
    /// CPU time of zc itself.
    pub zc: Span,
    /// Its TCP traffic; null if that cannot be read.
    pub tcp: Option<TcpSpan>,
    /// Bytes that the interfaces of its network namespace sent.
    pub interfaces: Option<Span>,
    /// Requests by nginx's stub_status, without those of zc; null if that was not asked for.
    pub requests: Option<Span>,
}

/// A service that was observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakService {
    /// The service.
    pub target: ServiceTarget,
    /// The soakers. Its idle windows are those of a machine on which the service runs.
    pub start: SoakStart,
    /// The windows, in the order of time.
    pub windows: Vec<ServiceWindow>,
    /// Why the counters of its sockets are not known; null if they are.
    pub no_sockets: Option<String>,
}
