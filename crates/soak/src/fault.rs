//! Why a command has no result.

use zc_run::{CommandEnd, Error};

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandFault {
    /// There is no such command (`found` is false), or it cannot be run.
    NotRun {
        /// Whether it exists.
        found: bool,
        /// The error of starting it.
        error: Error,
    },
    /// The command has not been started, because of a failure of zc.
    NotStarted(Error),
    /// The command has ended, but its cost is unknown.
    NotMeasured {
        /// Exit code or signal with which it ended.
        end: CommandEnd,
        /// Why it was not measured.
        error: Error,
    },
}

/// A value, or why there is no result.
pub type Outcome<T> = std::result::Result<T, CommandFault>;

impl From<Error> for CommandFault {
    fn from(error: Error) -> Self {
        Self::NotStarted(error)
    }
}

impl CommandFault {
    /// The error alone.
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::NotRun { error, .. }
            | Self::NotStarted(error)
            | Self::NotMeasured { error, .. } => error,
        }
    }
}
