//! The saved run as text: one JSON document, a block to a line, so that a block can be appended without rewriting
//! the file, the file is valid JSON after every append, and a file that was cut off is known up to its last whole line.
//!
//! ```text
//! {"zc_run":2,...,"blocks":[
//! {"index":0,...},
//! {"index":1,...}
//! ],"end":null}
//! ```
//!
//! What stands in a line is told in `line`. Pure text in, text out: `session` writes it, and `read` (the file) takes it apart.

use serde::Deserialize;

use super::line::{self, BlockLine};
use super::{Block, End, Error, Header, Result, Run, SCHEMA, SoftirqCounts};

/// What ends the line of the header, and with it what comes before the blocks.
pub(super) const BLOCKS: &str = "\"blocks\":[";

/// The head of the file and the tail that makes it a whole document while it has no block.
pub fn open(header: &Header) -> (String, String) {
    let mut head = json(header);
    head.pop(); // the closing brace: blocks and end follow inside the same object
    head.push(',');
    head.push_str(BLOCKS);
    head.push('\n');
    (head, tail(None))
}

/// The text that replaces the tail when a block is added: what stays, and the new tail.
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
    serde_json::to_string(value).expect("the record's types always serialise: no maps with non-string keys")
}

/// What follows the blocks.
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
    serde_json::from_slice(&closed(line))
}

/// The line of the header as a document of its own.
fn closed(line: &[u8]) -> Vec<u8> {
    let head = line.strip_suffix(BLOCKS.as_bytes()).unwrap_or(line);
    [head.strip_suffix(b",").unwrap_or(head), b"}"].concat()
}

/// A run that is no longer a block to a line, because something has laid out its JSON anew.
pub(super) fn read_laid_out_anew(text: &[u8]) -> serde_json::Result<Run> {
    #[derive(Deserialize)]
    struct Document<'a> {
        #[serde(flatten)]
        header: Header,
        #[serde(borrow)]
        blocks: Vec<BlockLine<'a>>,
        end: Option<End>,
    }
    let Document { header, blocks, end } = serde_json::from_slice(text)?;
    let mut known = SoftirqCounts::default();
    let blocks = blocks.into_iter().map(|block| block.block(&mut known)).collect::<serde_json::Result<_>>()?;
    Ok(Run { header, blocks, end })
}

/// Whether a document begins with the key that every run begins with.
pub(super) fn begins_as_run(text: &[u8]) -> bool {
    let inside = text.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    inside.trim_ascii_start().starts_with(b"\"zc_run\"")
}

/// Holds a document to be a run of this version, before anything else is read of it. `text` is the line of its header, or all of it.
///
/// # Errors
/// [`ErrorKind::Input`](super::FaultKind): not a run, a run of another version, or cut before its first block.
pub(super) fn check_version(text: &[u8]) -> Result<()> {
    #[derive(Deserialize)]
    struct Version {
        zc_run: Option<u64>,
    }
    let parsed = if text.ends_with(BLOCKS.as_bytes()) {
        serde_json::from_slice(&closed(text))
    } else {
        serde_json::from_slice(text)
    };
    let version: Version = parsed.map_err(|error| {
        if !begins_as_run(text) {
            return not_a_run();
        }
        if !error.is_eof() {
            return unreadable(1, &error);
        }
        let laid_out_anew = text.windows(8).any(|part| part == b"\"blocks\"");
        let message = if laid_out_anew {
            "it is cut off, and it is not a block to a line, so nothing of it can be shown"
        } else {
            "it is cut off before its first block, so there is nothing to show"
        };
        Error::input(message).help("the disk may have been full; measure again")
    })?;
    match version.zc_run {
        None => Err(not_a_run()),
        Some(found) if found != u64::from(SCHEMA) => Err(Error::input(format!(
            "it is a saved run of schema version {found}, and this zc reads version {SCHEMA}"
        ))
        .help("read it with the zc that wrote it, or a newer one: its version stands in the file as zc_version")),
        Some(_) => Ok(()),
    }
}

/// It is something else.
pub(super) fn not_a_run() -> Error {
    Error::input("it is not a saved run of zc").help("zc show reads what zc run has saved (zc-DATE.json)")
}

/// It is a run with something in it that cannot be; `line` counts from 1.
pub(super) fn unreadable(line: usize, error: &serde_json::Error) -> Error {
    // The error counts lines within what was parsed.
    let line = line + error.line().saturating_sub(1);
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    let column = error.column();
    Error::input(format!("it is a saved run that cannot be read: line {line}, column {column}: {what}"))
        .help("was it edited by hand, or saved by a newer zc?")
}
