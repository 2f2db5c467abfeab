//! How connections are accepted, kept and written to.

use super::need::Need;
use crate::entry::{Entry, Tries};

pub(super) const ENTRIES: &[Entry<Need>] = &[
    Entry {
        directive: "tcp_nodelay",
        default: "on",
        default_before: None,
        tries: Tries::Switch(&["on", "off"]),
        needs: &[],
        reason: "without it the end of a response on a kept connection may wait for an \
                 acknowledgement; with it nginx makes one more system call for a connection",
        reference: "https://nginx.org/en/docs/http/ngx_http_core_module.html#tcp_nodelay",
    },
    Entry {
        directive: "keepalive_requests",
        default: "1000",
        default_before: Some(((1, 19, 10), "100")),
        tries: Tries::Amounts(&["1000", "100000"]),
        needs: &[],
        reason: "a connection that carries more requests spares handshakes, TLS's above all",
        reference: "https://nginx.org/en/docs/http/ngx_http_core_module.html#keepalive_requests",
    },
];
