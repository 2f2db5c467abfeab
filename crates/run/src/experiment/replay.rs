//! `replay`: cost to a server of the responses of an access log, as they are and by their lengths.

use super::definition::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "replay",
    question: "What do the responses of a log cost a server by each path, and is it what their \
        lengths tell?",
    title: "what the responses of an access log cost a server",
    budget: "3m",
    plan: Ok(PLAN),
    private: Some("what is in their log"),
    examples: &[("zc run replay --log access.log", "the responses of a log, by every path")],
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
