//! What a tuning rests on.

use super::controls;
use super::document::TuneReport;
use crate::terminal::note::{Note, note};
use zc_run::escape;

/// What was measured, under which conditions, and how far it can be trusted.
pub(super) fn notes(report: &TuneReport) -> Vec<Note> {
    let about = &report.about;
    let mut notes = vec![
        note("server", format!("{}, {}", escape(&about.server, 200), escape(&about.site, 300))),
        note("mix", escape(&about.mix, 2000)),
    ];
    notes.extend(about.said.iter().map(|said| note("limits", escape(said, 2000))));
    notes.extend(controls::notes(&report.controls));
    notes
}
