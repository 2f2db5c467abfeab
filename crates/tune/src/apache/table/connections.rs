//! How connections are accepted and kept, and what is written down about them.

use super::need::Need;
use crate::entry::{Entry, Tries};

pub(super) const ENTRIES: &[Entry<Need>] = &[
    Entry {
        directive: "MaxKeepAliveRequests",
        default: "100",
        default_before: None,
        tries: Tries::Amounts(&["100", "0"]),
        needs: &[],
        reason: "a connection that carries more requests (0: any number) spares handshakes, TLS's \
                 above all",
        reference: "https://httpd.apache.org/docs/2.4/mod/core.html#maxkeepaliverequests",
    },
    Entry {
        directive: "ListenBacklog",
        default: "511",
        default_before: None,
        tries: Tries::Amounts(&["511", "4096"]),
        needs: &[],
        reason: "connections that come in a burst wait in the queue instead of being tried again a \
                 second later",
        reference: "https://httpd.apache.org/docs/2.4/mod/mpm_common.html#listenbacklog",
    },
    Entry {
        directive: "ThreadsPerChild",
        default: "25",
        default_before: None,
        tries: Tries::Amounts(&["25", "64"]),
        needs: &[Need::Threads],
        reason: "fewer processes with more threads each have fewer switches of address spaces, and \
                 more contention for locks",
        reference: "https://httpd.apache.org/docs/2.4/mod/mpm_common.html#threadsperchild",
    },
    Entry {
        directive: "ExtendedStatus",
        // mod_status switches it on.
        default: "On",
        default_before: None,
        tries: Tries::Switch(&["On", "Off"]),
        needs: &[Need::Module("status_module")],
        reason: "for mod_status each request is written to the scoreboard with two times",
        reference: "https://httpd.apache.org/docs/2.4/mod/core.html#extendedstatus",
    },
];
