//! The figures of a server's state, per request, in the order of their columns in CSV. The tables
//! of servers are those of their experiment.

use super::entry::{Entry, Part, Value, bare, csv, metric, metric_with_interval};
use super::unit::{BYTES, NONE, NS, REQUESTS_PER_S, US_PER_REQUEST};
use zc_analysis::RequestCost;

pub(super) const REQUEST: &[Entry<RequestCost>] = &[
    Entry {
        name: "response size",
        what: "Bytes in the body of a response.",
        unit: BYTES,
        value: Value::One(|state| Some(bare(state.body_bytes as f64))),
        json: "body_bytes",
        columns: &[],
        csv: &[csv("body_bytes")],
        metric: None,
    },
    Entry {
        name: "cost of a request",
        what: "CPU time that a request takes from a server's side, softirqs included: median over \
            blocks.",
        unit: US_PER_REQUEST,
        value: Value::One(|state| state.us_per_request),
        json: "us_per_request",
        columns: &[],
        csv: &[
            csv("us_per_request"),
            csv("us_per_request_low").part(Part::Low),
            csv("us_per_request_high").part(Part::High),
        ],
        metric: metric_with_interval("zc_request_cost"),
    },
    Entry {
        name: "cost by its processes",
        what: "The part of it that the CPU clocks of the server's processes show.",
        unit: US_PER_REQUEST,
        value: Value::One(|state| state.process_us_per_request.map(bare)),
        json: "process_us_per_request",
        columns: &[],
        csv: &[csv("process_us_per_request")],
        metric: metric("zc_request_process_cost"),
    },
    Entry {
        name: "saving",
        what: "What a request costs less than in the first state; below 0 it costs more.",
        unit: US_PER_REQUEST,
        value: Value::One(|state| state.saved_us_per_request),
        json: "saved_us_per_request",
        columns: &[],
        csv: &[
            csv("saved_us_per_request"),
            csv("saved_us_per_request_low").part(Part::Low),
            csv("saved_us_per_request_high").part(Part::High),
        ],
        metric: metric_with_interval("zc_request_saved"),
    },
    Entry {
        name: "requests",
        what: "Responses in the windows of the costs.",
        unit: REQUESTS_PER_S,
        value: Value::One(|state| state.requests_per_s.map(bare)),
        json: "requests_per_s",
        columns: &[],
        csv: &[csv("requests_per_s")],
        metric: metric("zc_request_rate"),
    },
    Entry {
        name: "top rate",
        what: "Responses as fast as the server answered, before the first block.",
        unit: REQUESTS_PER_S,
        value: Value::One(|state| state.top_requests_per_s.map(bare)),
        json: "top_requests_per_s",
        columns: &[],
        csv: &[csv("top_requests_per_s")],
        metric: metric("zc_request_top_rate"),
    },
    Entry {
        name: "latency, median",
        what: "Half of the requests took no longer from when they were due to the end of their \
            response.",
        unit: NS,
        value: Value::One(|state| state.latency.map(|latency| bare(latency.p50_ns as f64))),
        json: "latency/p50_ns",
        columns: &[],
        csv: &[csv("latency_p50_ns")],
        metric: metric("zc_request_latency_p50"),
    },
    Entry {
        name: "latency, p99",
        what: "99 of 100 requests took no longer.",
        unit: NS,
        value: Value::One(|state| state.latency.map(|latency| bare(latency.p99_ns as f64))),
        json: "latency/p99_ns",
        columns: &[],
        csv: &[csv("latency_p99_ns")],
        metric: metric("zc_request_latency_p99"),
    },
    Entry {
        name: "latency, longest",
        what: "The longest that a request took.",
        unit: NS,
        value: Value::One(|state| state.latency.map(|latency| bare(latency.max_ns as f64))),
        json: "latency/max_ns",
        columns: &[],
        csv: &[csv("latency_max_ns")],
        metric: metric("zc_request_latency_longest"),
    },
    Entry {
        name: "latencies",
        what: "Requests whose latency is known.",
        unit: NONE,
        value: Value::One(|state| state.latency.map(|latency| bare(latency.requests as f64))),
        json: "latency/requests",
        columns: &[],
        csv: &[csv("latency_requests")],
        metric: None,
    },
];
