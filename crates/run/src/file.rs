//! The saved run as text: JSON Lines. The first line is the header, then follows a line for each
//! block, and the last one is the end of the run.
//!
//! ```text
//! {"zc_run":4,"zc_run_minor":0,...}
//! {"index":0,...}
//! {"index":1,...}
//! {"ended_at":"...",...}
//! ```
//!
//! In a compressed file each line is a gzip member of its own, so a line is appended in one write,
//! and a file that was cut off is whole up to its last member. Functions here make the text:
//! `zc-measure` writes the files, and the module `read` reads them.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

use super::{Block, End, Header, MAJOR, MINOR, Run};

/// The first line of a file.
pub fn header_line(header: &Header) -> String {
    line(header)
}

/// The line of a block.
pub fn block_line(block: &Block) -> String {
    line(block)
}

/// The last line of a finished run.
pub fn end_line(end: &End) -> String {
    line(end)
}

/// All lines of a run.
pub fn run_lines(run: &Run) -> String {
    let end = run.end.iter().map(end_line);
    let lines = run.blocks.iter().map(block_line).chain(end);
    std::iter::once(header_line(&run.header)).chain(lines).collect()
}

/// Each line as a gzip member.
///
/// # Panics
/// Never: memory takes every write.
pub fn gzip_members(lines: &str) -> Vec<u8> {
    lines.split_inclusive('\n').fold(Vec::new(), |members, line| {
        let mut member = GzEncoder::new(members, Compression::default());
        member.write_all(line.as_bytes()).expect("memory takes every write");
        member.finish().expect("memory takes every write")
    })
}

/// Whether a file of this name is written compressed.
pub fn is_compressed(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("gz"))
}

fn line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value)
        .expect("the record's types always serialise: no maps with non-string keys");
    line.push('\n');
    line
}

/// A line of a saved run of zc, which is JSON Lines: the first line is the header, then follows a
/// line for each block, and the last one is the end of the run, which a run that was killed lacks.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code)] // only its schema is used
enum Line {
    Header(Box<Header>),
    Block(Block),
    End(End),
}

/// The JSON Schema (draft 2020-12) of a line of a saved run, indented, with a line feed at its end.
pub fn schema() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Line>();
    let title = format!("Line of a saved run of zc, format {MAJOR}.{MINOR}");
    schema.insert("title".to_owned(), title.into());
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

#[cfg(test)]
mod tests;
