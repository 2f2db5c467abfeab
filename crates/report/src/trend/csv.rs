//! All nights of a trend as CSV: a line for each night, cell, end and group. Full precision, no
//! units in the cells, empty where a value is missing. New columns are only added at the end.

use crate::csv::text;
use crate::fleet::csv::{heading, number};
use crate::fleet::names::{Names, end};
use zc_analysis::fleet::Trend;

/// The columns before those of the groups.
const FIRST: [&str; 3] = ["night", "cell", "end"];
/// The columns behind them. `change` is 1 in the first night of a new level.
const REST: [&str; 5] = ["runs", "us_per_mb", "us_per_mb_low", "us_per_mb_high", "change"];

/// The whole file, with its heading.
pub fn csv(trend: &Trend) -> String {
    let names = Names::from_trend(trend);
    let mut lines = vec![heading(names, &FIRST, &REST)];
    for of in &trend.lines {
        for point in &of.points {
            let night = trend.nights.get(point.night).cloned().unwrap_or_default();
            let mut line = vec![night, of.label.clone(), end(of.end).to_owned()];
            line.extend((0..names.by.len()).map(|fact| names.raw(of.group, fact).to_owned()));
            let changed = of.changes.iter().any(|change| change.night == point.night);
            line.extend([
                point.runs.to_string(),
                number(Some(point.us_per_mb)),
                number(point.low),
                number(point.high),
                u8::from(changed).to_string(),
            ]);
            lines.push(line);
        }
    }
    text(lines)
}
