//! The rows of a fleet as CSV: a line for each cell, end and group. Full precision, no units in the
//! cells, empty where a value is missing. New columns are only added at the end.

use super::names::{Names, end, strings};
use crate::csv::text;
use zc_analysis::fleet::{Fleet, GroupMean};

/// The columns before those of the groups.
const FIRST: [&str; 2] = ["cell", "end"];
/// The columns behind them.
const REST: [&str; 12] = [
    "hosts",
    "runs",
    "us_per_mb",
    "us_per_mb_low",
    "us_per_mb_high",
    "us_per_mb_one_more_low",
    "us_per_mb_one_more_high",
    "ratio",
    "ratio_low",
    "ratio_high",
    "ratio_one_more_low",
    "ratio_one_more_high",
];

/// The whole file, with its heading.
pub fn csv(fleet: &Fleet) -> String {
    let names = Names::from_fleet(fleet);
    let mut lines = vec![heading(names, &FIRST, &REST)];
    for row in &fleet.rows {
        let mut line = vec![row.label.clone(), end(row.end).to_owned()];
        line.extend((0..names.by.len()).map(|fact| names.raw(row.group, fact).to_owned()));
        line.extend([row.hosts.to_string(), row.runs.to_string()]);
        line.extend(mean(Some(&row.us_per_mb)));
        line.extend(mean(row.ratio.as_ref()));
        lines.push(line);
    }
    text(lines)
}

/// The names of all columns: those of the groups are the names of the facts, behind `group_` where
/// another column has that name.
pub(crate) fn heading(names: Names, first: &[&str], rest: &[&str]) -> Vec<String> {
    let mut columns = strings(&mut first.iter().map(|name| (*name).to_owned()));
    for name in names.by {
        let mut name = name.clone();
        while columns.contains(&name) || rest.contains(&name.as_str()) {
            name.insert_str(0, "group_");
        }
        columns.push(name);
    }
    columns.extend(rest.iter().map(|name| (*name).to_owned()));
    columns
}

fn mean(mean: Option<&GroupMean>) -> [String; 5] {
    [
        mean.map(|mean| mean.value),
        mean.and_then(|mean| mean.low),
        mean.and_then(|mean| mean.high),
        mean.and_then(|mean| mean.one_more_low),
        mean.and_then(|mean| mean.one_more_high),
    ]
    .map(number)
}

/// A number in full precision; empty without one.
pub(crate) fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
