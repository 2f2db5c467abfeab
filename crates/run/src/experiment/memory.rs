//! `memory`: speed of this machine's memory, which limits every path that copies.

use super::definition::{Definition, NoPlan};

pub(super) const DEFINITION: Definition = Definition {
    name: "memory",
    question: "How fast is this machine's memory, the limit of every path that copies?",
    title: "how fast this machine's memory is",
    budget: "20s",
    plan: Err(NoPlan { why: "sends nothing", arguments: "" }),
    examples: &[
        ("zc run memory", "bandwidth by working set"),
        ("zc run memory --with zc-DATE.jsonl.gz", "and how near to it the top speeds of a run are"),
    ],
    ..Definition::DEFAULT
};
