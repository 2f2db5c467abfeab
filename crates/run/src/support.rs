//! Whether this machine and user can have something, and if not, why, and what would change it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Can it be had here?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    /// It was tried and it works.
    Yes,
    /// It cannot be had.
    No(No),
}

/// A "no", its kind, its reason, and the remedy. The four kinds are different things, and stay so in reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum No {
    /// This kernel or device does not have it.
    Unsupported {
        /// A lower-case sentence.
        reason: String,
        /// The command or flag that would change it.
        remedy: Option<String>,
    },
    /// It exists, and this user may not.
    Refused {
        /// A lower-case sentence.
        reason: String,
        /// The command or flag that would change it.
        remedy: Option<String>,
    },
    /// It was tried and broke.
    Failed {
        /// A lower-case sentence.
        reason: String,
        /// The command or flag that would change it.
        remedy: Option<String>,
    },
    /// It could not be found out.
    Unknown {
        /// A lower-case sentence.
        reason: String,
        /// The command or flag that would change it.
        remedy: Option<String>,
    },
}

impl No {
    /// Not in this kernel.
    pub fn unsupported(reason: impl Into<String>) -> Self {
        Self::Unsupported { reason: reason.into(), remedy: None }
    }

    /// Not for this user.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::Refused { reason: reason.into(), remedy: None }
    }

    /// Tried, and broke.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::Failed { reason: reason.into(), remedy: None }
    }

    /// Not found out.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Self::Unknown { reason: reason.into(), remedy: None }
    }

    /// Adds the command or flag that would change it.
    #[must_use]
    pub fn remedy(mut self, text: impl Into<String>) -> Self {
        let (Self::Unsupported { remedy, .. }
        | Self::Refused { remedy, .. }
        | Self::Failed { remedy, .. }
        | Self::Unknown { remedy, .. }) = &mut self;
        *remedy = Some(text.into());
        self
    }

    /// `unsupported`, `refused`, `failed` or `unknown`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Unsupported { .. } => "unsupported",
            Self::Refused { .. } => "refused",
            Self::Failed { .. } => "failed",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// The reason, without the remedy.
    pub fn reason(&self) -> &str {
        match self {
            Self::Unsupported { reason, .. }
            | Self::Refused { reason, .. }
            | Self::Failed { reason, .. }
            | Self::Unknown { reason, .. } => reason,
        }
    }

    /// What would change it.
    pub fn remedy_text(&self) -> Option<&str> {
        match self {
            Self::Unsupported { remedy, .. }
            | Self::Refused { remedy, .. }
            | Self::Failed { remedy, .. }
            | Self::Unknown { remedy, .. } => remedy.as_deref(),
        }
    }
}

/// A line of `zc doctor`, and of the list of paths that a run could not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SupportRow {
    /// `send path`, `receive path`, `link`, `meter`.
    pub what: String,
    /// Its name.
    pub name: String,
    /// Whether it can be had.
    pub support: Support,
}
