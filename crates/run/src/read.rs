//! Reads a saved run from any source of bytes, compressed by gzip or not: the header first, then
//! the lines of blocks, on as many threads as there are CPUs. The text of a block is freed when it
//! has been parsed, so that a long run is never in memory twice.

use std::io::{BufRead, BufReader, Read};

use serde::Deserialize;

use super::format_3::{self, BLOCKS};
use super::gunzip::{Gunzip, MAGIC, failed};
use super::lines::{Lines, Parse, line_of, read_lines};
use super::version::Found;
use super::{End, EndReason, Error, Header, Result, Run, check, without_bom};

/// Bytes of the buffers for what is read.
const BUFFER_BYTES: usize = 1 << 18;
/// The largest run that is read in one piece, because it does not have one block per line.
const LARGEST_PIECE_BYTES: usize = 1 << 28;

/// Reads a saved run from its text: see [`read`].
///
/// # Errors
/// Same as for [`read`].
pub fn parse(text: &str) -> Result<(Run, usize)> {
    read(text.as_bytes())
}

/// Reads a saved run of any format since [`OLDEST_MAJOR`](super::OLDEST_MAJOR), compressed by gzip
/// or not. Also returns how many lines at its end were cut off or broken (0 for a whole file).
///
/// # Errors
/// [`ErrorKind::Input`](super::ErrorKind): not a run, a run of another format, cut before its first
/// block, damaged, one that contradicts itself, or the bytes cannot be read.
pub fn read(from: impl Read) -> Result<(Run, usize)> {
    match opened(from)? {
        Source::Text(text) => read_text(text),
        Source::Gzip(gzip) => read_text(BufReader::with_capacity(BUFFER_BYTES, gzip)),
    }
}

/// Reads the header alone of a saved run that has one block per line, as zc writes it.
///
/// # Errors
/// Same as for [`read`].
pub fn header(from: impl Read) -> Result<Header> {
    let mut head = Vec::new();
    match opened(from)? {
        Source::Text(mut text) => line_of(&mut text, &mut head, 1)?,
        Source::Gzip(gzip) => line_of(&mut BufReader::new(gzip), &mut head, 1)?,
    };
    let head = without_bom(&head);
    let version = check_version(head)?;
    let header = match head.ends_with(BLOCKS.as_bytes()) {
        true => format_3::read_header(head),
        false => serde_json::from_slice(head),
    };
    header.map_err(|error| version.explain(unreadable(1, &error)))
}

/// Why a run ended, from the last bytes of its file; `None` if it has no end.
pub fn end_reason(tail: &[u8]) -> Option<EndReason> {
    #[derive(Deserialize)]
    struct End {
        reason: EndReason,
    }
    let mut members = (0..tail.len()).rev().filter(|at| tail[*at..].starts_with(&MAGIC));
    let unzipped = members.find_map(|at| {
        let mut text = Vec::new();
        Gunzip::new(&tail[at..]).read_to_end(&mut text).ok()?;
        text.ends_with(b"\n").then_some(text)
    });
    let text = unzipped.as_deref().unwrap_or(tail).trim_ascii_end();
    let last = text.rsplit(|byte| *byte == b'\n').next()?;
    let end: Option<End> = match serde_json::from_slice(last) {
        Ok(end) => Some(end),
        Err(_) => format_3::read_tail(last).ok().flatten(),
    };
    end.map(|end| end.reason)
}

/// The text of a run, compressed or not.
enum Source<R: Read> {
    Text(BufReader<R>),
    Gzip(Gunzip<BufReader<R>>),
}

fn opened<R: Read>(from: R) -> Result<Source<R>> {
    let mut from = BufReader::with_capacity(BUFFER_BYTES, from);
    let start = from.fill_buf().map_err(|error| failed(&error))?;
    if start.starts_with(&MAGIC) {
        return Ok(Source::Gzip(Gunzip::new(from)));
    }
    Ok(Source::Text(from))
}

fn read_text(mut from: impl BufRead) -> Result<(Run, usize)> {
    let start = from.fill_buf().map_err(|error| failed(&error))?;
    let bom_bytes = start.len() - without_bom(start).len();
    // The first byte shows what cannot be JSON, however large the file is.
    if start[bom_bytes..].trim_ascii_start().first() != Some(&b'{') {
        return Err(not_a_run());
    }
    from.consume(bom_bytes);
    let mut head = Vec::new();
    line_of(&mut from, &mut head, 1)?;
    let differences = head.ends_with(BLOCKS.as_bytes());
    let found = serde_json::from_slice::<Found>(&head).ok().filter(Found::has_lines);
    if !differences && found.is_none() {
        // If the file does not end in a line feed, the line may have been cut inside a string.
        if !from.fill_buf().map_err(|error| failed(&error))?.is_empty() {
            head.push(b'\n');
        }
        return in_one_piece(head, from);
    }
    let version = check_version(&head)?;
    let run = if differences { differing_lines(&head, from) } else { plain_lines(&head, from) };
    let (run, broken) = run.map_err(|error| version.explain(error))?;
    check::run(&run)?;
    Ok((run, broken))
}

