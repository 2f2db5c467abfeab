//! The writer of JSON documents and of their schemas.

use std::fmt::Write as _;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use zc_run::is_safe;

/// The schema of a document as it is serialised.
pub(super) fn schema_of<T: JsonSchema>() -> String {
    text(
        &SchemaSettings::draft2020_12()
            .for_serialize()
            .into_generator()
            .into_root_schema_for::<T>(),
    )
}

/// The document indented, with a line feed at its end. JSON requires escapes only for characters
/// below U+0020. Characters that move a terminal's cursor or change the direction of text are
/// escaped too; they occur only inside strings.
pub(super) fn text(document: &impl Serialize) -> String {
    let plain = serde_json::to_string_pretty(document)
        .expect("these types always serialise: no maps with keys other than strings");
    let mut text = String::with_capacity(plain.len() + 1);
    let mut rest = plain.as_str();
    // Almost all of it is printable ASCII: a document may have 100 MB.
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n');
    while let Some(at) = rest.bytes().position(|byte| !is_plain(byte)) {
        text.push_str(&rest[..at]);
        let Some(character) = rest[at..].chars().next() else { break };
        if is_safe(character) {
            text.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                // Writing to a String cannot fail.
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
        rest = &rest[at + character.len_utf8()..];
    }
    text.push_str(rest);
    text.push('\n');
    text
}
