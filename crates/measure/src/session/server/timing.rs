//! Lengths of the parts of a trial of a server.

use super::super::options::BlockOptions;
use zc_rig::trial::LEAST_WARMUP_NS;
use zc_run::Timing;

/// Warm-up, window and idle window: those that were typed, else the usual ones. A window of 100 ms
/// at 1,000 requests per second has 100 requests; the connections are there, so there is little to
/// warm up. A load generator makes its connections in each trial, which takes as long as several
/// windows.
pub(super) fn timing(typed: &BlockOptions, by_generator: bool) -> Timing {
    let (usual_warmup_ns, usual_window_ns) = match by_generator {
        true => (100_000_000, 250_000_000),
        false => (15_000_000, 100_000_000),
    };
    let window_ns = typed.window_ns.unwrap_or(usual_window_ns);
    Timing {
        warmup_ns: typed.warmup_ns.unwrap_or(usual_warmup_ns).max(LEAST_WARMUP_NS),
        window_ns,
        idle_ns: typed.idle_ns.unwrap_or(40_000_000),
        unsoaked_ns: window_ns,
    }
}