/// A run with one JSON document per line, of which `head` is the first.
fn plain_lines(head: &[u8], mut from: impl BufRead) -> Result<(Run, usize)> {
    let header = serde_json::from_slice(head).map_err(|error| unreadable(1, &error))?;
    let parse: Parse = |line, _| {
        let mut block: super::Block = serde_json::from_slice(line)?;
        // It grew by doubling, and half of the memory of a run would be room for more.
        block.slots.shrink_to_fit();
        Ok(block)
    };
    let Lines { blocks, bad, rest } = read_lines(&mut from, parse, |_| false)?;
    debug_assert!(rest.is_none(), "no line ends the blocks");
    let (end, broken) = match bad {
        None => (None, 0),
        Some(bad) => match serde_json::from_slice::<End>(&bad.text) {
            Ok(end) if bad.is_last => (Some(end), 0),
            Ok(_) => {
                let message = format!("line {} ends the run, and others follow", bad.number);
                return Err(Error::input("run-damaged", message).help("one file holds one run"));
            }
            _ if bad.is_last && bad.is_cut => (None, 1),
            // Of the two kinds of lines it is the one that it was taken for longer.
            Err(error) if error.column() < bad.error.column() => {
                return Err(unreadable(bad.number, &error));
            }
            Err(_) => return Err(unreadable(bad.number, &bad.error)),
        },
    };
    Ok((Run { header, blocks, end }, broken))
}

/// A run of format 2 or 3 with one block per line, of which `head` is the first line.
fn differing_lines(head: &[u8], mut from: impl BufRead) -> Result<(Run, usize)> {
    let header = format_3::read_header(head).map_err(|error| unreadable(1, &error))?;
    let Lines { blocks, bad, rest } =
        read_lines(&mut from, format_3::read_block, |line| line.starts_with(b"]"))?;
    match bad {
        // Only the last line may be cut: a broken line that others follow is not a truncation.
        Some(bad) if !bad.is_last => return Err(unreadable(bad.number, &bad.error)),
        _ => {}
    }
    let read = rest.map(|(number, tail)| (number, format_3::read_tail(&tail)));
    let (end, broken) = match read {
        None => (None, 1),
        Some((_, Ok(end))) => (end, 0),
        Some((_, Err(error))) if error.is_eof() => (None, 1),
        Some((number, Err(error))) => return Err(unreadable(number, &error)),
    };
    Ok((Run { header, blocks, end }, broken))
}

/// A run of format 2 or 3 whose JSON does not have one block per line.
fn in_one_piece(mut text: Vec<u8>, from: impl Read) -> Result<(Run, usize)> {
    const HELP: &str =
        "zc run saves one block of measurements per line: did another program write to it?";
    let most = LARGEST_PIECE_BYTES as u64;
    from.take(most).read_to_end(&mut text).map_err(|error| failed(&error))?;
    if text.len() > LARGEST_PIECE_BYTES {
        if !begins_as_run(&text) {
            return Err(not_a_run());
        }
        let message = "it does not have one block per line, and is too large to be read so";
        return Err(Error::input("run-not-in-lines", message).help(HELP));
    }
    let version = check_version(&text)?;
    if version.has_lines() {
        return Err(
            Error::input("run-not-in-lines", "it does not have one block per line").help(HELP)
        );
    }
    let run =
        format_3::read_document(&text).map_err(|error| version.explain(unreadable(1, &error)))?;
    check::run(&run)?;
    Ok((run, 0))
}

/// Whether a document begins with the key that every run begins with.
fn begins_as_run(text: &[u8]) -> bool {
    let inside = text.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    inside.trim_ascii_start().starts_with(b"\"zc_run\"")
}

/// Checks that a document is a saved run of a version that can be read, before the rest is read.
/// `text` is the line of its header, or the whole document.
///
/// # Errors
/// [`ErrorKind::Input`](super::ErrorKind): not a run, a run of another version, or cut before its
/// first block.
fn check_version(text: &[u8]) -> Result<Found> {
    let parsed = match text.ends_with(BLOCKS.as_bytes()) {
        true => serde_json::from_slice(&format_3::closed_head(text)),
        false => serde_json::from_slice(text),
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
        Error::input("run-cut-off", message).help("the disk may have been full; measure again")
    })?;
    found.check().unwrap_or_else(|| Err(not_a_run()))?;
    Ok(found)
}

/// The error for a file that is not a run.
fn not_a_run() -> Error {
    Error::input("not-a-run", "it is not a saved run of zc")
        .help("zc show reads what zc run has saved (zc-DATE.jsonl.gz)")
}

/// The error for a run with invalid content; `line` counts from 1.
fn unreadable(line: usize, error: &serde_json::Error) -> Error {
    // The error counts lines within what was parsed.
    let line = line + error.line().saturating_sub(1);
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    let column = error.column();
    Error::input(
        "run-damaged",
        format!("it is a saved run that cannot be read: line {line}, column {column}: {what}"),
    )
    .help("was it edited by hand, or saved by a newer zc?")
}
