//! Reads a saved run from any source of bytes: the header first, then the blocks, one per line, on
//! as many threads as there are CPUs. The text of a block is freed when it has been parsed, so that
//! a long run is never in memory twice.

use std::io::{BufRead, BufReader, Read};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

use super::file::{
    BLOCKS, begins_as_run, check_version, not_a_run, read_document, read_header, read_tail,
    unreadable,
};
use super::{Block, Error, Header, Result, Run, SoftirqCounts, check, in_words, line, without_bom};

/// Bytes of lines in a batch for a thread.
const BATCH_BYTES: usize = 1 << 18;
/// The most lines in a batch.
const BATCH_LINES: usize = 1 << 12;
/// The longest line. On a machine with a thousand CPUs a block of a hundred cells takes some tens
/// of megabytes.
const LONGEST_LINE_BYTES: usize = 1 << 26;
/// The largest run that is read in one piece, because it does not have one block per line.
const LARGEST_PIECE_BYTES: usize = 1 << 28;
/// The most threads; more would wait for lines.
const MOST_THREADS: usize = 8;

/// Reads a saved run from its text: see [`read`].
///
/// # Errors
/// Same as for [`read`].
pub fn parse(text: &str) -> Result<(Run, usize)> {
    read(text.as_bytes())
}

/// Reads a saved run of format [`MAJOR`](super::MAJOR), in any minor version, or of the major
/// version before. Also returns how many lines at its end were cut off or broken (0 for a whole
/// file).
///
/// # Errors
/// [`ErrorKind::Input`](super::ErrorKind): not a run, a run of another format, cut before its first
/// block, one that contradicts itself, or the bytes cannot be read.
pub fn read(from: impl Read) -> Result<(Run, usize)> {
    let mut from = BufReader::with_capacity(BATCH_BYTES, from);
    let start = from.fill_buf().map_err(|error| failed(&error))?;
    let bom_bytes = start.len() - without_bom(start).len();
    from.consume(bom_bytes);
    let start = from.buffer();
    // The first byte shows what cannot be JSON, however large the file is.
    if start.trim_ascii_start().first() != Some(&b'{') {
        return Err(not_a_run());
    }
    let mut head = Vec::new();
    line_of(&mut from, &mut head, 1)?;
    if !head.ends_with(BLOCKS.as_bytes()) {
        // If the file does not end in a line feed, the line may have been cut inside a string.
        if !from.fill_buf().map_err(|error| failed(&error))?.is_empty() {
            head.push(b'\n');
        }
        return in_one_piece(head, from);
    }
    let version = check_version(&head)?;
    by_lines(&head, from).map_err(|error| version.explain(error))
}

/// Reads the header alone of a saved run that has one block per line, as zc writes it.
///
/// # Errors
/// Same as for [`read`].
pub fn header(from: impl Read) -> Result<Header> {
    let mut head = Vec::new();
    line_of(&mut BufReader::new(from), &mut head, 1)?;
    if !head.ends_with(BLOCKS.as_bytes()) {
        return Err(not_a_run());
    }
    let version = check_version(&head)?;
    read_header(&head).map_err(|error| version.explain(unreadable(1, &error)))
}

/// A run with one block per line, of which `head` is the first line.
fn by_lines(head: &[u8], mut from: impl BufRead) -> Result<(Run, usize)> {
    let header = read_header(head).map_err(|error| unreadable(1, &error))?;
    let Lines { blocks, bad, last, tail } = lines(&mut from)?;
    let cut = tail.is_none();
    match bad {
        // Only the last line may be cut: a broken line that others follow is not a truncation.
        Some((line, error)) if !(cut && line == last) => return Err(unreadable(line, &error)),
        _ => {}
    }
    let (end, broken) = match tail.as_deref().map(read_tail) {
        None => (None, 1),
        Some(Ok(end)) => (end, 0),
        Some(Err(error)) if error.is_eof() => (None, 1),
        Some(Err(error)) => return Err(unreadable(last + 1, &error)),
    };
    let run = Run { header, blocks, end };
    check::run(&run)?;
    Ok((run, broken))
}

fn failed(error: &std::io::Error) -> Error {
    Error::input(in_words(error)).help("can it be read by other programs?")
}

/// Appends the next line to `line`, without its line feed; false if there is none.
fn line_of<R: BufRead>(from: &mut R, line: &mut Vec<u8>, number: usize) -> Result<bool> {
    let before = line.len();
    let mut most = from.take(LONGEST_LINE_BYTES as u64 + 1);
    let read = most.read_until(b'\n', line).map_err(|error| failed(&error))?;
    if read > LONGEST_LINE_BYTES {
        return Err(Error::input(format!("line {number} is longer than any that zc writes")).help(
            "zc run saves one block of measurements per line: did another program write to it?",
        ));
    }
    if line.len() > before && line.ends_with(b"\n") {
        line.pop();
    }
    Ok(read > 0)
}

