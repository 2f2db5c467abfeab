//! `udp`: cost of each way of sending datagrams, by how many a call takes, beside TCP.

use super::definition::{Definition, Tables};

pub(super) const DEFINITION: Definition = Definition {
    name: "udp",
    question: "What does a byte cost in datagrams, by how many a call takes?",
    title: "what a byte costs in UDP datagrams, by how many a call takes",
    budget: "2m",
    plan: Ok(PLAN),
    tables: Some(Tables::Datagrams),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["send", "segments"]

[[factor]]
name = "send"
levels = ["read+send", "sendfile", "udp-send", "udp-zerocopy", "udp-sendmmsg", "udp-gso", "udp-gso-zerocopy", "udp-uring", "udp-uring-zc", "udp-uring-vectored", "quic-like"]

[[factor]]
name = "segments"
levels = ["1", "4", "16", "44"]
"#;
