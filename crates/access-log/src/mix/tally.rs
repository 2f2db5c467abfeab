//! A number of responses and their bytes.

use schemars::JsonSchema;
use serde::Serialize;

/// A number of responses, and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Tally {
    /// Responses.
    pub requests: u64,
    /// Their bytes. 2^64 - 1 stands for everything from there on.
    pub bytes: u64,
}

impl Tally {
    pub(super) fn add(&mut self, bytes: u64) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}
