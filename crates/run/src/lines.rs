//! Parses the lines of blocks on as many threads as there are CPUs.

use std::io::{BufRead, Read as _};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

use super::gunzip::failed;
use super::{Block, Error, Result, SoftirqCounts};

/// Bytes of lines in a batch for a thread.
const BATCH_BYTES: usize = 1 << 18;
/// The most lines in a batch.
const BATCH_LINES: usize = 1 << 12;
/// The longest line. On a machine with a thousand CPUs a block of a hundred cells takes some fifty
/// megabytes.
const LONGEST_LINE_BYTES: usize = 1 << 27;
/// The most threads; more would wait for lines.
const MOST_THREADS: usize = 8;

/// Parses the line of a block. Names may be shared with those that were read before.
pub(super) type Parse = fn(&[u8], &mut SoftirqCounts) -> serde_json::Result<Block>;

/// The result of parsing the lines after the header's.
pub(super) struct Lines {
    pub(super) blocks: Vec<Block>,
    /// The first line that is not a block.
    pub(super) bad: Option<Bad>,
    /// The text behind the blocks, from the line that ends them, and the number of that line.
    pub(super) rest: Option<(usize, Vec<u8>)>,
}

/// A line that is not a block.
pub(super) struct Bad {
    pub(super) number: usize,
    pub(super) text: Vec<u8>,
    pub(super) error: serde_json::Error,
    /// Nothing follows it.
    pub(super) is_last: bool,
    /// It is no whole line.
    pub(super) is_cut: bool,
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
    bad: Option<Bad>,
}

/// Facts of the file besides its batches.
struct Given {
    /// The number of the last line.
    last: usize,
    /// The last line has no line feed.
    is_cut: bool,
    rest: Option<(usize, Vec<u8>)>,
}

/// Appends the next line to `line`, without its line feed; false if there is none.
///
/// # Errors
/// [`ErrorKind::Input`](super::ErrorKind): it cannot be read, or is longer than any that zc writes.
pub(super) fn line_of<R: BufRead>(from: &mut R, line: &mut Vec<u8>, number: usize) -> Result<bool> {
    Ok(next_line(from, line, number)?.is_some())
}

/// The same; `Some(true)` if it has a line feed.
fn next_line<R: BufRead>(from: &mut R, line: &mut Vec<u8>, number: usize) -> Result<Option<bool>> {
    let mut most = from.by_ref().take(LONGEST_LINE_BYTES as u64 + 1);
    let read = most.read_until(b'\n', line).map_err(|error| failed(&error))?;
    if read > LONGEST_LINE_BYTES {
        return Err(Error::input(
            "run-damaged",
            format!("line {number} is longer than any that zc writes"),
        )
        .help(
            "zc run saves one block of measurements per line: did another program write to it?",
        ));
    }
    let has_feed = read > 0 && line.ends_with(b"\n");
    if has_feed {
        line.pop();
    }
    Ok((read > 0).then_some(has_feed))
}

/// Parses all lines up to the one that ends the blocks.
///
/// # Errors
/// [`ErrorKind::Input`](super::ErrorKind): the source cannot be read.
pub(super) fn read_lines(
    from: &mut impl BufRead,
    parse: Parse,
    ends_blocks: fn(&[u8]) -> bool,
) -> Result<Lines> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    let (send, receive) = sync_channel::<Batch>(threads);
    let receive = Mutex::new(receive);
    let (done, broken) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let given = std::thread::scope(|scope| {
        let started = (0..threads).map_while(|_| {
            let work = || work(&receive, &done, &broken, parse);
            Builder::new().spawn_scoped(scope, work).ok()
        });
        if started.count() == 0 {
            // This user may have no further thread.
            let mut known = SoftirqCounts::default();
            return hand_out(from, &broken, ends_blocks, |batch| {
                push(&done, batch.read(&mut known, &broken, parse));
                true
            });
        }
        // The channel closes when this returns, which ends the threads. They end early only if one
        // has panicked, which the scope reports.
        hand_out(from, &broken, ends_blocks, move |batch| send.send(batch).is_ok())
    })?;
    let mut done: Vec<Done> = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|batch| batch.number);
    let mut blocks = Vec::with_capacity(done.iter().map(|batch| batch.blocks.len()).sum());
    let mut bad = None;
    for batch in done {
        blocks.extend(batch.blocks);
        if let Some(found) = batch.bad {
            let is_last = found.number == given.last && given.rest.is_none();
            let is_cut = found.is_cut || given.is_cut;
            bad = Some(Bad { is_last, is_cut, ..found });
            break;
        }
    }
    Ok(Lines { blocks, bad, rest: given.rest })
}

