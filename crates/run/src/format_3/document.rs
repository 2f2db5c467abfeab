//! The document around the blocks of formats 2 and 3: the header's line, the tail, and all of it in
//! one piece, as another program may have laid it out.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::block::BlockLine;
use super::room::Room;
use crate::{End, FormatVersion, Header, Run, SoftirqCounts};

/// The end of the header's line, after which the blocks begin.
pub(crate) const BLOCKS: &str = "\"blocks\":[";

/// The part of the file after the blocks.
#[derive(Deserialize)]
struct Tail<T> {
    end: Option<T>,
}

/// The end in the tail, which goes from the line that ends the blocks to the end of the file.
pub(crate) fn read_tail<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<Option<T>> {
    let inside = text.strip_prefix(b"]").unwrap_or(text);
    let inside = inside.strip_prefix(b",").unwrap_or(inside);
    let tail: Tail<T> = serde_json::from_slice(&[b"{", inside].concat())?;
    Ok(tail.end)
}

/// The header, from the line that ends with [`BLOCKS`].
pub(crate) fn read_header(line: &[u8]) -> serde_json::Result<Header> {
    serde_json::from_slice(&closed_head(line)).map(converted)
}

/// The line of the header as a document of its own.
pub(crate) fn closed_head(line: &[u8]) -> Vec<u8> {
    let head = line.strip_suffix(BLOCKS.as_bytes()).unwrap_or(line);
    [head.strip_suffix(b",").unwrap_or(head), b"}"].concat()
}

/// The header as one of the current version. The types accept the old names of fields.
fn converted(header: Header) -> Header {
    Header { format: FormatVersion::current(), ..header }
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    #[serde(borrow)]
    blocks: Vec<BlockLine<'a>>,
    end: Option<End>,
}

/// A run whose JSON does not have one block per line.
pub(crate) fn read_document(text: &[u8]) -> serde_json::Result<Run> {
    let Document { header, blocks, end } = serde_json::from_slice(text)?;
    let (mut known, mut room) = (SoftirqCounts::default(), Room::for_text(text.len()));
    let blocks = blocks
        .into_iter()
        .map(|block| block.block(&mut known, &mut room))
        .collect::<serde_json::Result<_>>()?;
    Ok(Run { header: converted(header), blocks, end })
}
