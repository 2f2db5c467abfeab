//! Summary of a log that was read, or why it could not be used.

use std::io;

use super::format::DurationUnit;
use super::offer::Offer;

/// Summary of a log that was read.
#[derive(Debug)]
pub struct LogSummary {
    /// The name of its format.
    pub format: &'static str,
    /// Its lines, without empty ones.
    pub lines: u64,
    /// Those with a request.
    pub requests: u64,
    /// Those that could not be read, including those longer than
    /// [`LONGEST_LINE`](crate::LONGEST_LINE).
    pub unreadable: u64,
    /// The first of them. They may contain personal data.
    pub first_unreadable: Vec<UnreadableLine>,
    /// Whether the last line had no end and could not be read. It is not among the unreadable ones.
    pub is_cut: bool,
    /// NULs at the beginnings of lines, which were passed over.
    pub nuls: u64,
    /// The unit of its durations.
    pub durations: DurationUnit,
    /// The named keys without a value on any line.
    pub without_value: Vec<String>,
    /// A description that would read more of the log.
    pub offer: Option<Offer>,
    /// Why reading ended before the end. What came before is counted.
    pub broken: Option<io::Error>,
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableLine {
    /// Its number, from 1, empty lines counted.
    pub number: u64,
    /// Its beginning, with its control characters.
    pub text: String,
}

/// Why a log cannot be used.
#[derive(Debug)]
pub enum Unusable {
    /// It has no lines.
    Empty,
    /// No format fits.
    Unknown,
    /// No line matches the requested format. The summary has the unreadable lines.
    DoesNotFit(Box<LogSummary>),
    /// Several fit, and say different things.
    Ambiguous(Vec<&'static str>),
    /// Its own heading lacks a column.
    Lacks {
        /// The format.
        format: &'static str,
        /// The column.
        column: &'static str,
    },
    /// It is in UTF-16.
    Utf16,
    /// It cannot be read at all.
    Io(io::Error),
}
