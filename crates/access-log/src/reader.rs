//! Reads one log, entry by entry.

use std::io::{self, BufRead, Read as _};
use std::ops::ControlFlow;

use super::detect::{SAMPLE_BYTES, SAMPLE_LINES, format_of};
use super::entry::{Entry, Stamp};
use super::format::{Format, Reading};
use super::lines::{self, LONGEST_LINE, Line};
use super::summary::{LogSummary, UnreadableLine, Unusable};

/// How many lines that could not be read are kept.
const KEPT_LINES: usize = 3;

/// How much of each of them is kept, in bytes: 80 characters of any kind.
const KEPT_BYTES: usize = 320;

/// What takes the entries of a log.
pub trait Collect {
    /// Takes an entry whose time is this moment of its request.
    fn add(&mut self, entry: &Entry, stamp: Stamp);
}

/// Both take all of them.
impl<A: Collect, B: Collect> Collect for (A, B) {
    fn add(&mut self, entry: &Entry, stamp: Stamp) {
        self.0.add(entry, stamp);
        self.1.add(entry, stamp);
    }
}

/// Reads a log to its end, and gives its entries to `into`, such as a
/// [`MixBuilder`](crate::MixBuilder). Without a format it is told by the first lines.
///
/// # Errors
/// Nothing can be had from it; `into` was given nothing.
pub fn read_log(
    mut log: impl BufRead,
    format: Option<Format>,
    into: &mut impl Collect,
) -> Result<LogSummary, Unusable> {
    let (begin, broken) = match format {
        Some(_) => (Vec::new(), None),
        None => beginning(&mut log),
    };
    let format = match format {
        Some(format) => format,
        None => match (format_of(&sample(&begin)), broken) {
            (Err(Unusable::Empty), Some(error)) => return Err(Unusable::Io(error)),
            (Err(unusable), _) => return Err(unusable),
            (Ok(format), Some(error)) => {
                let mut counter = Counter::new(format, into);
                let _ = lines::each(&begin[..], |line| counter.line(line));
                return counter.finish(Some(error));
            }
            (Ok(format), None) => format,
        },
    };
    let mut counter = Counter::new(format, into);
    let read = lines::each(begin.chain(log), |line| counter.line(line));
    counter.finish(read.err())
}

/// The first lines of a log as they are, and the error that ended them.
fn beginning(log: &mut impl BufRead) -> (Vec<u8>, Option<io::Error>) {
    let mut begin = Vec::new();
    for _ in 0..SAMPLE_LINES {
        let room = (SAMPLE_BYTES - begin.len()) as u64;
        match log.take(room).read_until(b'\n', &mut begin) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => return (begin, Some(error)),
        }
    }
    (begin, None)
}

/// The lines to tell the format by: not those without an end, which may lack something.
fn sample(begin: &[u8]) -> Vec<&[u8]> {
    let cut = memchr::memrchr(b'\n', begin).map_or(begin.len(), |end| end + 1);
    let lines = begin[..cut].split(|byte| *byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !line.is_empty() && line.len() <= LONGEST_LINE).collect()
}

/// Counts lines of a format that is known.
struct Counter<'c, C> {
    format: Format,
    stamp: Stamp,
    into: &'c mut C,
    summary: LogSummary,
    /// Lines so far, with empty ones.
    number: u64,
}

impl<'c, C: Collect> Counter<'c, C> {
    fn new(format: Format, into: &'c mut C) -> Self {
        let summary = LogSummary {
            format: format.name(),
            lines: 0,
            requests: 0,
            unreadable: 0,
            first_unreadable: Vec::new(),
            is_cut: false,
            broken: None,
        };
        Self { stamp: format.stamp(), format, into, summary, number: 0 }
    }

    /// It never breaks.
    fn line(&mut self, line: Line<'_>) -> ControlFlow<()> {
        self.number += 1;
        let (bytes, reading) = match line {
            Line::Whole([]) => return ControlFlow::Continue(()),
            Line::Whole(bytes) | Line::Unfinished(bytes) => (bytes, self.format.read(bytes)),
            Line::TooLong(bytes) => (bytes, Reading::Unreadable),
        };
        self.summary.lines += 1;
        match (reading, line) {
            (Reading::Entry(entry), _) => {
                self.summary.requests += 1;
                self.into.add(&entry, self.stamp);
            }
            (Reading::Aside, _) => {}
            (Reading::Unreadable, Line::Unfinished(_)) => self.summary.is_cut = true,
            (Reading::Unreadable, _) => self.unreadable(bytes),
        }
        ControlFlow::Continue(())
    }

    fn unreadable(&mut self, line: &[u8]) {
        self.summary.unreadable += 1;
        if self.summary.first_unreadable.len() < KEPT_LINES {
            let text = String::from_utf8_lossy(&line[..line.len().min(KEPT_BYTES)]);
            let line = UnreadableLine { number: self.number, text: text.into_owned() };
            self.summary.first_unreadable.push(line);
        }
    }

    fn finish(self, broken: Option<io::Error>) -> Result<LogSummary, Unusable> {
        let summary = LogSummary { broken, ..self.summary };
        if summary.requests > 0 {
            return Ok(summary);
        }
        match (self.format.lacks(), summary) {
            (Some(column), summary) => Err(Unusable::Lacks { format: summary.format, column }),
            (None, LogSummary { broken: Some(error), .. }) => Err(Unusable::Io(error)),
            (None, LogSummary { unreadable: 0, is_cut: false, .. }) => Err(Unusable::Empty),
            (None, summary) => Err(Unusable::DoesNotFit(summary)),
        }
    }
}
