//! The controls of each run in words: those of every run of zc.

use schemars::JsonSchema;
use serde::Serialize;

use crate::fleet::names::count;
use crate::run::notes_below;
use crate::terminal::note::{Note, note};
use zc_analysis::tune::{Answer, Phase, PhaseName, Phases};

/// The controls of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PhaseControls {
    /// The run: `screening`.
    pub phase: String,
    /// How many lines in how many blocks.
    pub extent: String,
    /// The present state against itself.
    pub same: String,
    /// The known cost that was added.
    pub positive: Option<String>,
}

/// The controls of all runs that were made.
pub(super) fn controls(phases: &Phases<'_>, answer: &Answer) -> Vec<PhaseControls> {
    let each = std::iter::zip(phases.made(), &answer.phases).map(|((_, phase), account)| {
        let Phase { estimates, .. } = phase;
        // The state with all of them is none of a line.
        let what = match account.phase {
            PhaseName::Together => "the lines to change".to_owned(),
            _ => count(account.lines, "line"),
        };
        PhaseControls {
            phase: phase_name(account.phase).to_owned(),
            extent: format!("{what} in {}", count(account.blocks, "block")),
            same: notes_below::control(estimates).text,
            positive: notes_below::positive_control(estimates).map(|note| note.text),
        }
    });
    each.collect()
}

/// The word for a run.
fn phase_name(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::Screening => "screening",
        PhaseName::Confirming => "confirming",
        PhaseName::Together => "together",
    }
}

/// A note for each run.
pub(super) fn notes(controls: &[PhaseControls]) -> Vec<Note> {
    let each = controls.iter().map(|each| {
        let positive = each.positive.as_ref().map_or_else(String::new, |it| format!("; {it}"));
        note("controls", format!("{}, {}: {}{positive}", each.phase, each.extent, each.same))
    });
    each.collect()
}
