//! The pacer: lets a sender have a fixed rate, in bursts, by sleeping until the next burst is due.
//!
//! It runs on the sender's thread. Bursts are due at `start + k x period`; a sender that is late goes on without
//! sleeping until it has caught up (at most `CATCH_UP` periods: what is further behind is written off, so that a
//! stall does not turn into a burst at top speed).

/// Paces one sender.
#[derive(Debug)]
pub struct Pacer {
    /// Bytes per period.
    burst_bytes: f64,
    period_ns: u64,
    next_due_ns: u64,
    allowance: f64,
}
