//! Responses of zc's own server as the messages of a run, and the log that is replayed among them.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Plan;

/// Messages that are responses: a server of zc's own answers every request with a head and the
/// message as its body, one call of the sender's to a response. The receiver is zc's HTTP load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponsesPlan {
    /// Connections of each cell.
    pub connections: usize,
    /// Whether a connection carries more than one request.
    pub keepalive: bool,
    /// Bytes of a response's head without the digits of its length. It is no payload.
    pub head_bytes: u64,
    /// The log whose responses some of the cells send (since format 3.6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayPlan>,
}

/// Responses of an access log that are sent again, in their order. Each soaked trial of a cell that
/// replays them has all of them, from before the first request until after the last response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayPlan {
    /// The log, as it was named.
    pub log: String,
    /// Requests in it.
    pub log_requests: u64,
    /// Bytes of its responses.
    pub log_bytes: u64,
    /// Its requests per second, from its first second to its last one.
    pub log_requests_per_s: f64,
    /// Responses of it that were too long to be sent again.
    pub too_long: u64,
    /// Requests per second at which it is replayed, at constant spacing.
    pub requests_per_s: f64,
    /// The lengths of the bodies that are sent, in the order of the log, from which they were
    /// drawn.
    pub body_bytes: Vec<u64>,
    /// Labels of the cells that send them. The message length of such a cell is the mean.
    pub cells: Vec<String>,
}

impl ReplayPlan {
    /// The mean length of the bodies in bytes; 0 if there are none.
    pub fn mean_bytes(&self) -> f64 {
        self.total_bytes() as f64 / self.body_bytes.len().max(1) as f64
    }

    /// Bytes of all bodies together.
    pub fn total_bytes(&self) -> u64 {
        self.body_bytes.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// The rate of requests divided by the log's; `None` where the log has no rate.
    pub fn times_the_log(&self) -> Option<f64> {
        Some(self.requests_per_s / self.log_requests_per_s).filter(|times| times.is_finite())
    }
}

impl Plan {
    /// The log that is replayed, if there is one.
    pub fn replay(&self) -> Option<&ReplayPlan> {
        self.traffic.responses()?.replay.as_ref()
    }

    /// Labels of the cells that send the responses of a log, rather than messages of one length.
    pub fn replaying(&self) -> HashSet<&str> {
        self.replay().into_iter().flat_map(|replay| &replay.cells).map(String::as_str).collect()
    }
}
