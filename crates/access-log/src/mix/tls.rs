//! Responses over TLS and without it.

use schemars::JsonSchema;
use serde::Serialize;

use super::tally::Tally;

/// Responses over TLS and without it. The log need not say it of HTTP/2 and HTTP/3: no browser
/// speaks these without TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Tls {
    /// Responses over TLS.
    pub with: Tally,
    /// Responses without it.
    pub without: Tally,
}

impl Tls {
    /// Counts a response. `None` if the log does not say how it went.
    pub(super) fn add(&mut self, is_tls: Option<bool>, bytes: u64) {
        match is_tls {
            Some(true) => self.with.add(bytes),
            Some(false) => self.without.add(bytes),
            None => {}
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.with.merge(other.with);
        self.without.merge(other.without);
    }

    /// Responses of which the log says it.
    pub fn told(&self) -> u64 {
        self.with.requests + self.without.requests
    }
}
