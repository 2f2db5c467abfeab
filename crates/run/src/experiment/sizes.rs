//! `sizes`: cost of each send path by the size of its calls, and the size from which on it pays.

use super::definition::{Definition, Tables};

pub(super) const DEFINITION: Definition = Definition {
    name: "sizes",
    question: "From which size on does each path pay?",
    title: "from which size on each path pays",
    budget: "3m",
    plan: Ok(PLAN),
    tables: Some(Tables::Crossovers),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["send"]
rates = "by-level"      # what 64k can hold, 256 bytes cannot

[reference]
message = "64k"

[[factor]]
name = "message"
levels = [
  256, 512, "1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1m", "2m", "4m",
]

[[factor]]
name = "send"
levels = ["read+send", "mmap+write", "sendfile", "splice", "msg-zerocopy"]
"#;
