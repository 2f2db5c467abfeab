//! `congestion`: cost of congestion controls.

use super::definition::{Clause, Definition};
use crate::Factor;

pub(super) const DEFINITION: Definition = Definition {
    name: "congestion",
    question: "What does the congestion control cost?",
    title: "what the congestion control costs",
    budget: "60s",
    plan: Ok(PLAN),
    conclusion: &[Clause::Levels(Factor::Congestion, "Of congestion controls, per byte")],
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["congestion"]
unsoaked = "top-speed"

[[factor]]
name = "congestion"
levels = ["cubic", "reno", "bbr", "dctcp"]

[[factor]]
name = "send"
levels = ["read+send", "sendfile", "msg-zerocopy"]
"#;
