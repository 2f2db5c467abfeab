//! The tables of a trend: lines that changed, and lines that did not.

use super::words::{Occasion, interval, night};
use crate::digits::signed_percent;
use crate::fleet::names::{Names, cell, end, lines as table_lines, plus_minus, range, times};
use crate::fleet::words::percent_of;
use crate::terminal::layout::Layout;
use crate::terminal::table::{Column, Grid};
use zc_analysis::fleet::{Trend, TrendLine};

/// The caption of [`unchanged`].
pub(crate) const UNCHANGED: &str = "Lines without a change: cost of the last night, and the \
    range of all nights, in us/MB";

/// The columns that name a line.
pub(crate) fn keys(trend: &Trend) -> usize {
    2 + trend.by.len()
}

fn key_columns(trend: &Trend) -> Vec<Column> {
    let mut columns = vec![Column::left("cell", ""), Column::left("end", "")];
    columns.extend(Names::from_trend(trend).columns());
    columns
}

fn key_cells(trend: &Trend, line: &TrendLine) -> Vec<String> {
    let mut cells = vec![cell(&line.label), end(line.end).to_owned()];
    cells.extend(Names::from_trend(trend).values(line.group));
    cells
}

/// The lines that changed on an occasion.
pub(crate) fn changes(trend: &Trend, occasion: &Occasion) -> Grid {
    let mut columns = key_columns(trend);
    columns.extend([
        Column::right("cost,", "new / old"),
        Column::right("by", ""),
        Column::left("from", ""),
        Column::left(percent_of(trend.confidence), "interval"),
    ]);
    let row = |(line, change): &(&TrendLine, &zc_analysis::fleet::ChangePoint)| {
        let mut row = key_cells(trend, line);
        row.push(times(change.by, change.low, change.high));
        row.push(signed_percent(change.by - 1.0));
        row.push(night(trend, change.night));
        row.push(interval(trend, change));
        row
    };
    Grid::new(columns, table_lines(&mut occasion.lines.iter().map(row)))
}

/// Lines without a change.
pub(crate) fn without_change(trend: &Trend) -> Vec<&TrendLine> {
    trend.lines.iter().filter(|line| line.changes.is_empty()).collect()
}

/// Lines without a change; `None` if there is none.
pub(crate) fn unchanged(trend: &Trend) -> Option<Grid> {
    let lines = without_change(trend);
    if lines.is_empty() {
        return None;
    }
    let mut columns = key_columns(trend);
    columns.extend([
        Column::right("nights", ""),
        Column::right("last", "us/MB"),
        Column::right("all nights", "us/MB"),
    ]);
    let row = |line: &&TrendLine| {
        let mut row = key_cells(trend, line);
        row.push(line.points.len().to_string());
        row.push(
            line.points
                .last()
                .map_or_else(String::new, |last| plus_minus(last.us_per_mb, last.low, last.high)),
        );
        let costs = || line.points.iter().map(|point| point.us_per_mb);
        row.push(range(costs().min_by(f64::total_cmp), costs().max_by(f64::total_cmp)));
        row
    };
    Some(Grid::new(columns, table_lines(&mut lines.iter().map(row))))
}

/// A table on a terminal, split where it does not fit.
pub(crate) fn terminal(grid: Grid, layout: Layout, keys: usize) -> String {
    let grids = grid.split(keys, layout.columns).into_iter().map(|grid| grid.terminal(layout));
    grids.collect::<Vec<_>>().join("\n")
}
