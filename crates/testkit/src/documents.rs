//! Saved runs as JSON values, for tests that change them by place, and the text of such a value.

use serde_json::Value;
use zc_run::Run;

/// The run as one JSON value.
///
/// # Panics
/// The output of zc is not JSON.
#[must_use]
pub fn value(run: &Run) -> Value {
    serde_json::from_str(&zc_run::whole(run)).expect("zc writes JSON")
}

/// The document as zc writes it, whatever it holds: the header on one line, then one block per
/// line.
#[must_use]
pub fn by_lines(document: &Value) -> String {
    let mut head = document.as_object().cloned().unwrap_or_default();
    let blocks = head.remove("blocks").unwrap_or(Value::Null);
    let end = head.remove("end").unwrap_or(Value::Null);
    // A map of serde_json's is sorted; the version is what a run begins with.
    let version =
        head.remove("zc_run").map_or_else(String::new, |version| format!("\"zc_run\":{version},"));
    let rest = Value::Object(head).to_string();
    let blocks: Vec<String> =
        blocks.as_array().map_or_else(Vec::new, |all| all.iter().map(Value::to_string).collect());
    format!(
        "{{{version}{},\"blocks\":[\n{}\n],\"end\":{end}}}\n",
        &rest[1..rest.len() - 1],
        blocks.join(",\n")
    )
}
