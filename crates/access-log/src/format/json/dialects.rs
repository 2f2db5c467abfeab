//! The keys of servers that write JSON.

use super::key::Role::{
    self, Method, OfConnection, OfTls, Protocol, Request, Scheme, Status, Time,
};
use crate::entry::{Counted, Stamp};

/// Keys by their paths, and which moment the time is.
pub(crate) struct Dialect {
    pub(super) keys: &'static [(&'static str, Role)],
    pub(super) stamp: Stamp,
    /// Whether the unit of durations is a setting of the server, and the one here its default.
    pub(super) has_any_unit: bool,
}

const BODY: Role = Role::Bytes(Counted::Body);
const WIRE: Role = Role::Bytes(Counted::Wire);
const UNSAID: Role = Role::Bytes(Counted::Unsaid);

const NS: Role = Role::Duration { unit_ns: 1 };
const MS: Role = Role::Duration { unit_ns: 1_000_000 };
const S: Role = Role::Duration { unit_ns: 1_000_000_000 };

/// Caddy: `size` is the body, `duration` in s unless `duration_format` says otherwise.
/// <https://caddyserver.com/docs/logging>
pub(crate) fn caddy() -> Dialect {
    Dialect {
        keys: &[
            ("ts", Time),
            ("status", Status),
            ("request.method", Method),
            ("request.proto", Protocol),
            ("size", BODY),
            ("duration", S),
            ("request.tls.version", OfTls),
        ],
        stamp: Stamp::End,
        has_any_unit: true,
    }
}

/// Traefik: `DownstreamContentSize` is the body, `Duration` in ns.
/// <https://doc.traefik.io/traefik/observability/access-logs/>
pub(crate) fn traefik() -> Dialect {
    Dialect {
        keys: &[
            ("StartUTC", Time),
            ("StartLocal", Time),
            ("time", Time),
            ("DownstreamStatus", Status),
            ("RequestMethod", Method),
            ("RequestProtocol", Protocol),
            ("DownstreamContentSize", BODY),
            ("Duration", NS),
            ("RequestScheme", Scheme),
            ("TLSVersion", OfTls),
        ],
        stamp: Stamp::Begin,
        has_any_unit: false,
    }
}

/// Envoy, with the keys of Istio and of Envoy's documentation, which are the operators' names in
/// small letters: `%BYTES_SENT%` is the body, `%DURATION%` in ms.
/// <https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage>
pub(crate) fn envoy() -> Dialect {
    Dialect {
        keys: &[
            ("start_time", Time),
            ("response_code", Status),
            ("method", Method),
            ("protocol", Protocol),
            ("bytes_sent", BODY),
            ("duration", MS),
        ],
        stamp: Stamp::Begin,
        has_any_unit: false,
    }
}

/// nginx with `escape=json` and the names of its variables as keys.
/// <https://nginx.org/en/docs/http/ngx_http_log_module.html>
pub(crate) fn nginx() -> Dialect {
    Dialect {
        keys: &[
            ("msec", Time),
            ("time_iso8601", Time),
            ("time_local", Time),
            ("status", Status),
            ("request_method", Method),
            ("request", Request),
            ("server_protocol", Protocol),
            ("body_bytes_sent", BODY),
            ("bytes_sent", WIRE),
            ("request_time", S),
            ("ssl_protocol", OfTls),
            ("ssl_cipher", OfTls),
            ("scheme", Scheme),
            ("connection_requests", OfConnection),
        ],
        stamp: Stamp::End,
        has_any_unit: false,
    }
}

/// Google Cloud's load balancers and whatever else logs an `HttpRequest`. `responseSize` has the
/// headers in it; `latency` is `0.012s`.
/// <https://cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry#HttpRequest>
pub(crate) fn google_cloud() -> Dialect {
    Dialect {
        keys: &[
            ("timestamp", Time),
            ("httpRequest.status", Status),
            ("httpRequest.requestMethod", Method),
            ("httpRequest.protocol", Protocol),
            ("httpRequest.responseSize", WIRE),
            ("httpRequest.latency", S),
            ("httpRequest.requestUrl", Scheme),
        ],
        stamp: Stamp::Begin,
        has_any_unit: false,
    }
}

/// Names that configurations use. They do not show which bytes are counted, nor the unit of a
/// duration.
pub(crate) fn common_names() -> Dialect {
    Dialect {
        keys: &[
            ("time", Time),
            ("timestamp", Time),
            ("@timestamp", Time),
            ("ts", Time),
            ("time_iso8601", Time),
            ("time_local", Time),
            ("msec", Time),
            ("start_time", Time),
            ("date", Time),
            ("status", Status),
            ("status_code", Status),
            ("response_code", Status),
            ("response.status_code", Status),
            ("http.response.status_code", Status),
            ("method", Method),
            ("request_method", Method),
            ("request.method", Method),
            ("http.request.method", Method),
            ("verb", Method),
            ("request", Request),
            ("protocol", Protocol),
            ("server_protocol", Protocol),
            ("request.proto", Protocol),
            ("body_bytes_sent", BODY),
            ("http.response.body.bytes", BODY),
            ("http.response.bytes", WIRE),
            ("bytes", UNSAID),
            ("size", UNSAID),
            ("bytes_sent", UNSAID),
            ("response_size", UNSAID),
            ("request_time", S),
            ("ssl_protocol", OfTls),
            ("scheme", Scheme),
            ("connection_requests", OfConnection),
        ],
        stamp: Stamp::End,
        has_any_unit: false,
    }
}
