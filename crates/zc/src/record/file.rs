//! The saved run as text: one JSON document, a block to a line, so that a block can be appended without rewriting
//! the file, the file is valid JSON after every append, and a file that was cut off is known up to its last whole line.
//!
//! ```text
//! {"zc_run":1,...,"blocks":[
//! {"index":0,...},
//! {"index":1,...}
//! ],"end":null}
//! ```
//!
//! Pure text in, text out: `session` writes it, `cli` reads it.

use super::{Block, End, Fault, Header, Result, Run, SCHEMA};

/// The head of the file and the tail that makes it a whole document while it has no block.
pub fn open(header: &Header) -> (String, String) {
    let mut head = json(header);
    head.pop(); // the closing brace: blocks and end follow inside the same object
    head.push_str(",\"blocks\":[\n");
    (head, tail(None))
}

/// The text that replaces the tail when a block is added: what stays, and the new tail.
pub fn append_block(block: &Block, first: bool) -> (String, String) {
    let line = json(block);
    (if first { line } else { format!(",\n{line}") }, tail(None))
}

/// The tail of a finished run.
pub fn close(end: &End) -> String {
    tail(Some(end))
}

fn tail(end: Option<&End>) -> String {
    format!("\n],\"end\":{}}}\n", end.map_or_else(|| "null".to_owned(), json))
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("the record's types always serialise: no maps with non-string keys")
}

/// Reads a saved run, and says how many lines at its end were cut off or broken (0 for a whole file).
///
/// # Errors
/// [`FaultKind::Input`](super::FaultKind): not a run, a run of another schema version, or cut before its first block.
pub fn parse(text: &str) -> Result<(Run, usize)> {
    #[derive(serde::Deserialize)]
    struct Version {
        zc_run: Option<u64>,
    }
    let not_a_run =
        || Fault::input("it is not a saved run of zc").hint("zc show reads what zc run has saved (zc-DATE.json)");
    // The version first, from the head alone, so that a run of the future is told from rubbish and from a cut file.
    let head = text.split_once("\"blocks\":[\n").map(|(head, _)| format!("{}}}", head.trim_end_matches(',')));
    let version: Version = serde_json::from_str(head.as_deref().unwrap_or(text)).map_err(|error| {
        if text.trim_start().starts_with("{\"zc_run\"") && error.is_eof() {
            Fault::input("it is cut off before its first block, so there is nothing to show")
                .hint("the disk may have been full; measure again")
        } else {
            not_a_run()
        }
    })?;
    match version.zc_run {
        None => return Err(not_a_run()),
        Some(found) if found != u64::from(SCHEMA) => {
            return Err(Fault::input(format!(
                "it is a saved run of schema version {found}, and this zc reads version {SCHEMA}"
            ))
            .hint("read it with the zc that wrote it, or a newer one: its version stands in the file as zc_version"));
        }
        Some(_) => {}
    }
    match serde_json::from_str::<Run>(text) {
        Ok(run) => Ok((run, 0)),
        Err(error) => recover(text).ok_or_else(|| {
            Fault::input(format!("it is a saved run that cannot be read: {error}")).hint("was it edited by hand?")
        }),
    }
}

/// What a cut file still holds: the header and every whole block line.
fn recover(text: &str) -> Option<(Run, usize)> {
    let (head, body) = text.split_once("\"blocks\":[\n")?;
    let header: Header = serde_json::from_str(&format!("{}}}", head.trim_end_matches(','))).ok()?;
    let mut blocks = Vec::new();
    let mut lines = body.lines();
    let mut broken = 0;
    for line in lines.by_ref() {
        if line.starts_with(']') {
            broken += 1; // an end that does not parse
            break;
        }
        match serde_json::from_str::<Block>(line.trim_end_matches(',')) {
            Ok(block) => blocks.push(block),
            // Only the last line may be cut: a broken line with whole ones behind it is not a truncation.
            Err(_) if lines.next().is_none() => {
                broken += 1;
                break;
            }
            Err(_) => return None,
        }
    }
    Some((Run { header, blocks, end: None }, broken.max(1)))
}
