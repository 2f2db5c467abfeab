//! Whether a path, a link or a meter is available on this machine to this user, and if not, why,
//! and what would change it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind};

/// Whether something is available here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    /// It was tried and it works.
    Yes,
    /// It is not available.
    No(Unavailable),
}

/// Why something is not available here, and what would change it. It is a row of a table, or an
/// [`Error`] if the user asked for the thing by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unavailable {
    /// The kind of reason.
    pub kind: UnavailableKind,
    /// A lower-case sentence.
    pub reason: String,
    /// The command or flag that would change it.
    pub remedy: Option<String>,
}

/// Why something is not available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnavailableKind {
    /// This kernel or device does not have it.
    Unsupported,
    /// It exists, and this user may not use it.
    Refused,
    /// It was tried and failed.
    Failed,
    /// It could not be determined.
    Unknown,
}

impl UnavailableKind {
    /// `unsupported`, `refused`, `failed` or `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unsupported => "unsupported",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

impl Unavailable {
    /// Not available for `reason`, without a remedy.
    pub fn new(kind: UnavailableKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), remedy: None }
    }

    /// See [`UnavailableKind::Unsupported`].
    pub fn unsupported(reason: impl Into<String>) -> Self {
        Self::new(UnavailableKind::Unsupported, reason)
    }

    /// See [`UnavailableKind::Refused`].
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::new(UnavailableKind::Refused, reason)
    }

    /// See [`UnavailableKind::Failed`].
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::new(UnavailableKind::Failed, reason)
    }

    /// See [`UnavailableKind::Unknown`].
    pub fn unknown(reason: impl Into<String>) -> Self {
        Self::new(UnavailableKind::Unknown, reason)
    }

    /// Adds the command or flag that would change it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// The error if the user asked for it by name; the message begins with `what` (`the link
    /// "null"`).
    pub fn into_error(self, id: &'static str, what: impl std::fmt::Display) -> Error {
        let kind = match self.kind {
            UnavailableKind::Failed => ErrorKind::Failed,
            UnavailableKind::Unsupported | UnavailableKind::Refused | UnavailableKind::Unknown => {
                ErrorKind::Unsupported
            }
        };
        let error = Error::new(kind, id, format!("{what}: {}", self.reason));
        Error { help: self.remedy, ..error }
    }
}

/// A row of `zc doctor`, and of the list of paths that were not available to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SupportRow {
    /// `send path`, `receive path`, `link`, `meter`.
    pub what: String,
    /// Its name.
    pub name: String,
    /// Whether it is available.
    pub support: Support,
}
