//! `flows`: cost of many connections.

use super::definition::{Clause, Definition};
use crate::Factor;

pub(super) const DEFINITION: Definition = Definition {
    name: "flows",
    question: "What do many connections cost, on a CPU for each end and on all of them?",
    title: "what many connections cost",
    budget: "4m",
    plan: Ok(PLAN),
    conclusion: &[Clause::Levels(Factor::Flows, "Of so many connections, per byte")],
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["flows"]
unsoaked = "top-speed"

[fixed]
link = "veth"
rate = "200MB/s"        # of pieces of 16k, which many flows send, a CPU can do some 50,000 a second
idle = "20ms"           # what a thousand threads leave behind takes its time

[[factor]]
name = "placement"
levels = ["separate", "free"]

[[factor]]
name = "flows"
levels = [1, 10, 100, 1000]

[[factor]]
name = "send"
levels = ["read+send", "sendfile"]
"#;
