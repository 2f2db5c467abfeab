//! Lengths of the parts of a trial of a server.

use super::super::options::BlockOptions;
use zc_rig::trial::LEAST_WARMUP_NS;
use zc_run::Timing;

/// The usual warm-up and window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usual {
    warmup_ns: u64,
    window_ns: u64,
}

impl Usual {
    /// Of a load whose connections are there, so that there is little to warm up. A window of
    /// 100 ms at 1,000 requests per second has 100 requests.
    pub(super) const KEPT: Self = Self { warmup_ns: 15_000_000, window_ns: 100_000_000 };

    /// Of a load generator, which makes its connections in each trial, and takes as long as several
    /// windows for it.
    pub(super) const GENERATOR: Self = Self { warmup_ns: 100_000_000, window_ns: 250_000_000 };

    /// Of h2load: its connections are made in each trial as well, but are waited for. The window is
    /// that of top speed; at a rate it has whole cycles of a mix.
    pub(super) const H2LOAD: Self = Self { warmup_ns: 50_000_000, window_ns: 100_000_000 };
}

/// Warm-up, window and idle window: those that were typed, else the usual ones.
pub(super) fn timing(typed: &BlockOptions, usual: Usual) -> Timing {
    let window_ns = typed.window_ns.unwrap_or(usual.window_ns);
    Timing {
        warmup_ns: typed.warmup_ns.unwrap_or(usual.warmup_ns).max(LEAST_WARMUP_NS),
        window_ns,
        idle_ns: typed.idle_ns.unwrap_or(40_000_000),
        unsoaked_ns: window_ns,
    }
}
