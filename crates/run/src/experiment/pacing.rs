//! `pacing`: dependence of the cost on the rate.

use super::definition::{Clause, Definition, Tables};
use crate::Factor;

pub(super) const DEFINITION: Definition = Definition {
    name: "pacing",
    question: "How does the cost of a megabyte depend on the rate?",
    title: "how the cost depends on the rate",
    budget: "2m",
    plan: Ok(PLAN),
    tables: Some(Tables::Components),
    conclusion: &[Clause::Levels(Factor::Rate, "Of rates, per byte")],
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["rate"]

[fixed]
window = "24ms"         # at the lowest rate 6 ms hold some 300 kB
idle = "12ms"

[reference]
rate = "400MB/s"

[[factor]]
name = "rate"
levels = ["50MB/s", "100MB/s", "200MB/s", "400MB/s", "800MB/s", "1.2GB/s", "1.6GB/s"]

[[factor]]
name = "send"
levels = ["read+send", "sendfile", "splice", "msg-zerocopy"]
"#;
