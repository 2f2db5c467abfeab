//! Several runs in one text. A single run is what it is for itself.

use crate::estimate::Estimates;
use crate::record::Run;

/// A section to a run.
pub fn markdown(runs: &[(&Run, &Estimates)]) -> String {
    let sections: Vec<String> = runs.iter().map(|(run, estimates)| super::markdown(run, estimates)).collect();
    sections.join("\n")
}

/// A line to a cell of a run.
pub fn csv(runs: &[(&Run, &Estimates)]) -> String {
    runs.iter().map(|(run, estimates)| super::csv(run, estimates)).collect()
}

/// An array with an element to a run; of one run its document.
pub fn json(runs: &[(&Run, &Estimates)]) -> String {
    match runs {
        [(run, estimates)] => super::json(run, estimates),
        _ => {
            let each: Vec<String> = runs.iter().map(|(run, estimates)| super::json(run, estimates)).collect();
            format!("[\n{}]\n", each.join(","))
        }
    }
}
