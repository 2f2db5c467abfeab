//! The error type: a lower-case message that names the thing in quotes, and a help that says what
//! to type.
//!
//! All crates share it, because every error ends as `error:` and `hint:` lines on stderr and an
//! exit code. The kind determines the exit code; docs/exit-codes.md lists them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The result of a fallible function of zc.
pub type Result<T> = std::result::Result<T, Error>;

/// An error with its kind, its id, its message, and help, as other processes of zc and the control
/// protocol have it too.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Error {
    /// Determines the exit code.
    pub kind: ErrorKind,
    /// Names the cause in kebab case, as in `error: file "x" does not exist [no-such-file]`. It
    /// stays when the message is worded anew, so scripts and tests look for it.
    pub id: Cow<'static, str>,
    /// Lower case, no full stop, the thing itself in quotes: `file "x" is empty`.
    pub message: String,
    /// The flag or command that helps.
    pub help: Option<String>,
}

/// The kind of an error. The control protocol transmits its name, so that an error at the server
/// gives the same exit code at the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The measurement failed: a socket, a thread, a receiver that ended.
    Failed,
    /// The command line is not valid.
    Usage,
    /// A file that was given cannot be used: missing, empty, truncated, not a run.
    Input,
    /// This kernel, user or machine does not support it.
    Unsupported,
    /// The result could not be written.
    Output,
    /// The other machine, or the server that is measured, cannot be reached, refuses, or is gone.
    Remote,
    /// A comparison with `--fail-if-worse` is undecided.
    Undecided,
    /// A cell, path or unit that the saved run does not have.
    UnknownCell,
    /// Verdicts are withheld: by the run's own controls they could be wrong.
    Withheld,
    /// Every block was dropped, or the machine was never quiet, so there are no results.
    NothingKept,
    /// Two runs, or cells of runs, have nothing in common that could be compared.
    Incomparable,
    /// Ctrl-C or SIGTERM ended it; the results so far were printed and saved.
    Interrupted,
}

impl ErrorKind {
    /// Every kind, in the order of the exit codes.
    pub const ALL: [Self; 12] = [
        Self::Failed,
        Self::Usage,
        Self::Input,
        Self::Unsupported,
        Self::Output,
        Self::Remote,
        Self::Undecided,
        Self::UnknownCell,
        Self::Withheld,
        Self::NothingKept,
        Self::Incomparable,
        Self::Interrupted,
    ];

    /// The exit code, as documented in docs/exit-codes.md.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Input => 3,
            Self::Unsupported => 4,
            Self::Output => 5,
            Self::Remote => 6,
            Self::Undecided => 10,
            Self::UnknownCell => 11,
            Self::Withheld => 12,
            Self::NothingKept => 13,
            Self::Incomparable => 14,
            Self::Interrupted => 130,
        }
    }

    /// Its meaning, as a sentence for man pages.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Failed => "The measurement failed: a socket, a thread, a receiver that died.",
            Self::Usage => "The command line is invalid.",
            Self::Input => "A given file cannot be used.",
            Self::Unsupported => "This kernel, user or machine cannot do it.",
            Self::Output => "The result cannot be written.",
            Self::Remote => {
                "The other machine or the server cannot be reached, refuses, or is gone."
            }
            Self::Undecided => "A comparison is undecided: intervals reach both ways.",
            Self::UnknownCell => "The saved run has no such cell.",
            Self::Withheld => "Verdicts are withheld: the run's own controls forbid them.",
            Self::NothingKept => {
                "No block counts, or the machine was not quiet in time: no result."
            }
            Self::Incomparable => "Nothing can be compared.",
            Self::Interrupted => "Interrupted by Ctrl-C or SIGTERM; what was measured is saved.",
        }
    }

    /// Whether it ends a run: the files have changed, or the other machine or the server is gone.
    /// Other errors of a trial affect only its cell.
    pub fn ends_a_run(self) -> bool {
        matches!(self, Self::Input | Self::Remote)
    }
}

impl Error {
    /// An error of `kind`, named `id`, with `message`.
    pub fn new(
        kind: ErrorKind,
        id: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, id: id.into(), message: message.into(), help: None }
    }

    /// See [`ErrorKind::Failed`].
    pub fn failed(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, id, message)
    }

    /// See [`ErrorKind::Usage`].
    pub fn usage(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, id, message)
    }

    /// See [`ErrorKind::Input`].
    pub fn input(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, id, message)
    }

    /// See [`ErrorKind::Unsupported`].
    pub fn unsupported(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, id, message)
    }

    /// See [`ErrorKind::Output`].
    pub fn output(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Output, id, message)
    }

    /// See [`ErrorKind::Remote`].
    pub fn remote(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Remote, id, message)
    }

    /// See [`ErrorKind::Interrupted`].
    pub fn interrupted(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Interrupted, "interrupted", message)
    }

    /// A system call that failed: `cannot open veth pair: operation not permitted`.
    pub fn os(doing: impl std::fmt::Display, error: impl Into<std::io::Error>) -> Self {
        let message = format!("cannot {doing}: {}", in_words(&error.into()));
        Self::failed("system-call-failed", message)
    }

    /// Adds the flag or command that helps.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same error under another id.
    #[must_use]
    pub fn id(mut self, id: &'static str) -> Self {
        self.id = id.into();
        self
    }

    /// The same error as another kind.
    #[must_use]
    pub fn kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// The same error with a prefix that says where it happened: `plan "x.toml", line 3: `.
    #[must_use]
    pub fn prefixed(mut self, prefix: impl std::fmt::Display) -> Self {
        self.message = format!("{prefix}{}", self.message);
        self
    }
}

/// An error of the operating system as part of a message, in lower case and without its number: `no
/// such file or directory`.
pub fn in_words(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => "unknown error".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io;

    use super::*;

    #[test]
    fn errors_of_the_system_read_as_part_of_a_message() {
        assert_eq!(in_words(&io::Error::from_raw_os_error(2)), "no such file or directory");
        assert_eq!(in_words(&io::Error::other("a lower-case message")), "a lower-case message");
        assert_eq!(in_words(&io::Error::other("")), "unknown error");
        let error = Error::os("write \"x\"", io::Error::from_raw_os_error(30));
        assert_eq!(error.message, "cannot write \"x\": read-only file system");
    }

    #[test]
    fn no_two_kinds_share_an_exit_code() {
        let codes: BTreeSet<u8> = ErrorKind::ALL.iter().map(|kind| kind.exit_code()).collect();
        assert_eq!(codes.len(), ErrorKind::ALL.len());
    }
}
