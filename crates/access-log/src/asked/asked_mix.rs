//! What is asked for, in which shares, and what of a log it is not.

use serde::{Deserialize, Serialize};

use crate::mix::RequestMix;

/// How a mix is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedOptions {
    /// Number of requests of the cycle.
    pub count: usize,
    /// Longer responses are counted as this long.
    pub longest_bytes: u64,
    /// Decides the order, and which sizes of a long log are looked at.
    pub seed: u64,
}

impl AskedOptions {
    /// 256 requests of at most 1 MiB. Each of 256 strata holds 0.4 % of the requests, less than what
    /// a measured cost can tell. A longer response occupies a connection for longer than a stretch
    /// of measurement lasts, and its cost per byte is that of 1 MiB.
    pub fn usual(seed: u64) -> Self {
        Self { count: 256, longest_bytes: 1 << 20, seed }
    }
}

/// The kind of a request, by what its response is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedKind {
    /// GET, answered with 200: a file.
    Get,
    /// GET with a condition, answered with 304: nothing of a file.
    NotModified,
    /// HEAD, answered with 200: nothing of a file.
    Head,
    /// GET of a range, answered with 206: a part of a file.
    Range,
}

impl AskedKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Get, Self::NotModified, Self::Head, Self::Range];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET 200",
            Self::NotModified => "GET 304",
            Self::Head => "HEAD 200",
            Self::Range => "GET 206",
        }
    }
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Asked {
    /// Its kind.
    pub kind: AskedKind,
    /// Length of the file that is asked for; of a [`Range`](AskedKind::Range), of the range.
    pub bytes: u64,
}

/// Origin of a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Logs.
    Log,
    /// [`AskedMix::usual`]: what the web's files usually are.
    Usual,
}

/// A cycle of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskedMix {
    /// Its origin.
    pub source: Source,
    /// The requests, in the order in which they are sent.
    pub requests: Vec<Asked>,
    /// Requests of the log that it stands for, by kind, in the order of [`AskedKind::ALL`]. Those of
    /// a kind with less than half a request of the cycle are in none of its requests.
    pub of: [u64; AskedKind::ALL.len()],
    /// Requests of the log that it does not stand for.
    pub left_out: LeftOut,
    /// Responses are at most this long.
    pub longest_bytes: u64,
    /// Responses that were longer.
    pub cut: Cut,
    /// How the requests were made.
    pub spoken: Spoken,
}

impl AskedMix {
    /// Share of the requests of the log that this is not about.
    pub fn share_left_out(&self) -> f64 {
        let (of, out) = (self.of.iter().sum::<u64>(), self.left_out.total());
        share(out, of + out)
    }

    /// Share of a kind among the requests of the log that this is about.
    pub fn share_of(&self, kind: AskedKind) -> f64 {
        share(self.of[kind as usize], self.of.iter().sum())
    }

    /// Requests of a kind in the cycle.
    pub fn count_of(&self, kind: AskedKind) -> usize {
        self.requests.iter().filter(|asked| asked.kind == kind).count()
    }

    /// The mix without a kind, which the server answers otherwise; `None` if nothing is left. Its
    /// requests are then left out.
    #[must_use]
    pub fn without(&self, kind: AskedKind) -> Option<Self> {
        let mut rest = self.clone();
        rest.requests.retain(|asked| asked.kind != kind);
        rest.left_out.others += std::mem::take(&mut rest.of[kind as usize]);
        (!rest.requests.is_empty()).then_some(rest)
    }

    /// Bytes of all bodies of a cycle.
    pub fn body_bytes(&self) -> u64 {
        let has_body = |asked: &&Asked| matches!(asked.kind, AskedKind::Get | AskedKind::Range);
        self.requests.iter().filter(has_body).map(|asked| asked.bytes).sum()
    }
}

/// Requests that cannot be sent once more, by the reason: the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LeftOut {
    /// Methods other than GET and HEAD: they change something.
    pub other_methods: u64,
    /// Status 3xx but 304: no file was sent.
    pub redirects: u64,
    /// Status 4xx.
    pub client_errors: u64,
    /// Status 5xx.
    pub server_errors: u64,
    /// GET with 200 or 206 whose length is not logged, and ranges of no byte.
    pub unmeasured: u64,
    /// Everything else: no status, or another one; and a kind that is [left
    /// out](AskedMix::without) later.
    pub others: u64,
}

impl LeftOut {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.named().into_iter().map(|(_, requests)| requests).sum()
    }

    /// What they are, and how many.
    pub fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("of another method than GET and HEAD", self.other_methods),
            ("redirects", self.redirects),
            ("status 4xx", self.client_errors),
            ("status 5xx", self.server_errors),
            ("of unknown length", self.unmeasured),
            ("others", self.others),
        ]
    }
}

/// Responses that are sent shorter than they were in the log: shares of GET 200 and of ranges.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Cut {
    /// Share of these responses that were longer.
    pub requests: f64,
    /// Share of their bytes that is not sent.
    pub bytes: f64,
}

/// Shares of requests over TLS and by the version of HTTP, where the log says it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Spoken {
    /// Over TLS, of the requests of which it is known. That it is known of HTTP/2 and HTTP/3 alone
    /// says nothing of the others.
    pub tls: Option<f64>,
    /// HTTP/2, of the requests whose version is known.
    pub http2: Option<f64>,
    /// HTTP/3, of the same.
    pub http3: Option<f64>,
    /// Requests on a connection: of those whose place on it is known, by how many were the first.
    pub requests_per_connection: Option<f64>,
}

impl From<&RequestMix> for Spoken {
    fn from(mix: &RequestMix) -> Self {
        let known: u64 = mix.protocols.values().map(|tally| tally.requests).sum();
        let version = |name| {
            let requests = mix.protocols.get(name).map_or(0, |tally| tally.requests);
            (known > 0).then(|| share(requests, known))
        };
        let told = mix.tls.told();
        Self {
            tls: (told > 0).then(|| share(mix.tls.with.requests, told)),
            http2: version("HTTP/2"),
            http3: version("HTTP/3"),
            requests_per_connection: None,
        }
    }
}

/// `part` of `all`; 0 of nothing.
pub(super) fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}
