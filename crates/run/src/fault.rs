//! Why something could not be done: one lower-case sentence that names the thing in quotes, and a hint.
//!
//! One type for all rooms, because every failure ends the same way: a sentence and a `hint:` line on stderr and
//! an exit code. The kinds are the exit codes; docs/exit-codes.md lists them.

/// What a fallible function of zc returns.
pub type Result<T> = std::result::Result<T, Fault>;

/// A failure, told to the user in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct Fault {
    /// Decides the exit code.
    pub kind: FaultKind,
    /// Lower case, no full stop, the thing itself in quotes: `file "x" is empty`.
    pub sentence: String,
    /// The flag or command that helps.
    pub hint: Option<String>,
}

/// What a failure is about, and with which code the program then exits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The measurement itself failed: a socket, a thread, a receiver that died. Exit code 1.
    Failed,
    /// The command line does not make sense. Exit code 2 (as clap's own).
    Usage,
    /// A file that was given cannot be used: missing, empty, truncated, not a run. Exit code 3.
    Input,
    /// This kernel, user or machine cannot do it. Exit code 4.
    Unsupported,
    /// The result could not be written. Exit code 5.
    Output,
    /// The other machine cannot be reached, refuses, or is gone. Exit code 6.
    FarEnd,
    /// Ctrl-C or SIGTERM ended it; what was known was printed and saved. Exit code 130.
    Interrupted,
}

impl FaultKind {
    /// The exit code, as documented in docs/exit-codes.md.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Input => 3,
            Self::Unsupported => 4,
            Self::Output => 5,
            Self::FarEnd => 6,
            Self::Interrupted => 130,
        }
    }
}

impl FaultKind {
    /// Whether it ends a run: the files are not what they were, or the other machine is gone. Any other failure of a trial is its
    /// cell's alone.
    pub fn ends_a_run(self) -> bool {
        matches!(self, Self::Input | Self::FarEnd)
    }
}

impl Fault {
    /// A failure of `kind` told by `sentence`.
    pub fn new(kind: FaultKind, sentence: impl Into<String>) -> Self {
        Self { kind, sentence: sentence.into(), hint: None }
    }

    /// See [`FaultKind::Failed`].
    pub fn failed(sentence: impl Into<String>) -> Self {
        Self::new(FaultKind::Failed, sentence)
    }

    /// See [`FaultKind::Usage`].
    pub fn usage(sentence: impl Into<String>) -> Self {
        Self::new(FaultKind::Usage, sentence)
    }

    /// See [`FaultKind::Input`].
    pub fn input(sentence: impl Into<String>) -> Self {
        Self::new(FaultKind::Input, sentence)
    }

    /// See [`FaultKind::Unsupported`].
    pub fn unsupported(sentence: impl Into<String>) -> Self {
        Self::new(FaultKind::Unsupported, sentence)
    }

    /// See [`FaultKind::Output`].
    pub fn output(sentence: impl Into<String>) -> Self {
        Self::new(FaultKind::Output, sentence)
    }

    /// See [`FaultKind::FarEnd`].
    pub fn far_end(sentence: impl Into<String>) -> Self {
        Self::new(FaultKind::FarEnd, sentence)
    }

    /// An operation on the kernel that failed: `cannot open veth pair: operation not permitted`.
    pub fn os(doing: impl std::fmt::Display, error: impl Into<std::io::Error>) -> Self {
        Self::failed(format!("cannot {doing}: {}", in_words(&error.into())))
    }

    /// Adds the flag or command that helps.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same failure as another kind.
    #[must_use]
    pub fn kind(mut self, kind: FaultKind) -> Self {
        self.kind = kind;
        self
    }
}

/// An error of the operating system as part of a sentence, in lower case and without its number: `no such file or directory`.
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
    use std::io::Error;

    use super::*;

    #[test]
    fn errors_of_the_system_read_as_part_of_a_sentence() {
        assert_eq!(in_words(&Error::from_raw_os_error(2)), "no such file or directory");
        assert_eq!(in_words(&Error::other("a lower-case sentence")), "a lower-case sentence");
        assert_eq!(in_words(&Error::other("")), "unknown error");
        let fault = Fault::os("write \"x\"", Error::from_raw_os_error(30));
        assert_eq!(fault.sentence, "cannot write \"x\": read-only file system");
    }
}
