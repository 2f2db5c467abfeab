//! `requests`: cost of a response to a server, by its length and the send path.

use super::definition::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "requests",
    question: "What does a response of each length cost a server, and which path saves?",
    title: "what a response costs a server, by its length and the send path",
    budget: "2m",
    plan: Ok(PLAN),
    examples: &[
        ("zc run requests", "responses of ten lengths, by every path"),
        ("zc run requests --responses close", "with a connection for each"),
    ],
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["send"]
rates = "by-level"

[fixed]
responses = "keep-alive"

[reference]
message = "64k"

[[factor]]
name = "message"
levels = [64, "1k", "4k", "16k", "64k", "256k", "1m", "4m", "16m", "64m"]

[[factor]]
name = "send"
levels = ["read+send", "mmap+write", "sendfile"]
"#;
