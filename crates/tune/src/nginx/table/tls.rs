//! Directives of a site that speaks TLS.

use super::need::Need;
use crate::entry::{Entry, Tries};

pub(super) const ENTRIES: &[Entry<Need>] = &[
    Entry {
        directive: "ssl_buffer_size",
        default: "16k",
        default_before: None,
        tries: Tries::Amounts(&["4k", "16k", "64k"]),
        needs: &[],
        reason: "smaller ones send the first byte of a response sooner, larger ones take fewer \
                 calls",
        reference: "https://nginx.org/en/docs/http/ngx_http_ssl_module.html#ssl_buffer_size",
    },
    Entry {
        directive: "ssl_session_cache",
        default: "none",
        default_before: None,
        tries: Tries::Switch(&["shared:SSL:10m"]),
        needs: &[],
        reason: "a client that comes again by TLS 1.2 without a ticket resumes its session, which \
                 saves the signature of a handshake",
        reference: "https://nginx.org/en/docs/http/ngx_http_ssl_module.html#ssl_session_cache",
    },
    Entry {
        directive: "ssl_session_tickets",
        default: "on",
        default_before: None,
        tries: Tries::Switch(&["on", "off"]),
        needs: &[],
        reason: "a client that comes again with a ticket resumes its session; making tickets \
                 costs each new connection a little",
        reference: "https://nginx.org/en/docs/http/ngx_http_ssl_module.html#ssl_session_tickets",
    },
];
