//! Directives of a site that speaks TLS.

use super::need::Need;
use crate::entry::{Entry, Tries};

pub(super) const ENTRIES: &[Entry<Need>] = &[
    Entry {
        directive: "SSLSessionCache",
        default: "none",
        default_before: None,
        tries: Tries::Switch(&["shmcb:ssl_scache(512000)"]),
        needs: &[],
        reason: "a client that comes again by TLS 1.2 without a ticket resumes its session, which \
                 saves the signature of a handshake",
        reference: "https://httpd.apache.org/docs/2.4/mod/mod_ssl.html#sslsessioncache",
    },
    Entry {
        directive: "SSLSessionTickets",
        default: "on",
        default_before: None,
        tries: Tries::Switch(&["on", "off"]),
        needs: &[],
        reason: "a client that comes again with a ticket resumes its session; making tickets \
                 costs each new connection a little",
        reference: "https://httpd.apache.org/docs/2.4/mod/mod_ssl.html#sslsessiontickets",
    },
];
