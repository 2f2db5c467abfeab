//! Reads one log, entry by entry.

use std::io::{self, BufRead, Read as _};
use std::ops::ControlFlow;

use super::detect::{SAMPLE_BYTES, SAMPLE_LINES, format_of};
use super::entry::{Entry, Stamp};
use super::format::{Format, Reading};
use super::lines::{self, LONGEST_LINE, Line, count_nuls};
use super::offer;
use super::summary::{LogSummary, UnreadableLine, Unusable};

/// Number of unreadable lines that are kept.
const KEPT_LINES: usize = 3;

/// Bytes that are kept of each: 80 characters of any kind.
const KEPT_BYTES: usize = 320;

/// A consumer of a log's entries.
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
/// [`MixBuilder`](crate::MixBuilder). Without a format it is detected from the first lines.
///
/// # Errors
/// The log cannot be used; `into` was given nothing.
pub fn read_log(
    mut log: impl BufRead,
    format: Option<Format>,
    into: &mut impl Collect,
) -> Result<LogSummary, Unusable> {
    let Beginning { text, nuls, broken } = Beginning::read_from(&mut log);
    // A text in UTF-8 may begin with a mark that says so.
    let begin = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    if is_utf_16(begin) {
        return Err(Unusable::Utf16);
    }
    let sample = sample(begin);
    let (mut format, offer) = match format {
        Some(format) => (format, None),
        None => match format_of(&sample) {
            Ok(format) => {
                let offer = offer::from_sample(&format, &sample);
                (format, offer)
            }
            Err(Unusable::Empty) if broken.is_some() => {
                return Err(broken.map_or(Unusable::Empty, Unusable::Io));
            }
            Err(Unusable::Empty) if !begin.trim_ascii().is_empty() && sample.is_empty() => {
                return Err(Unusable::Unknown);
            }
            Err(unusable) => return Err(unusable),
        },
    };
    format.detect_settings(&sample);
    let mut counter = Counter::new(format, into);
    counter.summary.nuls = nuls;
    counter.summary.offer = offer;
    let read = match broken {
        Some(error) => {
            let _ = lines::each(begin, |line| counter.line(line));
            Err(error)
        }
        None => lines::each(begin.chain(log), |line| counter.line(line)),
    };
    counter.finish(read.err())
}

/// The first lines of a log.
#[derive(Default)]
struct Beginning {
    /// Their text, unchanged but cut off where a line is longer than [`LONGEST_LINE`] and a byte.
    text: Vec<u8>,
    /// NULs that were passed over.
    nuls: u64,
    /// The error that ended them.
    broken: Option<io::Error>,
}

impl Beginning {
    fn read_from(log: &mut impl BufRead) -> Self {
        let mut begin = Self::default();
        begin.broken = begin.read(log).err();
        begin
    }

    fn read(&mut self, log: &mut impl BufRead) -> io::Result<()> {
        /// One byte more than the longest line, which shows that a line is too long.
        const KEPT: usize = LONGEST_LINE + 1;
        for _ in 0..SAMPLE_LINES {
            self.nuls += skip_nuls(log)?;
            let room = KEPT.min(SAMPLE_BYTES - self.text.len());
            let read = log.take(room as u64).read_until(b'\n', &mut self.text)?;
            if read == KEPT && !self.text.ends_with(b"\n") {
                log.skip_until(b'\n')?;
                self.text.push(b'\n');
            } else if read == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// Passes over NULs, and returns how many there were.
fn skip_nuls(log: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = match log.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            buffer => buffer?,
        };
        let nuls = count_nuls(buffer);
        let is_end = nuls < buffer.len() || nuls == 0;
        log.consume(nuls);
        skipped += nuls as u64;
        if is_end {
            return Ok(skipped);
        }
    }
}

/// Whether a text is in UTF-16, by its mark or by the NULs between ASCII characters.
fn is_utf_16(begin: &[u8]) -> bool {
    match begin {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        [first, 0, second, 0, ..] => *first != 0 && *second != 0,
        _ => false,
    }
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
            nuls: 0,
            durations: format.durations(),
            without_value: Vec::new(),
            offer: None,
        };
        Self { stamp: format.stamp(), format, into, summary, number: 0 }
    }

    /// It never breaks.
    fn line(&mut self, line: Line<'_>) -> ControlFlow<()> {
        if let Line::Nuls(count) = line {
            self.summary.nuls += count;
            return ControlFlow::Continue(());
        }
        self.number += 1;
        let (bytes, reading) = match line {
            Line::Whole([]) | Line::Nuls(_) => return ControlFlow::Continue(()),
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
        let without_value = self.format.without_value();
        let summary = LogSummary { broken, without_value, ..self.summary };
        if summary.requests > 0 {
            return Ok(summary);
        }
        match (self.format.lacks(), summary) {
            (Some(column), summary) => Err(Unusable::Lacks { format: summary.format, column }),
            (None, LogSummary { broken: Some(error), .. }) => Err(Unusable::Io(error)),
            (None, LogSummary { unreadable: 0, is_cut: false, .. }) => Err(Unusable::Empty),
            (None, summary) => Err(Unusable::DoesNotFit(Box::new(summary))),
        }
    }
}
