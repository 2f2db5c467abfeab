//! Saved runs as JSON values, for tests that change them by place, and the text of such a value.

use serde_json::{Map, Value};
use zc_run::Run;

/// The run as one JSON value: the header with the `blocks` and the `end` in it.
///
/// # Panics
/// The output of zc is not JSON.
#[must_use]
pub fn value(run: &Run) -> Value {
    from_lines(&zc_run::run_lines(run))
}

/// The lines of a saved run as one JSON value: see [`value`].
///
/// # Panics
/// They are not JSON.
#[must_use]
pub fn from_lines(text: &str) -> Value {
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON"));
    let mut lines: Vec<Value> = lines.collect();
    let mut document = lines.remove(0);
    let has_end = lines.last().is_some_and(|line| line.get("ended_at").is_some());
    document["end"] = lines.pop_if(|_| has_end).unwrap_or(Value::Null);
    document["blocks"] = Value::Array(lines);
    document
}

/// The document as zc writes it, whatever it holds: a line for the header, for each block, and for
/// the end.
#[must_use]
pub fn by_lines(document: &Value) -> String {
    let mut head: Map<String, Value> = document.as_object().cloned().unwrap_or_default();
    let blocks = head.remove("blocks").and_then(|blocks| blocks.as_array().cloned());
    let end = head.remove("end").filter(|end| !end.is_null());
    // A map of serde_json's is sorted; the version is what a run begins with.
    let version =
        head.remove("zc_run").map_or_else(String::new, |version| format!("\"zc_run\":{version},"));
    let rest = Value::Object(head).to_string();
    let mut text = format!("{{{version}{}\n", &rest[1..]);
    for line in blocks.into_iter().flatten().chain(end) {
        text += &line.to_string();
        text.push('\n');
    }
    text
}
