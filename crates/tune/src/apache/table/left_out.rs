//! Directives that operators ask about and that zc cannot try, each with the reason.

use super::context::Context;
use crate::candidate::Offer;

const LEFT_OUT: [(&str, &str); 8] = [
    (
        "KeepAlive",
        "zc's load keeps its connections: without KeepAlive each request would be a handshake, too",
    ),
    (
        "KeepAliveTimeout",
        "zc's connections are never idle for seconds, and what idle ones cost is memory and, with \
         other MPMs than event, a thread",
    ),
    ("FlushMaxPipelined", "zc's load asks for nothing before it has the response before"),
    (
        "HostnameLookups",
        "there is no name server beside the copies; Off saves a name server's answer for each \
         connection",
    ),
    (
        "AddOutputFilterByType DEFLATE",
        "zc's load asks for no encoding, so that responses have the lengths of the log",
    ),
    ("CacheFile", "it names single files of the site, in whose place the copies have others"),
    (
        "sysctls such as net.ipv4.tcp_congestion_control",
        "Apache takes over no listening socket, which could have them for itself, and the copies \
         share a network namespace",
    ),
    ("MaxRequestWorkers", "zc gives the server one CPU, on which more workers take turns"),
];

/// kTLS, of a site that speaks TLS: `bio_filter_out_method` of mod_ssl.
const KTLS: (&str, &str) = (
    "SSLOpenSSLConfCmd Options KTLS",
    "mod_ssl writes through buffers of its own and not to the socket, so that the kernel cannot \
     encrypt (modules/ssl/ssl_engine_io.c)",
);

pub(super) fn offers(context: &Context<'_>) -> Vec<Offer> {
    let offer =
        |(name, why): (&str, &str)| Offer::Not { name: name.to_owned(), why: why.to_owned() };
    let of_tls = context.is_https.then_some(KTLS);
    LEFT_OUT.into_iter().chain(of_tls).map(offer).collect()
}
