//! `zc http` as text and as JSON: what a load of requests was.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::digits::significant;
use crate::terminal::layout::Layout;
use crate::terminal::note::{self, Note, note};
use zc_run::{WHY_EMULATED, escape};

/// Output of `zc http --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Output of zc http --json")]
pub struct HttpResult {
    /// The URL requested.
    pub url: String,
    /// The load.
    pub load: HttpLoad,
    /// The response that was read before the load began.
    pub response: HttpResponse,
    /// Time from the first request until no more were begun, in s.
    pub seconds: f64,
    /// Whether it ended before its time, by a signal.
    pub interrupted: bool,
    /// Requests due in that time; without a rate, those begun.
    pub due: u64,
    /// Requests due that no connection was free for.
    pub unsent: u64,
    /// Requests begun.
    pub requests: u64,
    /// Requests begun that waited for a free connection.
    pub waited: u64,
    /// Whole responses in that time.
    pub responses: u64,
    /// Responses per second.
    pub responses_per_s: f64,
    /// Whether the rate was reached: at most one in a hundred of the requests due was not begun.
    /// Null without a rate.
    pub rate_reached: Option<bool>,
    /// Bytes of bodies.
    pub body_bytes: u64,
    /// 10^6 bytes of bodies per second.
    pub body_mb_per_s: f64,
    /// Bytes received from sockets.
    pub received_bytes: u64,
    /// Bytes sent to sockets.
    pub sent_bytes: u64,
    /// Connections opened.
    pub connects: u64,
    /// Of these, the ones that replaced a connection that the server had closed between two
    /// requests.
    pub reconnects: u64,
    /// Connections that the server was to close after a response and left open: zc closed them a
    /// second later.
    pub unclosed: u64,
    /// Time for which zc itself stood still though requests were due: it was stopped or had no CPU,
    /// or the machine was suspended. Then no latency is given.
    pub stalled_seconds: f64,
    /// Time from when a request was due, or without a rate begun, to the end of its response. Null
    /// without a response, and where zc stood still.
    pub latency: Option<HttpTimes>,
    /// Delay of requests behind the schedule. Null without a rate, and where zc stood still.
    pub late: Option<HttpTimes>,
    /// The part of that which is zc's own: from when a request was due and a connection was free.
    pub own_late: Option<HttpTimes>,
    /// Whole responses by status, also those that came after the end.
    pub statuses: BTreeMap<u16, u64>,
    /// Faults of responses, by kind.
    pub faults: Vec<HttpFault>,
    /// The first fault in words.
    pub first_fault: Option<String>,
    /// CPU time of sending; null on an emulated machine.
    pub own_cpu: Option<HttpCpu>,
}

/// The load that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HttpLoad {
    /// Requests per second; null: as fast as the server answers.
    pub rate_per_s: Option<f64>,
    /// Connections at a time.
    pub connections: usize,
    /// Whether a connection serves more than one request.
    pub keep_alive: bool,
    /// The address from which connections were made; null: the kernel's choice.
    pub source: Option<String>,
    /// The CPU to which the sending thread was bound; null: none.
    pub cpu: Option<usize>,
    /// Whether the server's certificate was checked; null without TLS.
    pub certificate_checked: Option<bool>,
    /// The log whose requests were repeated; null: the URL was asked for.
    pub from: Option<HttpFrom>,
}

/// An access log whose requests were repeated.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HttpFrom {
    /// The file.
    pub log: String,
    /// Its requests that can be repeated: GET, answered with 200.
    pub requests: u64,
    /// Distinct targets requested.
    pub targets: u64,
    /// Its other requests.
    pub left_out: u64,
    /// Its lines that have no request.
    pub unreadable: u64,
    /// Whether only the first million requests were taken.
    pub is_cut: bool,
}

/// A response that was read.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HttpResponse {
    /// Its status.
    pub status: u16,
    /// Length of its body in bytes.
    pub body_bytes: u64,
    /// CRC-32 of its body.
    pub crc32: u32,
    /// Whether the body came in chunks.
    pub chunked: bool,
    /// The header `Server`.
    pub server: Option<String>,
}

