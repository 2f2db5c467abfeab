//! How bytes go from socket to socket, and how connections to servers are kept.

use super::entry::{Entry, Need, Tries};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        key: "option splice-auto",
        tries: Tries::Switch,
        needs: &[Need::Splice],
        reason: "long responses go from socket to socket in the kernel (splice(2)): no copies, but \
                 a pipe and two calls for each part",
        section: "4-option%20splice-auto",
    },
    Entry {
        key: "option splice-response",
        tries: Tries::Switch,
        needs: &[Need::Splice],
        reason: "every response goes from socket to socket in the kernel (splice(2)), which spares \
                 copies of long ones and costs calls for short ones",
        section: "4-option%20splice-response",
    },
    Entry {
        key: "http-reuse",
        tries: Tries::Values(&["safe", "aggressive", "always", "never"]),
        needs: &[Need::Http],
        reason: "a request over a connection to the server that is there already spares opening one",
        section: "4-http-reuse",
    },
    Entry {
        key: "option http-server-close",
        tries: Tries::Switch,
        needs: &[Need::Http],
        reason: "each request opens a connection to the server, and closes it",
        section: "4-option%20http-server-close",
    },
    Entry {
        key: "option httpclose",
        tries: Tries::Off,
        needs: &[Need::Http],
        reason: "each request opens connections on both sides, and closes them",
        section: "4-option%20httpclose",
    },
    Entry {
        key: "option http-buffer-request",
        tries: Tries::Off,
        needs: &[Need::Http],
        reason: "the server is asked only when the whole request is there",
        section: "4-option%20http-buffer-request",
    },
    Entry {
        key: "option http-no-delay",
        tries: Tries::Off,
        needs: &[Need::Http],
        reason: "each part of a response is a packet of its own, as it would be without Nagle's \
                 algorithm",
        section: "4-option%20http-no-delay",
    },
    Entry {
        key: "option contstats",
        tries: Tries::Off,
        needs: &[],
        reason: "counters are updated while a response is sent, and not at its end",
        section: "4-option%20contstats",
    },
];
