//! The families of gauges of a server's run.

use super::families::{Ends, Family, Of};
use zc_analysis::{Figure, RequestCost};

/// All families of requests, in the order of the exposition.
pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "zc_request_cost",
        unit: "seconds_per_request",
        help: "CPU time that a request takes from a server's side, softirqs included: median over \
            blocks.",
        interval: true,
        of: Of::State(|state| state.us_per_request.as_ref().map(of_us)),
    },
    Family {
        name: "zc_request_process_cost",
        unit: "seconds_per_request",
        help: "The part of it that the CPU clocks of the server's processes show.",
        interval: false,
        of: Of::State(|state| state.process_us_per_request.map(|us| Ends::alone(us / 1e6))),
    },
    Family {
        name: "zc_request_saved",
        unit: "seconds_per_request",
        help: "What a request costs less than in the first state; below 0 it costs more.",
        interval: true,
        of: Of::State(|state| state.saved_us_per_request.as_ref().map(of_us)),
    },
    Family {
        name: "zc_request_rate",
        unit: "requests_per_second",
        help: "Responses in the windows of the costs.",
        interval: false,
        of: Of::State(|state| state.requests_per_s.map(Ends::alone)),
    },
    Family {
        name: "zc_request_top_rate",
        unit: "requests_per_second",
        help: "Responses as fast as the server answered, before the first block.",
        interval: false,
        of: Of::State(|state| state.top_requests_per_s.map(Ends::alone)),
    },
    latency(
        "zc_request_latency_p50",
        "Half of the requests took no longer from when they were due to the end of their response.",
        |state| state.latency.map(|latency| seconds(latency.p50_ns)),
    ),
    latency("zc_request_latency_p99", "99 of 100 requests took no longer.", |state| {
        state.latency.map(|latency| seconds(latency.p99_ns))
    }),
    latency("zc_request_latency_longest", "The longest that a request took.", |state| {
        state.latency.map(|latency| seconds(latency.max_ns))
    }),
];

/// The family of a quantile of latencies.
const fn latency(
    name: &'static str,
    help: &'static str,
    of: fn(&RequestCost) -> Option<Ends>,
) -> Family {
    Family { name, unit: "seconds", help, interval: false, of: Of::State(of) }
}

/// Seconds of a number of nanoseconds.
fn seconds(ns: u64) -> Ends {
    Ends::alone(ns as f64 / 1e9)
}

/// Converts microseconds to seconds.
fn of_us(figure: &Figure) -> Ends {
    let Ends { value, low, high } = Ends::of(figure);
    let seconds = |us: f64| us / 1e6;
    Ends { value: seconds(value), low: low.map(seconds), high: high.map(seconds) }
}
