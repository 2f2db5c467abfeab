//! The tables of a fleet: costs by cell and group, and how costs differ within groups.

use super::names::{Names, cell, end, ends, half, lines, plus_minus, range, unique};
use crate::digits::{percent, ratio};
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use crate::text::ordered;
use zc_analysis::fleet::{End, Fleet, GroupMean, Row, Spread, SpreadOf};

/// The ends, in the order of the tables.
pub(crate) const ENDS: [End; 3] = [End::Sender, End::Receiver, End::Both];

/// The rows of an end, ordered by cell in the order of the plan, then by group.
pub(crate) fn rows(fleet: &Fleet, end: End) -> Vec<&Row> {
    let labels = unique(&mut fleet.rows.iter().map(|row| row.label.clone()));
    let rows: Vec<&Row> = fleet.rows.iter().filter(|row| row.end == end).collect();
    let key = |row: &Row| (labels.iter().position(|label| *label == row.label), row.group);
    ordered(&rows, &|a, b| key(a).cmp(&key(b)))
}

/// A table for each end that has costs.
pub(crate) fn costs(fleet: &Fleet) -> Vec<Part> {
    ENDS.into_iter()
        .map(|end| (end, rows(fleet, end)))
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(end, rows)| Part::Table {
            caption: caption(end).to_owned(),
            keys: 1 + fleet.by.len(),
            grid: costs_of(fleet, &rows),
        })
        .collect()
}

/// Caption of a table of costs.
pub(crate) fn caption(end: End) -> &'static str {
    match end {
        End::Sender => "Sender: what a path costs the sending hosts of a group, in us/MB",
        End::Receiver => "Receiver: what a path costs the receiving hosts of a group, in us/MB",
        End::Both => "Both ends: what a path costs the two hosts together, in us/MB",
    }
}

/// The column of the cost in [`costs_of`].
pub(crate) fn cost_column(fleet: &Fleet) -> usize {
    fleet.by.len() + 3
}

/// The table of some rows.
pub(crate) fn costs_of(fleet: &Fleet, rows: &[&Row]) -> Grid {
    let names = Names::from_fleet(fleet);
    let mut columns = vec![Column::left("cell", "")];
    columns.extend(names.columns());
    columns.extend([
        Column::right("hosts", ""),
        Column::right("runs", ""),
        Column::right("cost", "us/MB"),
    ]);
    let relative = rows.iter().any(|row| row.ratio.is_some());
    if relative {
        columns.push(Column::right("relative to", cell(&fleet.reference)));
    }
    columns.push(Column::right("one more host", "us/MB"));
    let line = |row: &&Row| {
        let mut line = vec![cell(&row.label)];
        line.extend(names.values(row.group));
        let cost = row.us_per_mb;
        line.extend([
            row.hosts.to_string(),
            row.runs.to_string(),
            plus_minus(cost.value, cost.low, cost.high),
        ]);
        if relative {
            line.push(row.ratio.map_or_else(String::new, |mean| relative_to(&mean)));
        }
        line.push(range(cost.one_more_low, cost.one_more_high));
        line
    };
    Grid::new(columns, lines(&mut rows.iter().map(line)))
}

/// `0.62 ±2.1 %`.
fn relative_to(mean: &GroupMean) -> String {
    let half = half(mean.low, mean.high).map(|half| half / mean.value);
    ends(mean.value, mean.low, mean.high).unwrap_or_else(|| ratio(mean.value, half))
}

/// Tables of the spread of costs, and of ratios.
pub(crate) fn spreads(fleet: &Fleet) -> Vec<Part> {
    let mut parts = vec![spreads_of(
        fleet,
        "How costs differ within groups, beyond what the blocks of each run explain: standard \
         deviations as shares of the cost",
        |spread| Some(spread.cost),
    )];
    parts.push(spreads_of(fleet, "The same for the cost relative to the reference", |spread| {
        spread.ratio
    }));
    parts.retain(|part| matches!(part, Part::Table { grid, .. } if !grid.rows.is_empty()));
    parts
}

fn spreads_of(fleet: &Fleet, caption: &str, of: fn(&Spread) -> Option<SpreadOf>) -> Part {
    let mut rows = Vec::new();
    for end in ENDS {
        for spread in fleet.spreads.iter().filter(|spread| spread.end == end) {
            rows.extend(of(spread).map(|of| line(&spread.label, end, &of)));
        }
    }
    let columns = vec![
        Column::left("cell", ""),
        Column::left("end", ""),
        Column::right("between", "hosts"),
        Column::right("by far", "host"),
        Column::right("between", "sessions"),
        Column::right("within", "runs"),
        Column::right("I^2", ""),
    ];
    Part::Table { caption: caption.to_owned(), keys: 2, grid: Grid::new(columns, rows) }
}

fn line(label: &str, whose: End, of: &SpreadOf) -> Vec<String> {
    let shares =
        [of.between_hosts, of.by_far_host, of.between_sessions, of.within_runs, of.heterogeneity];
    let mut line = vec![cell(label), end(whose).to_owned()];
    line.extend(shares.map(percent));
    line
}
