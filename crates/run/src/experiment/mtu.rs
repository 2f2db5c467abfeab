//! `mtu`: savings from a larger MTU, and messages that are not page-aligned.

use super::definition::{Clause, Definition};
use crate::Factor;

pub(super) const DEFINITION: Definition = Definition {
    name: "mtu",
    question: "What does a larger MTU save, and what does it matter where on its page a message \
        begins?",
    title: "what a larger MTU saves",
    budget: "90s",
    plan: Ok(PLAN),
    conclusion: &[
        Clause::Levels(Factor::Mtu, "Of MTUs, per byte"),
        Clause::Uncompared(Factor::Align, "of where a message begins, at the first MTU"),
    ],
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["mtu"]
unsoaked = "top-speed"
rates = "by-level"      # what a byte behind a page can hold, sendfile holds four times over

[fixed]
buffer = "8k"

[[factor]]
name = "align"
levels = ["page", "byte"]

[[factor]]
name = "mtu"
levels = [1500, 3856, 9000, 16144, 16436, 65535]

[[factor]]
name = "send"
levels = ["read+send", "sendfile"]
"#;
