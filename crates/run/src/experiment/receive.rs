//! `receive`: cost of each receive path, by its buffer.

use super::definition::{Definition, Tables};

pub(super) const DEFINITION: Definition = Definition {
    name: "receive",
    question: "What does each way of receiving cost, and with which buffer?",
    title: "what each way of receiving costs, and with which buffer",
    budget: "2m",
    plan: Ok(PLAN),
    tables: Some(Tables::Receivers),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["recv"]
unsoaked = "top-speed"

[fixed]
link = "veth"           # null has no receiver
paths = "sendfile"      # the sender that is in the receiver's way least

[reference]
recv-buffer = "16k"     # as in 2001

[[factor]]
name = "recv-buffer"
levels = ["16k", "64k", "1m"]

[[factor]]
name = "recv"
levels = ["recv", "recv-trunc", "splice", "zerocopy-receive", "uring-recv", "uring-multishot"]
"#;
