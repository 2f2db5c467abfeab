//! Documents of several runs. The document of a single run is the same as without this module.

use super::json::Document;
use super::{csv as table, markdown as page};
use crate::csv::text as csv_text;
use crate::json::text;
use zc_analysis::Estimates;
use zc_run::Run;

/// Renders one section per run, in lines of at most `columns` where possible.
pub fn markdown(runs: &[(&Run, &Estimates)], columns: usize) -> String {
    let sections: Vec<String> =
        runs.iter().map(|(run, estimates)| page::narrow(run, estimates, columns)).collect();
    sections.join("\n")
}

/// The columns that identify the run of a line.
const RUN_COLUMNS: [&str; 6] = ["run", "experiment", "host", "kernel", "link", "started_at"];

/// One line per cell. With several runs, every line begins with the number of its run, from 1, and
/// what distinguishes the runs; columns that a run lacks are empty.
pub fn csv(runs: &[(&Run, &Estimates)]) -> String {
    if let [(run, estimates)] = runs {
        return table::csv(run, estimates);
    }
    let tables: Vec<Vec<Vec<String>>> =
        runs.iter().map(|(run, estimates)| table::lines(run, estimates)).collect();
    let mut head: Vec<String> = Vec::new();
    for name in tables.iter().filter_map(|lines| lines.first()).flatten() {
        if !head.contains(name) {
            head.push(name.clone());
        }
    }
    let mut lines = vec![
        RUN_COLUMNS.iter().map(|name| (*name).to_owned()).chain(head.iter().cloned()).collect(),
    ];
    for (number, ((run, _), own)) in runs.iter().zip(&tables).enumerate() {
        let Some((own_head, own_lines)) = own.split_first() else { continue };
        let place = |name: &String| own_head.iter().position(|own| own == name);
        let places: Vec<Option<usize>> = head.iter().map(place).collect();
        let header = &run.header;
        let run_fields = [
            (number + 1).to_string(),
            header.plan.experiment.clone(),
            header.host.hostname.clone(),
            header.host.kernel_release.clone(),
            header.plan.fixed.link.to_string(),
            header.started_at.clone(),
        ];
        for line in own_lines {
            let field = |place: &Option<usize>| {
                place.and_then(|place| line.get(place)).cloned().unwrap_or_default()
            };
            lines.push(run_fields.iter().cloned().chain(places.iter().map(field)).collect());
        }
    }
    csv_text(lines)
}

/// An array with one element per run; for one run its document.
pub fn json(runs: &[(&Run, &Estimates)]) -> String {
    match runs {
        [(run, estimates)] => text(&Document::new(run, estimates)),
        runs => text(
            &runs.iter().map(|(run, estimates)| Document::new(run, estimates)).collect::<Vec<_>>(),
        ),
    }
}
