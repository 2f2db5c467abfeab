//! `zc run --kernel` as text, as JSON and as the results of tests: what was booted, what was
//! dropped, what else differs, and a row for each cell: costs with intervals by boot, or what was
//! counted where nothing has a cost.

mod document;
mod notes;
mod rows;
mod tap;

pub use document::{
    BootFacts, BootOutcome, ConfigOption, GuestFacts, HostFacts, KernelFacts, KernelsReport,
    MachineFacts,
};
pub(crate) use notes::of_kernels;
pub use notes::why_left_out;
pub(crate) use rows::word;
pub use tap::tap;

use self::rows::{cost, times};
use crate::digits::bytes;
use crate::terminal::layout::{Layout, Tone};
use crate::terminal::note;
use crate::terminal::table::{Column, Grid};
use zc_analysis::compare::ChangeVerdict;
use zc_analysis::compare::kernels::KernelCell;
use zc_run::escape;

/// Returns one JSON document, indented, with a line feed at its end.
pub fn json(report: &KernelsReport) -> String {
    crate::json::text(report)
}

/// The JSON Schema (draft 2020-12) of [`json`].
pub fn json_schema() -> String {
    crate::json::schema_of::<KernelsReport>()
}

/// Renders for a terminal.
pub fn text(report: &KernelsReport, layout: Layout) -> String {
    let mut out = note::terminal(&note::remove_repeated_labels(notes::above(report)), layout);
    if !report.comparison.cells.is_empty() {
        let grid = if report.comparison.emulated { counted(report) } else { costs(report) };
        for grid in grid.split(1, layout.columns) {
            out.push('\n');
            out.push_str(&grid.terminal(layout));
        }
        out.push('\n');
    }
    out.push_str(&note::terminal(&note::remove_repeated_labels(notes::below(report)), layout));
    out
}

/// How two configurations differ: a line for each option.
pub fn config(options: &[ConfigOption], names: [&str; 2]) -> String {
    let [old, new] = names.map(|name| escape(name, 40));
    if options.is_empty() {
        return format!("The configurations of {old} and {new} are the same.\n");
    }
    let columns = vec![Column::left("option", ""), Column::left(old, ""), Column::left(new, "")];
    let value = |value: &Option<String>| {
        value.as_ref().map_or_else(|| "not set".to_owned(), |value| escape(value, 60))
    };
    let row = |option: &ConfigOption| {
        vec![escape(&option.name, 80), value(&option.old), value(&option.new)]
    };
    Grid::new(columns, options.iter().map(row).collect()).terminal(Layout::plain(usize::MAX))
}

/// What was sent, where nothing has a cost.
fn counted(report: &KernelsReport) -> Grid {
    let [old, new] = report.kernels.each_ref().map(|kernel| escape(&kernel.name, 24));
    let columns = vec![
        Column::left("cell", ""),
        Column::right(format!("{old},"), "sent"),
        Column::right(format!("{new},"), "sent"),
        Column::left("verdict", ""),
    ];
    let sent = |count: Option<u64>| {
        count.map_or_else(|| "not measured".to_owned(), |count| bytes(count as f64))
    };
    let row = |cell: &KernelCell| {
        let both = cell.old_bytes.is_some() && cell.new_bytes.is_some();
        let word = if both { "both send" } else { "one sends" };
        vec![escape(&cell.label, 40), sent(cell.old_bytes), sent(cell.new_bytes), word.to_owned()]
    };
    Grid::new(columns, report.comparison.cells.iter().map(row).collect())
}

fn costs(report: &KernelsReport) -> Grid {
    let [old, new] = report.kernels.each_ref().map(|kernel| escape(&kernel.name, 24));
    let mut columns = vec![
        Column::left("cell", ""),
        Column::right(old.clone(), "us/MB"),
        Column::right(new.clone(), "us/MB"),
        Column::right("cost,", format!("{new} / {old}")),
    ];
    let has_relative = report.comparison.cells.iter().any(|cell| cell.relative.is_some());
    if has_relative {
        columns.push(Column::right("relative to", "the others"));
    }
    columns.push(Column::right("A/A,", format!("{old} / {old}")));
    if report.comparison.wire {
        columns.push(Column::right("far end,", format!("{new} / {old}")));
    }
    columns.push(Column::left("verdict", ""));
    let verdict = columns.len() - 1;
    let row = |cell: &KernelCell| {
        let mut row = vec![
            escape(&cell.label, 40),
            cost(cell.old_cost.as_ref()),
            cost(cell.new_cost.as_ref()),
            times(cell.cost.as_ref()),
        ];
        if has_relative {
            row.push(times(cell.relative.as_ref()));
        }
        row.push(times(cell.same.as_ref()));
        if report.comparison.wire {
            row.push(times(cell.far.as_ref().map(|far| &far.cost)));
        }
        row.push(word(cell));
        row
    };
    let mut grid = Grid::new(columns, report.comparison.cells.iter().map(row).collect());
    for (place, cell) in report.comparison.cells.iter().enumerate() {
        let tone = match cell.verdict {
            ChangeVerdict::Better { .. } => Some(Tone::Less),
            ChangeVerdict::Worse { .. } => Some(Tone::More),
            ChangeVerdict::Undecided | ChangeVerdict::Withheld => Some(Tone::Unclear),
            ChangeVerdict::Same { .. } => None,
        };
        if let Some(tone) = tone {
            grid.tones.insert((place, verdict), tone);
        }
    }
    grid
}

#[cfg(test)]
pub(crate) mod tests;
