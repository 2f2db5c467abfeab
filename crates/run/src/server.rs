//! A server that is not zc's, and the load that it is measured under: `zc run server`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HostState;

/// Server of a run, whose cells are its states. One request counts as one call of the sender, and
/// the bytes of a response's body as its payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerPlan {
    /// The states, in the order in which they were typed.
    pub states: Vec<ServerState>,
    /// The command with which zc started the server, on the sender's CPU. That CPU does the
    /// server's softirqs too, so that its loss is the cost. `None` if the server ran already, on
    /// whichever CPUs its owner gave it: the cost is then that of all soaked CPUs less the CPU time
    /// of the load's thread, which is the receiver of every reading.
    pub serve: Option<String>,
    /// Whether zc found the processes of a server that ran already, by the sockets that listen on
    /// its port. Their CPU time is then the sender's in every reading, which else has none (since
    /// format 3.7).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub found: bool,
    /// The machine that the load comes from, by its address or by the command that leads there;
    /// `None`: this one. Then nothing of the load is in the cost, and the responses of a window are
    /// its length times the rate at which they came.
    #[serde(default)]
    pub load_from: Option<String>,
    /// The load generator that asked in place of zc's own load, and its arguments; empty: none.
    /// Then the rate is the generator's, the responses of a window are the bytes that the server
    /// sent by the size of one response, and latencies are not known. Of a [mix](Self::mix) it is
    /// h2load, which asks by HTTP/2 at zc's rate and logs each response; latency counts from when a
    /// request was sent.
    #[serde(default)]
    pub generator: Vec<String>,
    /// Connections to each origin. With a load generator these are zc's own, and the generator's
    /// are not known.
    pub connections: usize,
    /// Whether a connection carries more than one request.
    pub keepalive: bool,
    /// How many requests it carries until the load has it closed; `None`: it is kept, or carries
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_connection: Option<u64>,
    /// Requests per second in soaked windows.
    pub requests_per_s: f64,
    /// The mix of requests that every state was asked for, whole cycles of it in each window;
    /// `None`: each response of a state has one length. With it, [`ServerState::response`] is the
    /// mean response, and has no CRC-32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<ServerMix>,
}

/// A mix of requests to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerMix {
    /// Number of requests in it.
    pub requests: u64,
    /// Bytes of the bodies of all responses.
    pub body_bytes: u64,
}

impl ServerPlan {
    /// Whether the server ran before zc did, and the accounts of its processes are not known.
    pub fn ran_already(&self) -> bool {
        self.serve.is_none()
    }

    /// Whether the CPU time of its processes is known.
    pub fn has_clocks(&self) -> bool {
        !self.ran_already() || self.found
    }

    /// Whether h2load asked, by HTTP/2: no other generator is given a mix.
    pub fn asked_by_http2(&self) -> bool {
        self.mix.is_some() && !self.generator.is_empty()
    }

    /// Origin of the load, in words, unless it is zc's own load on this machine.
    pub fn load_in_words(&self) -> Option<String> {
        match &self.load_from {
            Some(from) => Some(format!("from {from}")),
            None if self.generator.is_empty() => None,
            None => Some(format!("by {}", self.generator.join(" "))),
        }
    }
}

/// A state of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerState {
    /// Its name.
    pub state: HostState,
    /// URL of requests in this state.
    pub url: String,
    /// The response to a request before the first block: every later one must have this length.
    pub response: ResponseFacts,
}

/// A response that was read whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseFacts {
    /// The status of HTTP.
    pub status: u16,
    /// Bytes of the body, after chunks were put together.
    pub body_bytes: u64,
    /// CRC-32 of the body.
    pub crc32: u32,
}

/// Latencies of the requests of a cell, counted from when each was due, in a soaked trial of each
/// block that counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latencies {
    /// The cell's label.
    pub cell: String,
    /// Upper ends of the classes with at least one request, in nanoseconds, ascending.
    pub up_to_ns: Vec<u64>,
    /// Number of requests in each class.
    pub requests: Vec<u64>,
}

impl Latencies {
    /// The latency in nanoseconds that a `share` of the requests stay within, as far as classes
    /// tell; `None` without requests.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let all: u64 = self.requests.iter().fold(0, |all, some| all.saturating_add(*some));
        let wanted = ((all as f64 * share).ceil() as u64).clamp(1, all.max(1));
        let mut seen = 0_u64;
        std::iter::zip(&self.up_to_ns, &self.requests)
            .find(|(_, requests)| {
                seen = seen.saturating_add(**requests);
                seen >= wanted
            })
            .map(|(up_to_ns, _)| *up_to_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(classes: &[(u64, u64)]) -> Latencies {
        let (up_to_ns, requests) = classes.iter().copied().unzip();
        Latencies { cell: "on".to_owned(), up_to_ns, requests }
    }

    #[test]
    fn a_quantile_is_the_end_of_the_class_that_reaches_it() {
        let each = latencies(&[(10, 50), (20, 49), (900, 1)]);
        let quantiles = [0.0, 0.5, 0.51, 0.99, 1.0].map(|share| each.quantile_ns(share));
        assert_eq!(quantiles, [Some(10), Some(10), Some(20), Some(20), Some(900)]);
    }

    #[test]
    fn no_request_has_no_quantile() {
        assert_eq!(latencies(&[]).quantile_ns(0.5), None);
        assert_eq!(latencies(&[(10, 0)]).quantile_ns(0.5), None);
    }
}
