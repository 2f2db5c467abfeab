//! The observations of `zc soak --openmetrics`: a running service over a period, with soakers that
//! are awake in a small part of it.

use super::SoakService;

/// A period of a service that is metered.
#[derive(Debug, Clone, PartialEq)]
pub struct MeterPeriod {
    /// The service, in slots that follow one another. CPU time, requests and the interfaces' bytes
    /// are of the whole slot, the soakers' window and `tcp` of a short time in it. `others` has one
    /// entry, for all other processes by /proc/stat.
    pub seen: SoakService,
    /// Slots that are not in `seen`, because the service was started anew in them.
    pub dropped: usize,
    /// Time from the begin of the period to its end.
    pub elapsed_ns: u64,
    /// Time in it in which the soakers were awake.
    pub soaked_ns: u64,
    /// CPU time of the soakers in it, at the lowest class.
    pub soakers_cpu_ns: u64,
    /// CPU time of zc itself in it.
    pub zc_cpu_ns: u64,
    /// Why requests are not counted in it; `None` if they are, or if nobody asked for them.
    pub no_requests: Option<String>,
}
