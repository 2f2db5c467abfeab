//! The content of a line, and how much of the line matches a format.

use crate::entry::Entry;

/// The content of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// A request and its response.
    Entry(Entry),
    /// A line of the format without a request: a comment, a header.
    Aside,
    /// A line that is not of this format.
    Unreadable,
}

/// The part of a line that matches a format. Reading does not need the whole line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The line, from its beginning to its end.
    Whole,
    /// All fields of the format, in so many bytes, and behind them there is more.
    Beginning { bytes: usize },
    /// At most the fields that are read.
    Part,
}

/// The unit of durations that are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurationUnit {
    /// The format says it, or the log has none.
    OfFormat,
    /// It is a setting of the server, and was found by the first lines.
    Found(&'static str),
    /// It is a setting of the server and could not be determined: no durations are read.
    Doubtful,
}
