//! The time budget of a session.

use std::time::{Duration, Instant};

/// A budget that has been running since the session was called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    pub(super) began: Instant,
    pub(super) length: Duration,
}

impl Budget {
    pub(super) fn left(&self) -> Duration {
        self.length.saturating_sub(self.began.elapsed())
    }

    pub(super) fn spent_share(&self) -> f64 {
        self.began.elapsed().as_secs_f64() / self.length.as_secs_f64()
    }
}
