//! Limits of a test, and the interval of the server's checks.

use std::time::Duration;

use super::super::client::MOST_STREAMS;

/// Interval at which the stop flag and idle clients are checked.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// Limits of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Number of streams.
    pub streams: usize,
    /// Time allowed to a client for a step of the protocol: parameters, a stream, results.
    pub patience: Duration,
    /// A test whose streams move nothing for this long is given up.
    pub idle: Duration,
    /// The longest test.
    pub longest: Duration,
}

impl Default for Limits {
    /// iperf3's limits for streams and the length of a test (a day); 10 seconds per step, and 60
    /// without progress.
    fn default() -> Self {
        Self {
            streams: MOST_STREAMS,
            patience: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            longest: Duration::from_secs(86_400),
        }
    }
}
