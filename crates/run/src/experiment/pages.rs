//! `pages`: savings from huge pages for the paths that send from memory.

use super::definition::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "pages",
    question: "What do huge pages save a program that sends from its own memory?",
    title: "what huge pages save a program that sends from its own memory",
    budget: "60s",
    plan: Ok(PLAN),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["pages"]

[reference]
send = "msg-zerocopy"

[[factor]]
name = "pages"
levels = ["scattered", "huge"]

[[factor]]
name = "send"
levels = ["vmsplice", "msg-zerocopy", "uring-send-zc", "uring-send-zc-fixed"]
"#;
