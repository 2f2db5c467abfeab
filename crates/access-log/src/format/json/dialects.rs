//! The keys of servers that write JSON.

use super::key::Role::{self, Body, Method, Protocol, Request, Status, Time, Unsaid, Wire};
use crate::entry::Stamp;

/// Keys by their paths, and which moment the time is.
pub(crate) struct Dialect {
    pub(super) keys: &'static [(&'static str, Role)],
    pub(super) stamp: Stamp,
}

const NS: Role = Role::Duration { unit_ns: 1 };
const MS: Role = Role::Duration { unit_ns: 1_000_000 };
const S: Role = Role::Duration { unit_ns: 1_000_000_000 };

/// Caddy: `size` is the body, `duration` in s.
/// <https://caddyserver.com/docs/logging>
pub(crate) fn caddy() -> Dialect {
    Dialect {
        keys: &[
            ("ts", Time),
            ("status", Status),
            ("request.method", Method),
            ("request.proto", Protocol),
            ("size", Body),
            ("duration", S),
        ],
        stamp: Stamp::End,
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
            ("DownstreamContentSize", Body),
            ("Duration", NS),
        ],
        stamp: Stamp::Begin,
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
            ("bytes_sent", Body),
            ("duration", MS),
        ],
        stamp: Stamp::Begin,
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
            ("body_bytes_sent", Body),
            ("bytes_sent", Wire),
            ("request_time", S),
        ],
        stamp: Stamp::End,
    }
}

/// Names that configurations use. Of what the bytes are cannot be told from them, nor of a duration
/// its unit.
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
            ("body_bytes_sent", Body),
            ("http.response.body.bytes", Body),
            ("http.response.bytes", Wire),
            ("bytes", Unsaid),
            ("size", Unsaid),
            ("bytes_sent", Unsaid),
            ("response_size", Unsaid),
            ("request_time", S),
        ],
        stamp: Stamp::End,
    }
}
