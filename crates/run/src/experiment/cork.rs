//! `cork`: effect of TCP_CORK, MSG_MORE and TCP_NODELAY on small writes.

use super::definition::{Definition, Tables};

pub(super) const DEFINITION: Definition = Definition {
    name: "cork",
    question: "What do TCP_CORK, MSG_MORE and TCP_NODELAY do to small writes?",
    title: "what TCP_CORK, MSG_MORE and TCP_NODELAY do to small writes",
    budget: "90s",
    plan: Ok(PLAN),
    tables: Some(Tables::SmallWrites),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["push"]
rates = "by-level"
unsoaked = "top-speed"

[fixed]
link = "veth"           # both ends are at issue
paths = "read+send"

[reference]
message = "64"

[[factor]]
name = "message"
levels = [64, 256, "1k", "4k", "64k"]

[[factor]]
name = "push"
levels = ["plain", "cork", "more", "nodelay"]
"#;
