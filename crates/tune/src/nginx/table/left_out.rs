//! Directives that operators ask about and that zc cannot try, each with the reason.

use crate::candidate::Offer;

const LEFT_OUT: [(&str, &str); 4] = [
    (
        "worker_cpu_affinity",
        "zc gives the server one CPU, so that what it costs can be told from what the load costs; \
         there is nothing to distribute",
    ),
    ("worker_processes", "zc gives the server one CPU, on which more workers take turns"),
    (
        "gzip_static",
        "zc's load asks for no encoding, so that responses have the lengths of the log; files that \
         are compressed already would be sent like others of their length",
    ),
    (
        "keepalive_timeout",
        "zc's connections are never idle for seconds, and what idle ones cost is memory",
    ),
];

pub(super) fn offers() -> Vec<Offer> {
    let offer = |(name, why): &(&str, &str)| Offer::Not {
        name: (*name).to_owned(),
        why: (*why).to_owned(),
    };
    LEFT_OUT.iter().map(offer).collect()
}
