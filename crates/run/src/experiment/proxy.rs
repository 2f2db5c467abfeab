//! `proxy`: cost of moving bytes from one connection to another, by way and by buffer.

use super::definition::{Definition, Tables};

pub(super) const DEFINITION: Definition = Definition {
    name: "proxy",
    question: "What does a byte through a proxy cost, and from how many bytes at a time does \
        splice pay?",
    title: "what a byte through a proxy costs, by recv and send, by splice and inside the kernel",
    budget: "2m",
    plan: Ok(PLAN),
    tables: Some(Tables::Proxies),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["proxy", "proxy-buffer"]

[fixed]
link = "veth"           # the receiver's CPU is the proxy's alone
paths = "sendfile"      # a sender and a receiver that are in the proxy's way least
recv = "recv-trunc"

[reference]
proxy = "recv+send"
proxy-buffer = "64k"

[[factor]]
name = "proxy"
levels = ["recv+send", "splice", "uring-splice", "sockmap"]

[[factor]]
name = "proxy-buffer"
levels = ["4k", "16k", "64k", "256k", "none"]   # none is for sockmap, which has no buffer
"#;
