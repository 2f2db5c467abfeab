//! The report as one JSON document. Numbers are numbers, absent is null, every field's unit stands in its name.

use schemars::JsonSchema;
use serde::Serialize;

use crate::estimate::Estimates;
use crate::record::{End, Header, Run};

/// What `--json` prints: what was asked and found, and what was computed. The raw counters are in the saved run.
#[derive(Debug, Serialize, JsonSchema)]
struct Document<'a> {
    /// The run without its blocks.
    run: Facts<'a>,
    /// Everything that is computed from it.
    estimates: &'a Estimates,
}

/// The saved run without its blocks.
#[derive(Debug, Serialize, JsonSchema)]
struct Facts<'a> {
    /// The header of the saved run, as it stands there.
    #[serde(flatten)]
    header: &'a Header,
    /// Blocks in the saved run, dropped ones too.
    blocks: usize,
    /// How it ended; null when it was killed before it could say.
    end: Option<&'a End>,
}

/// The whole document, indented, with a line feed at its end.
pub fn json(run: &Run, estimates: &Estimates) -> String {
    let facts = Facts { header: &run.header, blocks: run.blocks.len(), end: run.end.as_ref() };
    let mut text = serde_json::to_string_pretty(&Document { run: facts, estimates })
        .expect("these types always serialise: no maps with keys other than strings");
    text.push('\n');
    text
}
