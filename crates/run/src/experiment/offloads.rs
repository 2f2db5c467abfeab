//! `offloads`: savings from the offloads of a network card.

use super::definition::{Clause, Definition, Tables};
use crate::Factor;

pub(super) const DEFINITION: Definition = Definition {
    name: "offloads",
    question: "What does each offload of the network card save, and whom?",
    title: "what each offload of the network card saves",
    budget: "2m",
    plan: Ok(PLAN),
    tables: Some(Tables::Offloads),
    conclusion: &[Clause::Levels(Factor::Offloads, "What the offloads save, per byte")],
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["offloads"]

[[factor]]
name = "offloads"
levels = [
  "all", "no-tso", "no-tso+no-gro", "no-tso+no-gso", "no-checksum", "no-sg", "no-sg+no-checksum",
]

[[factor]]
name = "send"
levels = ["read+send", "sendfile", "splice", "msg-zerocopy"]
"#;
