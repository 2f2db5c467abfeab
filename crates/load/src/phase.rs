//! Results of a phase of a load, and description of a single response.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counts::{Fault, HttpCounts};
use super::latencies::Latencies;
use super::options::Pace;
use zc_run::{Error, Result, escape};

/// A phase: from [`Load::go`](super::Load::go) to [`Load::pause`](super::Load::pause).
#[derive(Debug, Clone)]
pub struct Phase {
    /// The origin, by its place in the options.
    pub origin: usize,
    /// When its requests were sent.
    pub pace: Pace,
    /// When the first request was due, by CLOCK_MONOTONIC. Unpaced: when the phase began.
    pub begin_ns: u64,
    /// When it was paused, or the last of a limited number of requests had come out.
    pub end_ns: u64,
    /// When the last response had arrived, or was given up.
    pub drained_ns: u64,
    /// Counts from the beginning to `end_ns`.
    pub counts: HttpCounts,
    /// Counts from the beginning to `drained_ns`.
    pub drained: HttpCounts,
    /// Requests due by `end_ns`. Unpaced: those begun.
    pub due: u64,
    /// Requests due that were not begun, because no connection was free.
    pub unsent: u64,
    /// Requests that were due while no connection was free, of those begun.
    pub waited: u64,
    /// Requests begun that had no whole response at `end_ns`.
    pub outstanding: u64,
    /// From when each request was due to the end of its response. Requests without a whole response
    /// are not in it.
    pub latency: Latencies,
    /// Delays of the beginning of requests against the schedule, for whatever reason. Unpaced:
    /// none.
    pub late: Latencies,
    /// The part of that which is this thread's: from when the request was due and a connection was
    /// free. Unpaced: none.
    pub own_late: Latencies,
    /// CPU time of the thread from the beginning to `end_ns`, by its clock.
    pub cpu_ns: u64,
    /// Time for which the thread stood still though it had to go on: the process was stopped, or
    /// the machine suspended. Otherwise 0, and then latencies are the server's.
    pub stalled_ns: u64,
    /// Whole responses by status, those after `end_ns` included.
    pub statuses: BTreeMap<u16, u64>,
    /// The first fault, in words.
    pub first_fault: Option<(Fault, String)>,
}

impl Phase {
    /// Its length in seconds.
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.begin_ns) as f64 / 1e9
    }

    /// Responses per second.
    pub fn responses_per_s(&self) -> f64 {
        self.counts.responses as f64 / self.seconds().max(1e-9)
    }

    /// Describes the fault of the phase; `None`: no fault.
    pub fn fault(&self) -> Option<String> {
        if let Some(stalled) = self.stall() {
            return Some(stalled);
        }
        let told: Vec<String> =
            self.drained.faults().map(|(fault, count)| fault.describe(count)).collect();
        let first = self.first_fault.as_ref().map(|(_, first)| format!("; the first: {first}"));
        (!told.is_empty()).then(|| format!("{}{}", told.join("; "), first.unwrap_or_default()))
    }

    /// That this end stood still, in words; `None`: it did not.
    pub fn stall(&self) -> Option<String> {
        (self.stalled_ns > 0).then(|| {
            format!(
                "what sends the requests stood still for {:.1} s: it was stopped or had no CPU, \
                 or the machine was suspended",
                self.stalled_ns as f64 / 1e9
            )
        })
    }

    /// Whether the schedule was kept: fewer than one in a hundred of the requests due waited for a
    /// connection when the phase ended, or, where that is less than one request, none did but one.
    pub fn kept_its_rate(&self) -> bool {
        schedule_was_kept(self.due as f64, self.unsent as f64)
    }
}

/// Whether a schedule was kept of whose `due` requests so many are missing: see
/// [`Phase::kept_its_rate`].
pub fn schedule_was_kept(due: f64, missing: f64) -> bool {
    missing <= (due / 100.0).max(1.0)
}

/// A response that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetched {
    /// The URL that was asked for.
    pub url: String,
    /// Its status.
    pub status: u16,
    /// Length of its body in bytes.
    pub body_bytes: u64,
    /// CRC-32 of its body, as of gzip.
    pub crc32: u32,
    /// Whether the body came in chunks.
    pub is_chunked: bool,
    /// The encoding of the content, such as `gzip`.
    pub encoding: Option<String>,
    /// Target of a redirect.
    pub location: Option<String>,
    /// The server's name for itself.
    pub server: Option<String>,
    /// Whether the server keeps the connection open.
    pub keeps_alive: bool,
    /// `Content-Length`, which the response to a HEAD has without a body. Not known of a response
    /// that another machine read.
    #[serde(skip)]
    pub content_length: Option<u64>,
}

impl Fetched {
    /// The same response, if it is one that a load can be measured with: its status is 2xx, and its
    /// content is as it is.
    ///
    /// # Errors
    /// [`ErrorKind::Remote`](zc_run::ErrorKind): a redirect, another status, an encoding.
    pub fn usable(self) -> Result<Self> {
        let url = escape(&self.url, 200);
        match (self.status, &self.location, &self.encoding) {
            (300..=399, Some(location), _) => {
                let location = escape(location, 200);
                Err(Error::remote(
                    "redirect",
                    format!("\"{url}\" is a redirect (status {}) to \"{location}\"", self.status),
                )
                .help("name that URL instead, if it is the one to measure"))
            }
            (200..=299, _, None) => Ok(self),
            (200..=299, _, Some(encoding)) => Err(self.encoded(encoding)),
            (status, ..) => Err(Error::remote(
                "unexpected-status",
                format!("the server answers \"{url}\" with status {status}"),
            )
            .help("check the URL: curl -i shows the whole answer")),
        }
    }

    /// That its content is encoded, as an error.
    pub(super) fn encoded(&self, encoding: &str) -> Error {
        let (url, encoding) = (escape(&self.url, 200), escape(encoding, 40));
        Error::remote(
            "unrequested-encoding",
            format!(
                "the server sends \"{url}\" with the encoding \"{encoding}\", though none was \
                 asked for"
            ),
        )
        .help("switch compression off in the server, or send --header 'Accept-Encoding: identity'")
    }
}
