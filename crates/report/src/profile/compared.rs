//! The profiles of two runs compared, class by class and function by function.

use serde::Serialize;

use super::tables::signed;
use crate::digits::with_half_width;
use crate::json::text;
use crate::markdown::Width;
use crate::terminal::layout::Layout;
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use crate::text::{list, shown};
use zc_analysis::profile::{Class, Difference, PartDifference, difference, labels};
use zc_run::Run;

/// Classes below this on both sides have no row, ns per KiB.
const SMALL: f64 = 0.5;

/// At most so many functions have a row.
const FUNCTIONS: usize = 12;

/// A run, and optionally one of its cells.
pub type Named<'a> = (&'a Run, Option<&'a str>);

/// The title of a comparison, and the cells that were sampled in both runs, by name.
pub type ComparedCells = (String, Vec<(String, Difference)>);

/// Renders for a terminal: classes and contexts of each cell, the largest difference first; a
/// sentence where no cell was sampled in both.
pub fn compared(pairs: &[ComparedCells], columns: usize) -> String {
    let parts = |pairs: &ComparedCells| {
        parts(pairs)
            .iter()
            .map(|part| part.terminal(Layout::plain(columns)))
            .collect::<Vec<_>>()
            .join("\n")
    };
    pairs.iter().map(parts).collect::<Vec<_>>().join("\n")
}

/// Renders in Markdown, in at most `columns` columns where possible.
pub fn compared_markdown(pairs: &[ComparedCells], columns: usize) -> String {
    let width = Width::Columns(columns);
    let parts = |pairs: &ComparedCells| {
        parts(pairs).iter().map(|part| part.markdown(width)).collect::<Vec<_>>().join("\n")
    };
    pairs.iter().map(parts).collect::<Vec<_>>().join("\n")
}

/// Returns one JSON document.
pub fn compared_json(pairs: &[ComparedCells]) -> String {
    let each: Vec<Compared<'_>> = pairs
        .iter()
        .map(|(compared, found)| {
            let cells = found.iter().map(|(cell, difference)| Cell { cell, difference }).collect();
            Compared { compared, cells }
        })
        .collect();
    text(&each)
}

/// A comparison in JSON.
#[derive(Debug, Serialize)]
struct Compared<'a> {
    /// The two runs, as they were typed.
    compared: &'a str,
    /// The cells that were sampled in both.
    cells: Vec<Cell<'a>>,
}

#[derive(Debug, Serialize)]
struct Cell<'a> {
    cell: &'a str,
    difference: &'a Difference,
}

/// The pairs of cells, each with its difference.
pub fn differences(old: Named<'_>, new: Named<'_>) -> Vec<(String, Difference)> {
    let pairs: Vec<(String, String)> = match (old.1, new.1) {
        (Some(one), Some(other)) => vec![(one.to_owned(), other.to_owned())],
        (Some(only), None) | (None, Some(only)) => vec![(only.to_owned(), only.to_owned())],
        (None, None) => {
            let there = labels(new.0);
            let both = labels(old.0).into_iter().filter(|label| there.contains(label));
            both.map(|label| (label.clone(), label)).collect()
        }
    };
    let found = pairs.into_iter().filter_map(|(one, other)| {
        let name = if one == other { one.clone() } else { format!("{other} against {one}") };
        Some((name, difference((old.0, &one), (new.0, &other))?))
    });
    found.collect()
}

fn parts((compared, found): &ComparedCells) -> Vec<Part> {
    let head = shown(compared);
    if found.is_empty() {
        return vec![Part::Text(vec![format!(
            "{head}: no cell was sampled in both runs; zc profile samples."
        )])];
    }
    let tables = found
        .iter()
        .flat_map(|(name, difference)| [table(name, difference), functions(name, difference)]);
    let unresolved: Vec<String> = Class::ALL
        .into_iter()
        .filter(|class| found.iter().any(|(_, each)| !class.is_resolved_by(each.event)))
        .map(|class| class.name().to_owned())
        .collect();
    let note = (!unresolved.is_empty()).then(|| {
        Part::Text(vec![format!(
            "Not resolved without a counter of cycles (PMU): {}; cpu-clock samples code that runs \
             with interrupts off where they are enabled again.",
            list(&unresolved)
        )])
    });
    std::iter::once(Part::Text(vec![head])).chain(tables).chain(note).collect()
}

fn table(name: &str, difference: &Difference) -> Part {
    let columns = vec![
        Column::left("class", "or context"),
        Column::right("old", "ns/KiB"),
        Column::right("new", "ns/KiB"),
        Column::right("difference", "ns/KiB"),
    ];
    let mut grid = Grid::new(columns, Vec::new());
    grid.rows.extend(difference.classes.iter().filter_map(|class| row(class.what.name(), class)));
    if let Some(all) = &difference.all {
        grid.rows.push(vec!["all".to_owned(), String::new(), String::new(), signed(all)]);
    }
    grid.rows
        .extend(difference.contexts.iter().filter_map(|context| row(context.what.name(), context)));
    let how = if difference.paired { "in the same blocks" } else { "in runs of their own" };
    Part::Table {
        caption: format!("What the CPU time of {} goes to, sampled {how}", shown(name)),
        keys: 1,
        grid,
    }
}

/// The functions that differ most.
fn functions(name: &str, difference: &Difference) -> Part {
    let columns = vec![
        Column::left("function", ""),
        Column::right("old", "ns/KiB"),
        Column::right("new", "ns/KiB"),
        Column::right("difference", "ns/KiB"),
    ];
    let each = difference.functions.iter();
    let rows = each.filter_map(|function| row(&shown(&function.what), function));
    Part::Table {
        caption: format!("The functions of {} whose own time differs most", shown(name)),
        keys: 1,
        grid: Grid::new(columns, rows.take(FUNCTIONS).collect()),
    }
}

fn row<T>(name: &str, part: &PartDifference<T>) -> Option<Vec<String>> {
    let (old, new) = (part.first_ns_per_kib, part.second_ns_per_kib);
    // To as many digits as the difference.
    let cost = |value: f64| {
        let text = with_half_width(value, part.difference.half_width.filter(|half| *half > 0.0));
        text.split(" ±").next().unwrap_or_default().to_owned()
    };
    let row = || vec![name.to_owned(), cost(old), cost(new), signed(&part.difference)];
    (old.abs().max(new.abs()) >= SMALL).then(row)
}
