//! The document that `zc tune` prints.

use schemars::JsonSchema;
use serde::Serialize;

use super::about::About;
use super::controls::{self, PhaseControls};
use super::sentences;
use crate::run::verdict::why_withheld;
use zc_analysis::tune::{Answer, Phases, Question, answer};

/// Output of `zc tune --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Output of zc tune --json")]
pub struct TuneReport {
    /// What was tuned.
    pub about: About,
    /// When the screening began, as its run says.
    pub started_at: String,
    /// The machine.
    pub host: String,
    /// Its kernel.
    pub kernel: String,
    /// The answer in sentences.
    pub sentences: Vec<String>,
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
    /// Why the verdicts of the run that decides are withheld: a part of a sentence each.
    pub withheld_because: Vec<String>,
    /// What the controls of each run found, in words.
    pub controls: Vec<PhaseControls>,
    /// A unified difference that makes the change; empty where there is none.
    pub diff: String,
}

impl TuneReport {
    /// The report of a tuning. `diff` makes the difference for the lines to change, by their
    /// indices.
    pub fn new(
        phases: &Phases<'_>,
        question: &Question<'_>,
        about: About,
        diff: impl FnOnce(&[usize]) -> String,
    ) -> Self {
        let answer = answer(phases, question);
        let deciding = phases.deciding();
        let withheld_because = match deciding.estimates.verdict.stands() {
            true => Vec::new(),
            false => why_withheld(deciding.run, deciding.estimates),
        };
        let header = &phases.screening.run.header;
        let diff = if answer.change.is_empty() { String::new() } else { diff(&answer.change) };
        Self {
            started_at: header.started_at.clone(),
            host: header.host.hostname.clone(),
            kernel: header.host.kernel_release.clone(),
            sentences: sentences::sentences(&answer, &about, &withheld_because),
            controls: controls::controls(phases, &answer),
            about,
            answer,
            withheld_because,
            diff,
        }
    }
}
