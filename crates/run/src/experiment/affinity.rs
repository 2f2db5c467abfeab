//! `affinity`: effect of the choice of CPUs.

use super::definition::{Definition, Tables};

pub(super) const DEFINITION: Definition = Definition {
    name: "affinity",
    question: "What if both ends share a CPU, have one each, or go where the scheduler puts them?",
    title: "both ends on one machine, and on which CPUs",
    budget: "60s",
    plan: Ok(PLAN),
    tables: Some(Tables::Placements),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["placement"]
unsoaked = "top-speed"

[fixed]
link = "loopback"       # as in 2001
buffer = "8k"           # send(8k)

[[factor]]
name = "placement"
levels = ["free", "separate", "same"]

[[factor]]
name = "send"
levels = ["sendfile", "read+send"]
"#;