/// A run whose JSON does not have one block per line.
fn in_one_piece(mut text: Vec<u8>, from: impl Read) -> Result<(Run, usize)> {
    let most = LARGEST_PIECE_BYTES as u64;
    from.take(most).read_to_end(&mut text).map_err(|error| failed(&error))?;
    if text.len() > LARGEST_PIECE_BYTES {
        if !begins_as_run(&text) {
            return Err(not_a_run());
        }
        return Err(Error::input(
            "it does not have one block per line, and is too large to be read so",
        )
        .help(
            "zc run saves one block of measurements per line: did another program write to it?",
        ));
    }
    let version = check_version(&text)?;
    let run = read_document(&text).map_err(|error| version.explain(unreadable(1, &error)))?;
    check::run(&run)?;
    Ok((run, 0))
}

/// The result of parsing the lines after the header's.
struct Lines {
    blocks: Vec<Block>,
    /// The first line that is not a block.
    bad: Option<(usize, serde_json::Error)>,
    /// The number of the last line that was parsed as a block.
    last: usize,
    /// The text after the blocks; `None` if the file ends before.
    tail: Option<Vec<u8>>,
}

/// Consecutive lines.
struct Batch {
    /// The number of the first line.
    number: usize,
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// The blocks of a batch, up to the first line that is not a block.
struct Done {
    number: usize,
    blocks: Vec<Block>,
    bad: Option<(usize, serde_json::Error)>,
}

fn lines(from: &mut impl BufRead) -> Result<Lines> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    let (send, receive) = sync_channel::<Batch>(threads);
    let receive = Mutex::new(receive);
    let (done, broken) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let (last, tail) = std::thread::scope(|scope| {
        let started = (0..threads).map_while(|_| {
            let work = || work(&receive, &done, &broken);
            Builder::new().spawn_scoped(scope, work).ok()
        });
        if started.count() == 0 {
            // This user may have no further thread.
            let mut known = SoftirqCounts::default();
            return hand_out(from, &broken, |batch| {
                push(&done, batch.read(&mut known, &broken));
                true
            });
        }
        // The channel closes when this returns, which ends the threads. They end early only if one
        // has panicked, which the scope reports.
        hand_out(from, &broken, move |batch| send.send(batch).is_ok())
    })?;
    let mut done: Vec<Done> = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|batch| batch.number);
    let mut blocks = Vec::with_capacity(done.iter().map(|batch| batch.blocks.len()).sum());
    let mut bad = None;
    for batch in done {
        blocks.extend(batch.blocks);
        bad = batch.bad;
        if bad.is_some() {
            break;
        }
    }
    Ok(Lines { blocks, bad, last, tail })
}

/// Reads lines to the end of the blocks, and passes them on while they are taken. Returns the
/// number of the last line, and what follows.
fn hand_out(
    from: &mut impl BufRead,
    broken: &AtomicBool,
    mut take: impl FnMut(Batch) -> bool,
) -> Result<(usize, Option<Vec<u8>>)> {
    let mut number = 2;
    loop {
        let mut batch = Batch {
            number,
            text: Vec::with_capacity(BATCH_BYTES + BATCH_BYTES / 4),
            ends: Vec::new(),
        };
        let mut tail = None;
        let mut more = true;
        while batch.text.len() < BATCH_BYTES && batch.ends.len() < BATCH_LINES {
            let start = batch.text.len();
            more = line_of(from, &mut batch.text, number)?;
            if !more {
                break;
            }
            if batch.text[start..].starts_with(b"]") {
                let mut rest = batch.text.split_off(start);
                while line_of(from, &mut rest, number)? && rest.len() <= LONGEST_LINE_BYTES {}
                tail = Some(rest);
                break;
            }
            number += 1;
            // A run without a block has an empty line in their place.
            if batch.text.len() == start && batch.ends.is_empty() {
                batch.number = number;
                continue;
            }
            batch.ends.push(batch.text.len());
        }
        let gone = !batch.ends.is_empty() && !take(batch);
        if tail.is_some() || !more || gone {
            return Ok((number - 1, tail));
        }
        if broken.load(Ordering::Relaxed) {
            // After a broken line, it only matters whether anything follows.
            let ends = from.fill_buf().map_err(|error| failed(&error))?.is_empty();
            return Ok((number - 1, (!ends).then(Vec::new)));
        }
    }
}

fn work(from: &Mutex<Receiver<Batch>>, done: &Mutex<Vec<Done>>, broken: &AtomicBool) {
    let mut known = SoftirqCounts::default();
    loop {
        let next = from.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(batch) = next else { return };
        push(done, batch.read(&mut known, broken));
    }
}

fn push(done: &Mutex<Vec<Done>>, batch: Done) {
    done.lock().unwrap_or_else(PoisonError::into_inner).push(batch);
}

impl Batch {
    /// Reads its blocks. `broken` is set at a line that is not a block.
    fn read(&self, known: &mut SoftirqCounts, broken: &AtomicBool) -> Done {
        let mut read =
            Done { number: self.number, blocks: Vec::with_capacity(self.ends.len()), bad: None };
        let mut start = 0;
        for (place, &end) in self.ends.iter().enumerate() {
            let text = &self.text[start..end];
            let text = text.strip_suffix(b",").unwrap_or(text);
            match line::read(text, known) {
                Ok(block) => read.blocks.push(block),
                Err(error) => {
                    broken.store(true, Ordering::Relaxed);
                    read.bad = Some((self.number + place, error));
                    break;
                }
            }
            start = end;
        }
        read
    }
}
