//! `components`: cost of wake-ups, calls and bytes, from rates and message sizes.

use super::definition::{Definition, Tables};

pub(super) const DEFINITION: Definition = Definition {
    name: "components",
    question: "What do a wake-up, a call and a byte cost, and does that tell the cost at another \
        rate?",
    title: "what a wake-up, a call and a byte cost",
    budget: "4m",
    plan: Ok(PLAN),
    tables: Some(Tables::Components),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["send"]

[fixed]
window = "24ms"         # at the lowest rate 6 ms hold some 120 kB
idle = "12ms"

[reference]
rate = "200MB/s"
message = "64k"

[[factor]]
name = "rate"
levels = ["20MB/s", "50MB/s", "200MB/s", "400MB/s", "1.6GB/s"]

[[factor]]
name = "message"
levels = ["16k", "64k", "256k"]

[[factor]]
name = "send"
levels = ["read+send", "sendfile", "msg-zerocopy"]
"#;
