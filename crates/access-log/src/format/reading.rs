//! What was read of a line, and how much of it is of a format.

use crate::entry::Entry;

/// What was read of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// A request and its response.
    Entry(Entry),
    /// A line that has none, and is part of the format all the same: a comment, a header.
    Aside,
    /// A line that is not of this format.
    Unreadable,
}

/// How much of a line is of a format. Reading needs no more than a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The line, from its beginning to its end.
    Whole,
    /// All fields of the format, in so many bytes, and behind them there is more.
    Beginning { bytes: usize },
    /// What is taken, at most.
    Part,
}

/// The unit of durations that are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurationUnit {
    /// The format says it, or the log has none.
    OfFormat,
    /// It is a setting of the server, and was found by the first lines.
    Found(&'static str),
    /// It is a setting of the server, and cannot be told: no durations are taken.
    Doubtful,
}
