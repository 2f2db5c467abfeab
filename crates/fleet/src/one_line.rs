//! Checks that every text of a fleet is of one line: most of them become parts of scripts, commands
//! and names of files, where a line break would begin something else.

use serde_json::Value;
use zc_run::is_safe;

/// Checks all texts of a document, keys and values, whatever fields it has.
///
/// # Errors
/// A sentence that names the first one that is not.
pub(super) fn check(document: &Value) -> Result<(), String> {
    match first_in(document, String::new()) {
        None => Ok(()),
        Some(at) => Err(format!("{at}: it has a line break or another control character")),
    }
}

/// Place of the first such text: `slurm.options[0]`.
fn first_in(value: &Value, at: String) -> Option<String> {
    let is_line = |text: &str| text.chars().all(is_safe);
    match value {
        Value::String(text) => (!is_line(text)).then_some(at),
        Value::Array(all) => all
            .iter()
            .enumerate()
            .find_map(|(place, each)| first_in(each, format!("{at}[{place}]"))),
        Value::Object(fields) => fields.iter().find_map(|(key, each)| {
            let dot = if at.is_empty() { "" } else { "." };
            let key_at = format!("{at}{dot}{}", zc_run::escape(key, 40));
            if is_line(key) { first_in(each, key_at) } else { Some(key_at) }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_that_is_of_several_lines_is_named_by_its_place() {
        assert_eq!(check(&json!({ "a": "one line", "b": [1, null, true, "ü"] })), Ok(()));
        for (document, at) in [
            (json!({ "slurm": { "options": ["--x", "a\nb"] } }), "slurm.options[1]: "),
            (json!({ "features": { "a\rb": "c" } }), "features.a\\rb: "),
            (json!([{ "x": "\u{0}" }]), "[0].x: "),
            (json!({ "x": "a\u{2028}b" }), "x: "),
        ] {
            let error = check(&document).unwrap_err();
            assert!(error.starts_with(at), "{error}");
        }
    }
}