/// A distribution of times, in us.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HttpTimes {
    /// Median.
    pub p50_us: f64,
    /// 90 % are not longer.
    pub p90_us: f64,
    /// 99 % are not longer.
    pub p99_us: f64,
    /// 99.9 % are not longer.
    pub p99_9_us: f64,
    /// The longest.
    pub max_us: f64,
    /// The mean.
    pub mean_us: f64,
}

/// A kind of fault.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HttpFault {
    /// `status`, `redirect`, `length`, `encoded`, `closed`, `malformed`, `timeout`, `connect` or
    /// `tls`.
    pub kind: &'static str,
    /// Number of faults of this kind.
    pub count: u64,
    /// The fault as a sentence.
    pub said: String,
}

/// CPU time of the thread that sent the requests, by its own clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HttpCpu {
    /// CPU time in s.
    pub seconds: f64,
    /// Per response, in us; null without one.
    pub us_per_response: Option<f64>,
    /// Responses for each second of it; null without one.
    pub responses_per_cpu_s: Option<f64>,
}

/// Returns one JSON document, indented, with a line feed at its end.
pub fn json(result: &HttpResult) -> String {
    crate::json::text(result)
}

/// The JSON Schema (draft 2020-12) of [`json`].
pub fn json_schema() -> String {
    crate::json::schema_of::<HttpResult>()
}

/// Renders for a terminal.
pub fn text(result: &HttpResult, layout: Layout) -> String {
    let mut notes = vec![
        note("url", format!("{}: {}", escape(&result.url, 200), response(&result.response))),
        note("load", load(result)),
    ];
    notes.extend(result.load.from.as_ref().map(|from| note("from", self::from(from))));
    notes.extend([note("requests", requests(result)), note("latency", latency(result))]);
    if let (Some(late), Some(own)) = (result.late, result.own_late) {
        notes.push(note("schedule", schedule(result, late, own)));
    }
    notes.extend(faults(result));
    notes.push(note("own CPU", own_cpu(result.own_cpu.as_ref())));
    note::terminal(&notes, layout)
}

fn response(response: &HttpResponse) -> String {
    let chunked = if response.chunked { " in chunks" } else { "" };
    let server = response.server.as_ref().map(|server| format!(" from {}", escape(server, 60)));
    format!("{} bytes{chunked}{}", response.body_bytes, server.unwrap_or_default())
}

fn load(result: &HttpResult) -> String {
    let load = &result.load;
    let rate = match load.rate_per_s {
        Some(per_s) => format!("{per_s} requests/s"),
        None => "as fast as the server answers".to_owned(),
    };
    let plural = if load.connections == 1 { "" } else { "s" };
    let kept = if load.keep_alive { "kept alive" } else { "one for each request" };
    let checked = match load.certificate_checked {
        Some(false) => ", the certificate not checked",
        _ => "",
    };
    let interrupted = if result.interrupted { ", interrupted" } else { "" };
    format!(
        "{rate}, {} connection{plural}, {kept}{checked}, {:.1} s{interrupted}",
        load.connections, result.seconds
    )
}

fn from(from: &HttpFrom) -> String {
    let HttpFrom { log, requests, targets, left_out, unreadable, is_cut } = from;
    let cut = if *is_cut { "the first " } else { "" };
    let mut text = format!(
        "{}: {cut}{requests} requests for {targets} paths, over and over",
        escape(log, 200)
    );
    if *left_out > 0 {
        text += &format!("; {left_out} left out (not GET, or not answered with 200)");
    }
    if *unreadable > 0 {
        text += &format!("; {unreadable} lines without a request");
    }
    text
}

