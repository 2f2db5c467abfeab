//! The request mix of a server, as its access logs give it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::classes::Classes;
use super::minutes::Minutes;
use super::sizes::Sizes;
use super::slices::Slice;
use super::tally::Tally;
use super::tls::Tls;
use crate::entry::Protocol;

/// Request mix: the responses that a server sent, by its access logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RequestMix {
    /// The first time in the logs, in s since 1970.
    pub first_unix_s: i64,
    /// The last one.
    pub last_unix_s: i64,
    /// All responses, and their bytes by the size that each is counted with.
    pub all: Tally,
    /// Whether these bytes are those of bodies or of whole responses.
    pub counted: Counts,
    /// All responses by kind.
    pub classes: Classes<Tally>,
    /// The same by size, in bins.
    pub sizes: Classes<Sizes>,
    /// Responses by status. Those without one, as of clients that went away, are not included.
    pub statuses: BTreeMap<u16, Tally>,
    /// Responses by method.
    pub methods: BTreeMap<&'static str, Tally>,
    /// Responses by version of HTTP. Those without one in the log are not included.
    pub protocols: BTreeMap<&'static str, Tally>,
    /// Responses by the hour that the server's clock showed, from 0 to 23.
    pub hours: Vec<Tally>,
    /// The minutes of the logs.
    pub minutes: Minutes,
    /// Durations of requests, where they are logged.
    pub durations: Option<Durations>,
    /// Responses whose time has no zone. It was read as UTC.
    pub without_zone: u64,
    /// Responses over TLS and without it, where the log says it.
    pub tls: Tls,
    /// The length of a slice, in s.
    pub slice_s: u64,
    /// The slices of time that have requests, by time. At most [`MOST_SLICES`](crate::MOST_SLICES).
    pub slices: Vec<Slice>,
}

/// Responses by what their bytes are: those of the body, or of the whole response. Each response is
/// counted once in the first three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Counts {
    /// Responses counted by the bytes of their bodies.
    pub body: Tally,
    /// Responses counted by their bytes with headers.
    pub wire: Tally,
    /// Responses whose format does not say which of the two.
    pub unsaid: Tally,
    /// Responses with both sizes. Their bytes are those of the headers.
    pub headers: Tally,
    /// 304 and HEAD with some bytes, among the unsaid. They have no body, so these are headers.
    pub bodiless_with_bytes: u64,
    /// 304 and HEAD without, among the unsaid.
    pub bodiless_without_bytes: u64,
}

/// Durations of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Durations {
    /// Requests whose duration is logged.
    pub requests: u64,
    /// All of them together, in us. Divided by the span of the log this is the mean number of
    /// requests at a time (Little's law).
    pub sum_us: u64,
}

impl RequestMix {
    /// Responses over HTTP/2 and HTTP/3.
    pub fn multiplexed(&self) -> Tally {
        let mut both = Tally::default();
        for version in [Protocol::Http2, Protocol::Http3] {
            both.merge(self.protocols.get(version.name()).copied().unwrap_or_default());
        }
        both
    }

    /// The time that the logs cover, in s: from the first second to the last one, both included.
    pub fn span_s(&self) -> u64 {
        (self.last_unix_s - self.first_unix_s).max(0) as u64 + 1
    }

    /// The mean number of requests at a time, where durations are logged. `None` also where they
    /// are longer on average than the log is: its time is not enough for it, or their unit is
    /// another.
    pub fn concurrency(&self) -> Option<f64> {
        let durations = self.durations.filter(|_| !self.durations_exceed_the_log())?;
        Some(durations.sum_us as f64 / 1e6 / self.span_s() as f64)
    }

    /// Whether requests took longer on average than the log is.
    pub fn durations_exceed_the_log(&self) -> bool {
        let mean_s =
            |durations: Durations| durations.sum_us as f64 / durations.requests.max(1) as f64 / 1e6;
        self.durations.is_some_and(|durations| mean_s(durations) > self.span_s() as f64)
    }

    /// Whether the bytes that the format says nothing about are those of bodies or have the headers
    /// in them, by the responses that have no body. `None` if that is undetermined.
    pub fn unsaid_are_bodies(&self) -> Option<bool> {
        match (self.counted.bodiless_with_bytes, self.counted.bodiless_without_bytes) {
            (0, 1..) => Some(true),
            (1.., 0) => Some(false),
            _ => None,
        }
    }

    /// Whether sums of bytes have reached what can be counted.
    pub fn is_saturated(&self) -> bool {
        self.all.bytes == u64::MAX
    }
}
