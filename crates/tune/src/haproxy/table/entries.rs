//! The entries: how bytes go from socket to socket, how connections to servers are kept, what is
//! logged, buffers; and lines that operators ask about and that zc cannot try.

use super::entry::{Entry, Need};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        key: "option splice-auto",
        values: &[],
        need: Need::Splice,
        reason: "long responses go from socket to socket in the kernel (splice(2)): no copies, but \
                 a pipe and two calls for each part",
    },
    Entry {
        key: "option splice-response",
        values: &[],
        need: Need::Splice,
        reason: "every response goes from socket to socket in the kernel (splice(2)), which spares \
                 copies of long ones and costs calls for short ones",
    },
    Entry {
        key: "http-reuse",
        values: &["safe", "always"],
        need: Need::Http,
        reason: "a request over a connection to the server that is there already spares opening one",
    },
    Entry {
        key: "option http-server-close",
        values: &[],
        need: Need::Http,
        reason: "each request opens a connection to the server, and closes it",
    },
    Entry {
        key: "option httpclose",
        values: &[],
        need: Need::InEffect,
        reason: "each request opens connections on both sides, and closes them",
    },
    Entry {
        key: "log",
        values: &[],
        need: Need::InEffect,
        reason: "each request makes a line, and a call that sends it",
    },
    Entry {
        key: "option dontlog-normal",
        values: &[],
        need: Need::Logged,
        reason: "only requests with an error make a line",
    },
    Entry {
        key: "tune.bufsize",
        values: &["16384", "32768", "65536"],
        need: Need::Nothing,
        reason: "a larger buffer takes more of a response at once, for fewer calls and more memory",
    },
    Entry {
        key: "tune.pipesize",
        values: &["65536", "262144"],
        need: Need::Spliced,
        reason: "a larger pipe takes more of a response at once",
    },
    Entry {
        key: "tune.sndbuf.client",
        values: &["0", "131072"],
        need: Need::Nothing,
        reason: "the kernel buffers so much for a client, and not as it thinks best: fewer wake-ups, \
                 or more",
    },
    Entry {
        key: "tune.rcvbuf.server",
        values: &["0", "131072"],
        need: Need::Nothing,
        reason: "the kernel buffers so much of a server, and not as it thinks best",
    },
    Entry {
        key: "tune.ssl.maxrecord",
        values: &["0", "4096"],
        need: Need::Tls,
        reason: "smaller records are decrypted sooner, and cost more: a header and a call each",
    },
];

pub(super) const LEFT_OUT: &[(&str, &str)] = &[
    ("busy-polling", "a copy that polls never sleeps, and the copies share a CPU"),
    ("nbthread", "zc gives the server one CPU, on which more threads take turns"),
    ("tune.maxrewrite", "it is room for headers, and decides nothing about bodies"),
    (
        "compression algo gzip",
        "zc's load asks for no encoding, so that responses have the lengths of the log",
    ),
];
