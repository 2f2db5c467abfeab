//! What would make the figures a lie, or less than they seem: found before, during or after, and stored in the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a warning takes away from the figures.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// A condition a reader should know of.
    Note,
    /// The figures are less sure than they look.
    Doubt,
    /// The figures cannot be believed: verdicts are withheld.
    Withhold,
}

/// One thing that was found. The text is for people; `name` is for programs and tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable, kebab-case: `steal`, `sniffer`, `soaker-delays-wakeups`, `busy-machine`, `virtual-machine` ...
    pub name: String,
    /// What it takes away.
    pub severity: Severity,
    /// One sentence, with figures.
    pub text: String,
    /// What would remove it.
    pub remedy: Option<String>,
}

impl Warning {
    /// A warning without a remedy.
    pub fn new(name: &str, severity: Severity, text: impl Into<String>) -> Self {
        Self { name: name.to_owned(), severity, text: text.into(), remedy: None }
    }

    /// Adds what would remove it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}