fn requests(result: &HttpResult) -> String {
    let mut text = format!(
        "{} answered: {}/s, {} MB/s",
        result.responses,
        significant(result.responses_per_s),
        significant(result.body_mb_per_s)
    );
    if result.rate_reached == Some(false) {
        text += &format!("; the rate was not reached, {} were due", result.due);
    }
    if result.reconnects > 0 {
        text += &format!(
            "; the server closed {} connection{} between requests",
            result.reconnects,
            if result.reconnects == 1 { "" } else { "s" }
        );
    }
    if result.unclosed > 0 {
        text += &format!(
            "; the server left {} connection{} open that it was to close",
            result.unclosed,
            if result.unclosed == 1 { "" } else { "s" }
        );
    }
    text
}

fn latency(result: &HttpResult) -> String {
    if result.stalled_seconds > 0.0 {
        return format!(
            "not told: zc itself stood still for {} s, and requests were late by that",
            significant(result.stalled_seconds)
        );
    }
    let Some(times) = result.latency else { return "no response".to_owned() };
    format!(
        "p50 {}, p90 {}, p99 {}, p99.9 {}, longest {}",
        time(times.p50_us),
        time(times.p90_us),
        time(times.p99_us),
        time(times.p99_9_us),
        time(times.max_us)
    )
}

fn schedule(result: &HttpResult, late: HttpTimes, own: HttpTimes) -> String {
    let mut text = format!(
        "requests were begun late by {} (p50), {} (p99), {} at most",
        time(late.p50_us),
        time(late.p99_us),
        time(late.max_us)
    );
    if result.waited > 0 {
        text += &format!(
            "; {} waited for a connection, and of the rest zc's own part is {} (p99)",
            result.waited,
            time(own.p99_us)
        );
    }
    text
}

fn faults(result: &HttpResult) -> Vec<Note> {
    let mut notes: Vec<_> =
        result.faults.iter().map(|fault| note("faults", fault.said.clone())).collect();
    if let Some(first) = &result.first_fault {
        notes.push(note("first fault", escape(first, 300)));
    }
    if result.statuses.len() > 1 {
        let statuses = result.statuses.iter().map(|(status, count)| format!("{count} of {status}"));
        notes.push(note("statuses", statuses.collect::<Vec<_>>().join(", ")));
    }
    notes
}

fn own_cpu(cpu: Option<&HttpCpu>) -> String {
    let Some(cpu) = cpu else { return format!("not shown: {WHY_EMULATED}") };
    match (cpu.us_per_response, cpu.responses_per_cpu_s) {
        (Some(us), Some(per_s)) => format!(
            "zc's, {} us per request: one CPU of it sends at most {} requests/s",
            significant(us),
            significant(per_s)
        ),
        _ => format!("{} s", significant(cpu.seconds)),
    }
}

