//! The report as CSV: one line per cell of the plan, including the control, and one per path that
//! was not available. Full precision, no units in the cells, empty where a value is missing. New
//! columns are only added at the end, and are absent where no cell has a value in them.

use super::pivot::level;
use super::verdict;
use crate::csv::text;
use crate::figures::registry::{cell_csv_in, request_csv};
use zc_analysis::Estimates;
use zc_analysis::machine::is_emulated;
use zc_run::{Factor, Level, Run, Support, Value};

/// The whole file, with its heading.
pub fn csv(run: &Run, estimates: &Estimates) -> String {
    text(lines(run, estimates))
}

/// The lines, the heading first, all with the same number of cells.
pub(crate) fn lines(run: &Run, estimates: &Estimates) -> Vec<Vec<String>> {
    let header = &run.header;
    let columns = cell_csv_in(estimates);
    // The factors other than paths, in bytes, bytes per second and names: one column per factor at
    // the end.
    let factors: &[Factor] = if header.plan.factors.len() > 1 { &header.plan.factors } else { &[] };
    let mut head: Vec<String> = columns.iter().map(|(_, csv)| csv.name.to_owned()).collect();
    if !factors.is_empty() {
        head.extend(factors.iter().map(ToString::to_string));
        head.extend(["compared_with", "at_bytes_per_s"].map(str::to_owned));
    }
    let before_states = head.len();
    if !estimates.requests.is_empty() {
        head.extend(request_csv().map(|(_, csv)| csv.name.to_owned()));
    }
    let place = |name: &str| columns.iter().position(|(_, csv)| csv.name == name);
    let set = |line: &mut [String], name: &str, text: String| {
        if let Some(place) = place(name) {
            line[place] = text;
        }
    };
    let width = head.len();
    let mut lines = vec![head];
    for (number, cell) in estimates.cells.iter().enumerate() {
        let texts = columns.iter().map(|(entry, csv)| csv.text(entry, estimates, cell));
        let mut line: Vec<String> = texts.collect();
        if is_emulated(header) {
            set(&mut line, "status", "withheld".to_owned());
            set(&mut line, "comparison", "withheld".to_owned());
            set(&mut line, "reason", verdict::why_withheld(run, estimates).join("; "));
        }
        if let (Some(planned), false) = (header.plan.cells.get(number), factors.is_empty()) {
            line.extend(factors.iter().map(|factor| raw(&level(header, planned, *factor))));
            line.push(cell.by.clone().unwrap_or_default());
            line.push(header.plan.fixed.at(&planned.levels).rate_bytes_per_s.to_string());
        }
        line.resize(before_states, String::new());
        if let Some(state) = estimates.requests.iter().find(|state| state.label == cell.label) {
            line.extend(request_csv().map(|(entry, csv)| csv.text(entry, estimates, state)));
        }
        line.resize(width, String::new());
        lines.push(line);
    }
    for row in &header.unavailable {
        if let Support::No(no) = &row.support {
            let mut line = vec![String::new(); width];
            set(&mut line, "path", row.name.clone());
            set(&mut line, "status", no.kind.name().to_owned());
            set(&mut line, "reason", no.reason.clone());
            lines.push(line);
        }
    }
    lines
}

/// A level, as a number if it is one.
pub(crate) fn raw(level: &Level) -> String {
    match &level.value {
        Value::Bytes(bytes) => bytes.to_string(),
        Value::Rate(rate) | Value::BitRate(rate) => rate.to_string(),
        other => other.to_string(),
    }
}
