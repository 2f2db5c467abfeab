//! `uring-receive`: cost of receiving through io_uring, as a program first does it and as its
//! authors advise.

use super::definition::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "uring-receive",
    question: "What does receiving through io_uring cost, first written and tuned?",
    title: "what receiving through io_uring costs, first written and tuned",
    budget: "60s",
    plan: Ok(PLAN),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["recv"]
unsoaked = "top-speed"

[fixed]
link = "veth"           # null has no receiver
paths = "sendfile"      # the sender that is in the receiver's way least

[reference]
recv = "recv"

[[factor]]
name = "recv"
levels = ["recv", "uring-recv", "uring-multishot", "uring-bundle", "uring-min-wait"]
"#;
