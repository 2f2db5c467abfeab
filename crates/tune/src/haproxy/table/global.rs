//! Buffers, pipes and the scheduler: lines of the global section.

use super::entry::{Entry, Need, Tries};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        key: "tune.bufsize",
        tries: Tries::Values(&["16384", "32768", "65536"]),
        needs: &[],
        reason: "a larger buffer takes more of a response at once, for fewer calls and more memory",
        section: "3.2-tune.bufsize",
    },
    Entry {
        key: "tune.pipesize",
        tries: Tries::Values(&["65536", "262144"]),
        needs: &[Need::Spliced],
        reason: "a larger pipe takes more of a response at once",
        section: "3.2-tune.pipesize",
    },
    Entry {
        key: "tune.sndbuf.client",
        tries: Tries::Values(&["0", "131072"]),
        needs: &[],
        reason: "the kernel buffers so much for a client, and not as it thinks best: fewer wake-ups, \
                 or more",
        section: "3.2-tune.sndbuf.client",
    },
    Entry {
        key: "tune.rcvbuf.server",
        tries: Tries::Values(&["0", "131072"]),
        needs: &[],
        reason: "the kernel buffers so much of a server, and not as it thinks best",
        section: "3.2-tune.rcvbuf.server",
    },
    Entry {
        key: "tune.sched.low-latency",
        tries: Tries::Values(&["off", "on"]),
        needs: &[],
        reason: "what is urgent does not wait for what is not, for more turns of the scheduler",
        section: "3.2-tune.sched.low-latency",
    },
    Entry {
        key: "tune.idle-pool.shared",
        tries: Tries::Values(&["on", "off"]),
        needs: &[Need::Threads],
        reason: "a thread takes over idle connections of others, which spares opening some and takes \
                 locks",
        section: "3.2-tune.idle-pool.shared",
    },
    Entry {
        key: "tune.disable-zero-copy-forwarding",
        tries: Tries::Once,
        needs: &[],
        reason: "since 2.9 responses pass through without a buffer between; this puts it back",
        section: "3.2-tune.disable-zero-copy-forwarding",
    },
    Entry {
        key: "tune.ssl.maxrecord",
        tries: Tries::Values(&["0", "4096"]),
        needs: &[Need::Tls],
        reason: "smaller records are decrypted sooner, and cost more: a header and a call each",
        section: "3.2-tune.ssl.maxrecord",
    },
];