/// Reads lines to the end of the blocks, and passes them on while they are taken.
fn hand_out(
    from: &mut impl BufRead,
    broken: &AtomicBool,
    ends_blocks: fn(&[u8]) -> bool,
    mut take: impl FnMut(Batch) -> bool,
) -> Result<Given> {
    let mut given = Given { last: 1, is_cut: false, rest: None };
    loop {
        let mut batch = Batch {
            number: given.last + 1,
            text: Vec::with_capacity(BATCH_BYTES + BATCH_BYTES / 4),
            ends: Vec::new(),
        };
        let mut more = true;
        while batch.text.len() < BATCH_BYTES && batch.ends.len() < BATCH_LINES {
            let start = batch.text.len();
            let number = given.last + 1;
            let Some(has_feed) = next_line(from, &mut batch.text, number)? else {
                more = false;
                break;
            };
            if ends_blocks(&batch.text[start..]) {
                let mut rest = batch.text.split_off(start);
                while line_of(from, &mut rest, number)? && rest.len() <= LONGEST_LINE_BYTES {}
                given.rest = Some((number, rest));
                break;
            }
            given.is_cut = !has_feed;
            given.last = number;
            // A run without a block may have an empty line in their place.
            if batch.text.len() == start && batch.ends.is_empty() {
                batch.number = number + 1;
                continue;
            }
            batch.ends.push(batch.text.len());
        }
        let gone = !batch.ends.is_empty() && !take(batch);
        if given.rest.is_some() || !more || gone {
            return Ok(given);
        }
        if broken.load(Ordering::Relaxed) {
            // After a broken line, it only matters whether anything follows.
            if !from.fill_buf().map_err(|error| failed(&error))?.is_empty() {
                given.last += 1;
            }
            return Ok(given);
        }
    }
}

fn work(from: &Mutex<Receiver<Batch>>, done: &Mutex<Vec<Done>>, broken: &AtomicBool, parse: Parse) {
    let mut known = SoftirqCounts::default();
    loop {
        let next = from.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(batch) = next else { return };
        push(done, batch.read(&mut known, broken, parse));
    }
}

fn push(done: &Mutex<Vec<Done>>, batch: Done) {
    done.lock().unwrap_or_else(PoisonError::into_inner).push(batch);
}

impl Batch {
    /// Reads its blocks. `broken` is set at a line that is not a block.
    fn read(&self, known: &mut SoftirqCounts, broken: &AtomicBool, parse: Parse) -> Done {
        let mut read =
            Done { number: self.number, blocks: Vec::with_capacity(self.ends.len()), bad: None };
        let mut start = 0;
        for (place, &end) in self.ends.iter().enumerate() {
            let text = &self.text[start..end];
            match parse(text, known) {
                Ok(block) => read.blocks.push(block),
                Err(error) => {
                    broken.store(true, Ordering::Relaxed);
                    read.bad = Some(Bad {
                        number: self.number + place,
                        text: text.to_vec(),
                        is_last: false,
                        is_cut: error.is_eof(),
                        error,
                    });
                    break;
                }
            }
            start = end;
        }
        read
    }
}
