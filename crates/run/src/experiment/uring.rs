//! `uring`: cost of sending through io_uring, as a program first does it and as its authors advise.

use super::definition::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "uring",
    question: "What does sending through io_uring cost, first written and tuned?",
    title: "what sending through io_uring costs, first written and tuned",
    budget: "60s",
    plan: Ok(PLAN),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"

[[factor]]
name = "send"
levels = ["read+send", "sendfile", "uring-send", "uring-send-batch", "uring-send-bundle", "uring-send-zc", "uring-send-zc-fixed", "uring-send-zc-batch", "uring-sendmsg-zc"]
"#;