/// A time in us, in the unit that suits it.
fn time(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{} us", significant(us)),
        us if us < 1e6 => format!("{} ms", significant(us / 1e3)),
        us => format!("{} s", significant(us / 1e6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result() -> HttpResult {
        let times = |us: f64| HttpTimes {
            p50_us: us,
            p90_us: 2.0 * us,
            p99_us: 10.0 * us,
            p99_9_us: 100.0 * us,
            max_us: 10_000.0 * us,
            mean_us: 1.5 * us,
        };
        HttpResult {
            url: "http://127.0.0.1:8080/file".to_owned(),
            load: HttpLoad {
                rate_per_s: Some(2000.0),
                connections: 8,
                keep_alive: true,
                source: None,
                cpu: None,
                certificate_checked: None,
                from: None,
            },
            response: HttpResponse {
                status: 200,
                body_bytes: 4096,
                crc32: 1,
                chunked: false,
                server: Some("nginx/1.22.1".to_owned()),
            },
            seconds: 10.0,
            interrupted: false,
            due: 20_000,
            unsent: 0,
            requests: 20_000,
            waited: 0,
            responses: 20_000,
            responses_per_s: 2000.0,
            rate_reached: Some(true),
            body_bytes: 20_000 * 4096,
            body_mb_per_s: 8.192,
            received_bytes: 20_000 * 4300,
            sent_bytes: 20_000 * 80,
            connects: 0,
            reconnects: 0,
            unclosed: 0,
            stalled_seconds: 0.0,
            latency: Some(times(212.3)),
            late: Some(times(4.2)),
            own_late: Some(times(4.2)),
            statuses: BTreeMap::from([(200, 20_000)]),
            faults: Vec::new(),
            first_fault: None,
            own_cpu: Some(HttpCpu {
                seconds: 0.5,
                us_per_response: Some(25.0),
                responses_per_cpu_s: Some(40_000.0),
            }),
        }
    }

    #[test]
    fn a_load_that_went_well_is_six_lines() {
        let expected = "\
url           http://127.0.0.1:8080/file: 4096 bytes from nginx/1.22.1
load          2000 requests/s, 8 connections, kept alive, 10.0 s
requests      20000 answered: 2000/s, 8.19 MB/s
latency       p50 212 us, p90 425 us, p99 2.12 ms, p99.9 21.2 ms, longest 2.12 s
schedule      requests were begun late by 4.20 us (p50), 42.0 us (p99), 42.0 ms at most
own CPU       zc's, 25.0 us per request: one CPU of it sends at most 40000 requests/s
";
        assert_eq!(text(&result(), Layout::plain(100)), expected);
    }

    #[test]
    fn what_went_wrong_is_said() {
        let result = HttpResult {
            load: HttpLoad {
                rate_per_s: Some(0.5),
                connections: 1,
                keep_alive: false,
                certificate_checked: Some(false),
                ..result().load
            },
            interrupted: true,
            rate_reached: Some(false),
            reconnects: 1,
            waited: 7,
            faults: vec![HttpFault {
                kind: "status",
                count: 2,
                said: "2 responses had a status other than 2xx".to_owned(),
            }],
            first_fault: Some("status 503\u{1b}[2J".to_owned()),
            statuses: BTreeMap::from([(200, 5), (503, 2)]),
            latency: None,
            own_cpu: Some(HttpCpu {
                seconds: 0.0,
                us_per_response: None,
                responses_per_cpu_s: None,
            }),
            ..result()
        };
        let expected = "\
url           http://127.0.0.1:8080/file: 4096 bytes from nginx/1.22.1
load          0.5 requests/s, 1 connection, one for each request, the certificate not checked,
              10.0 s, interrupted
requests      20000 answered: 2000/s, 8.19 MB/s; the rate was not reached, 20000 were due; the
              server closed 1 connection between requests
latency       no response
schedule      requests were begun late by 4.20 us (p50), 42.0 us (p99), 42.0 ms at most; 7 waited
              for a connection, and of the rest zc's own part is 42.0 us (p99)
faults        2 responses had a status other than 2xx
first fault   status 503\\u{1b}[2J
statuses      5 of 200, 2 of 503
own CPU       0 s
";
        assert_eq!(text(&result, Layout::plain(100)), expected);
    }

    #[test]
    fn connections_that_were_left_open_and_a_load_that_stood_still_are_told() {
        let result = HttpResult { unclosed: 2, stalled_seconds: 5.04, late: None, ..result() };
        let text = text(&result, Layout::plain(200));
        for says in [
            "8.19 MB/s; the server left 2 connections open that it was to close\n",
            "not told: zc itself stood still for 5.04 s, and requests were late by that\n",
        ] {
            assert!(text.contains(says), "{text}");
        }
    }

    #[test]
    fn on_an_emulated_machine_the_reason_is_in_place_of_the_cost() {
        let text = text(&HttpResult { own_cpu: None, ..result() }, Layout::plain(200));
        let line = text.lines().find(|line| line.starts_with("own CPU")).unwrap();
        assert!(line.contains("not shown: the CPU of this machine is emulated"), "{line}");
    }

    #[test]
    fn the_document_is_as_its_schema_names_it() {
        let document: serde_json::Value = serde_json::from_str(&json(&result())).unwrap();
        let schema: serde_json::Value = serde_json::from_str(&json_schema()).unwrap();
        let described = schema["properties"].as_object().unwrap();
        for name in document.as_object().unwrap().keys() {
            assert!(described.contains_key(name), "{name}");
        }
    }
}
