//! `udp-receive`: cost of each way of receiving datagrams.

use super::definition::{Definition, Tables};

pub(super) const DEFINITION: Definition = Definition {
    name: "udp-receive",
    question: "What does each way of receiving datagrams cost?",
    title: "what each way of receiving UDP datagrams costs",
    budget: "1m",
    plan: Ok(PLAN),
    tables: Some(Tables::Datagrams),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["recv"]

[fixed]
link = "veth"           # null has no receiver
paths = "udp-gso"
segments = "44"

[[factor]]
name = "recv"
levels = ["udp-recvmsg", "udp-recvmmsg", "udp-gro"]
"#;
