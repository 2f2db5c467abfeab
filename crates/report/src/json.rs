//! The report as one JSON document. Numbers are numbers, missing values null, and the name of a
//! field contains its unit. The unit of cost is microseconds of CPU time per MB (10^6 bytes),
//! `us_per_mb`, as in the table and in every other machine-readable output but metrics, which are
//! in base units.

use std::fmt::Write as _;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

use zc_analysis::Estimates;
use zc_analysis::profile::{ProfileEstimates, profile};
use zc_run::{End, Header, Run, is_safe};

/// Output of `--json`: the plan, the facts and the estimates. The raw counters are in the saved
/// run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Output of zc show --json")]
pub(super) struct Document<'a> {
    /// The run, without its blocks.
    run: Facts<'a>,
    /// All estimates of the run.
    estimates: &'a Estimates,
    /// Distribution of the CPU time, if the run was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileEstimates>,
}

/// The saved run without its blocks.
#[derive(Debug, Serialize, JsonSchema)]
struct Facts<'a> {
    /// The header of the saved run, unchanged.
    #[serde(flatten)]
    header: &'a Header,
    /// Number of blocks in the saved run, including dropped ones.
    blocks: usize,
    /// End of the run; null if it was killed.
    end: Option<&'a End>,
}

impl<'a> Document<'a> {
    /// The document of a run.
    pub(super) fn of(run: &'a Run, estimates: &'a Estimates) -> Self {
        let facts = Facts { header: &run.header, blocks: run.blocks.len(), end: run.end.as_ref() };
        Self { run: facts, estimates, profile: profile(run) }
    }
}

/// The whole document, indented, with a line feed at its end.
pub fn json(run: &Run, estimates: &Estimates) -> String {
    text(&Document::of(run, estimates))
}

/// The JSON Schema (draft 2020-12) of [`json`].
pub fn json_schema() -> String {
    schema_of::<Document<'static>>()
}

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
