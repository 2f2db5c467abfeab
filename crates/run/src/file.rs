//! The saved run as text: one JSON document with one block per line. So a block can be appended
//! without rewriting the file, the file is valid JSON after every append, and a truncated file can
//! be read up to its last whole line.
//!
//! ```text
//! {"zc_run":3,"zc_run_minor":0,...,"blocks":[
//! {"index":0,...},
//! {"index":1,...}
//! ],"end":null}
//! ```
//!
//! The module `line` encodes a block. Functions here work on text: `zc-measure` writes the files,
//! and the module `read` reads them. docs/format.md describes the format for readers in other
//! languages.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;

use super::line::{self, BlockLine, Room};
use super::version::Found;
use super::{Block, End, Error, FormatVersion, Header, MAJOR, MINOR, Result, Run, SoftirqCounts};

/// The end of the header's line, after which the blocks begin.
pub(super) const BLOCKS: &str = "\"blocks\":[";

/// The head of the file, and the tail that completes the document while it has no block.
pub fn open(header: &Header) -> (String, String) {
    let mut head = json(header);
    head.pop(); // the closing brace: blocks and end follow inside the same object
    head.push(',');
    head.push_str(BLOCKS);
    head.push('\n');
    (head, tail(None))
}

/// The text that replaces the tail when a block is added: the block's line, and the new tail.
pub fn append_block(block: &Block, first: bool) -> (String, String) {
    let line = line::write(block);
    (if first { line } else { format!(",\n{line}") }, tail(None))
}

/// The tail of a finished run.
pub fn close(end: &End) -> String {
    tail(Some(end))
}

/// The whole file.
pub fn whole(run: &Run) -> String {
    let (mut text, _) = open(&run.header);
    for (place, block) in run.blocks.iter().enumerate() {
        text.push_str(&append_block(block, place == 0).0);
    }
    text + &tail(run.end.as_ref())
}

fn tail(end: Option<&End>) -> String {
    format!("\n],\"end\":{}}}\n", end.map_or_else(|| "null".to_owned(), json))
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value)
        .expect("the record's types always serialise: no maps with non-string keys")
}

/// The part of the file after the blocks.
#[derive(Deserialize)]
struct Tail {
    end: Option<End>,
}

/// The tail, from the line that ends the blocks to the end of the file.
pub(super) fn read_tail(text: &[u8]) -> serde_json::Result<Option<End>> {
    let inside = text.strip_prefix(b"]").unwrap_or(text);
    let inside = inside.strip_prefix(b",").unwrap_or(inside);
    let tail: Tail = serde_json::from_slice(&[b"{", inside].concat())?;
    Ok(tail.end)
}

/// The header, from the line that ends with [`BLOCKS`].
pub(super) fn read_header(line: &[u8]) -> serde_json::Result<Header> {
    serde_json::from_slice(&closed(line)).map(converted)
}

/// Converts the header of an older major version to the current one. The types accept the old names
/// of fields.
fn converted(mut header: Header) -> Header {
    if header.format.major < MAJOR {
        header.format = FormatVersion::current();
    }
    header
}

/// The line of the header as a document of its own.
fn closed(line: &[u8]) -> Vec<u8> {
    let head = line.strip_suffix(BLOCKS.as_bytes()).unwrap_or(line);
    [head.strip_suffix(b",").unwrap_or(head), b"}"].concat()
}

/// A saved run of zc as one JSON document. zc writes the header on one line, then one block per
/// line, then the end, so that a block can be appended; a reader may take the file apart by lines,
/// or parse it as one document.
#[derive(Deserialize, JsonSchema)]
#[schemars(title = "Saved run of zc")]
struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    /// The blocks, in the order in which they were measured.
    #[serde(borrow)]
    blocks: Vec<BlockLine<'a>>,
    /// End of the run; null if it was killed.
    end: Option<End>,
}

/// The JSON Schema (draft 2020-12) of a saved run, indented, with a line feed at its end.
pub fn schema() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Document<'static>>();
    schema.insert("title".to_owned(), format!("Saved run of zc, format {MAJOR}.{MINOR}").into());
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

/// A run whose JSON does not have one block per line, because another program has written it.
pub(super) fn read_document(text: &[u8]) -> serde_json::Result<Run> {
    let Document { header, blocks, end } = serde_json::from_slice(text)?;
    let (mut known, mut room) = (SoftirqCounts::default(), Room::of(text.len()));
    let blocks = blocks
        .into_iter()
        .map(|block| block.block(&mut known, &mut room))
        .collect::<serde_json::Result<_>>()?;
    Ok(Run { header: converted(header), blocks, end })
}

/// Whether a document begins with the key that every run begins with.
pub(super) fn begins_as_run(text: &[u8]) -> bool {
    let inside = text.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    inside.trim_ascii_start().starts_with(b"\"zc_run\"")
}

/// Checks that a document is a saved run of a version that can be read, before the rest is read.
/// `text` is the line of its header, or the whole document.
///
/// # Errors
/// [`ErrorKind::Input`](super::ErrorKind): not a run, a run of another version, or cut before its
/// first block.
pub(super) fn check_version(text: &[u8]) -> Result<Found> {
    let parsed = if text.ends_with(BLOCKS.as_bytes()) {
        serde_json::from_slice(&closed(text))
    } else {
        serde_json::from_slice(text)
    };
    let found: Found = parsed.map_err(|error| {
        if !begins_as_run(text) {
            return not_a_run();
        }
        if !error.is_eof() {
            return unreadable(1, &error);
        }
        let document = text.windows(8).any(|part| part == b"\"blocks\"");
        let message = if document {
            "it is cut off and does not have one block per line, so nothing can be shown"
        } else {
            "it is cut off before its first block, so there is nothing to show"
        };
        Error::input(message).help("the disk may have been full; measure again")
    })?;
    found.check().unwrap_or_else(|| Err(not_a_run()))?;
    Ok(found)
}

/// The error for a file that is not a run.
pub(super) fn not_a_run() -> Error {
    Error::input("it is not a saved run of zc")
        .help("zc show reads what zc run has saved (zc-DATE.json)")
}

/// The error for a run with invalid content; `line` counts from 1.
pub(super) fn unreadable(line: usize, error: &serde_json::Error) -> Error {
    // The error counts lines within what was parsed.
    let line = line + error.line().saturating_sub(1);
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    let column = error.column();
    Error::input(format!(
        "it is a saved run that cannot be read: line {line}, column {column}: {what}"
    ))
    .help("was it edited by hand, or saved by a newer zc?")
}
