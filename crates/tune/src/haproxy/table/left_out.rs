//! Lines that operators ask about and that zc cannot try, each with the reason.

use crate::candidate::Offer;

const LEFT_OUT: [(&str, &str); 7] = [
    ("busy-polling", "a copy that polls never sleeps, and the copies share a CPU"),
    ("nbthread", "zc gives the server one CPU, on which more threads take turns"),
    (
        "option tcp-smart-accept",
        "it is about the first packets of a connection, and zc's are kept, or few of the requests",
    ),
    (
        "option tcp-smart-connect",
        "it is about the first packets of a connection to a server, which are kept",
    ),
    (
        "compression algo gzip",
        "zc's load asks for no encoding, so that responses have the lengths of the log",
    ),
    ("balance", "all servers are one origin of zc's, which answers alike"),
    ("timeout client", "zc's connections are never idle for seconds"),
];

pub(super) fn offers() -> Vec<Offer> {
    let offer =
        |(name, why): (&str, &str)| Offer::Not { name: name.to_owned(), why: why.to_owned() };
    LEFT_OUT.into_iter().map(offer).collect()
}
