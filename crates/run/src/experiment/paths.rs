//! `paths`: cost of each send path.

use super::definition::{Definition, Tables};

pub(super) const DEFINITION: Definition = Definition {
    name: "paths",
    question: "What does each way of sending cost here?",
    title: "what each way of sending costs",
    budget: "60s",
    plan: Ok(PLAN),
    tables: Some(Tables::PathsOf2001),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"

[[factor]]
name = "send"
levels = ["all"]
"#;
