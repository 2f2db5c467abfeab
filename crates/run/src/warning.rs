//! Conditions that invalidate or weaken results. They are found before, during or after the
//! measurement and stored in the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the warning that a CPU is emulated. No cost of such a run is shown.
pub const EMULATED: &str = "emulated";

/// The name of the warning that a cgroup may use fewer CPUs than are soaked.
pub const CPU_QUOTA: &str = "cpu-quota";

/// The name of the warning that says which other programs used CPUs while blocks were dropped.
pub const OTHER_PROGRAMS: &str = "other-programs";

/// Degree to which a warning weakens the results.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// A condition a reader should know of.
    Note,
    /// The results are less certain than they look.
    Doubt,
    /// The results are not reliable: verdicts are withheld.
    Withhold,
}

/// A condition that was found. The text is for users; `name` is for programs and tests.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable, kebab-case: `steal`, `sniffer`, `soaker-delays-wakeups`, `busy-machine`,
    /// `virtual-machine` ...
    pub name: String,
    /// Degree to which it weakens the results.
    pub severity: Severity,
    /// One sentence, with figures.
    pub text: String,
    /// Measure that would remove it.
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
