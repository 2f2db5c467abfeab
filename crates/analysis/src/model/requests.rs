//! Cost of a request to a server, as data.

use schemars::JsonSchema;
use serde::Serialize;

use super::figure::Figure;

/// A state of a server: the cost of a request, and how long requests took.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RequestCost {
    /// Label of the cell.
    pub label: String,
    /// Bytes in the body of a response.
    pub body_bytes: u64,
    /// Soaked CPU time of the server's side, in microseconds per request. Its ratio to the
    /// reference is that of the cell.
    pub us_per_request: Option<Figure>,
    /// The part of it that the CPU clocks of the server's processes show; the rest is softirqs and
    /// interrupts on its CPU. The median over windows.
    pub process_us_per_request: Option<f64>,
    /// Saving per request compared with the first state (of responses of the same length), in
    /// microseconds; below 0 it costs more. Computed from the first state's cost and the ratio to
    /// it, whose errors are taken as independent: what the blocks of both states have in common
    /// cancels in the ratio. `None` for the first state and its copies, the controls.
    pub saved_us_per_request: Option<Figure>,
    /// Responses per second in the soaked windows.
    pub requests_per_s: Option<f64>,
    /// Responses per second as fast as the server answered, before the first block.
    pub top_requests_per_s: Option<f64>,
    /// Latency of requests, in nanoseconds.
    pub latency: Option<LatencyQuantiles>,
}

/// Quantiles of the time from when a request was due to the end of its response, over a
/// soaked trial of each block that counts, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LatencyQuantiles {
    /// Half of the requests took no longer.
    pub p50_ns: u64,
    /// 99 of 100 took no longer.
    pub p99_ns: u64,
    /// None took longer.
    pub max_ns: u64,
    /// Number of requests.
    pub requests: u64,
}
