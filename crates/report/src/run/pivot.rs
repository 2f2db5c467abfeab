//! The cells of a plan of several factors as a pivot table: rows by the levels of all factors
//! except the last, columns by those of the last, in the order of the plan.

use std::collections::BTreeMap;

use zc_analysis::{CellEstimate, Estimates};
use zc_run::{Cell, Factor, Header, Level, Run, escape};

/// A cell of the plan with its estimates.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) figures: &'a CellEstimate,
}

/// One combination of the levels of all factors but the last.
pub(crate) struct Row<'a> {
    /// One level per factor of [`Pivot::keys`].
    pub(crate) levels: Vec<String>,
    /// Cells by column; `None` where the plan has no such cell.
    pub(crate) cells: Vec<Option<Placed<'a>>>,
}

/// The cells of a plan by row and column, without the control, which is a note.
pub(crate) struct Pivot<'a> {
    /// The factors of the rows.
    pub(crate) keys: &'a [Factor],
    /// The factor of the columns.
    pub(crate) across: Factor,
    /// Its levels, in the order of the columns.
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Row<'a>>,
}

impl<'a> Pivot<'a> {
    /// Arranges the cells of a run; `None` if the plan has fewer than two factors: its cells are
    /// then the rows of one table.
    ///
    /// No cell is dropped, whatever the document contains. If several cells have the same levels,
    /// because they differ in something that is not a factor of the plan, each gets a row of the
    /// same name.
    pub(crate) fn build(run: &'a Run, estimates: &'a Estimates) -> Option<Self> {
        let (&across, keys) = run.header.plan.factors.split_last()?;
        if keys.is_empty() {
            return None;
        }
        let placed = placed(run, estimates);
        let mut columns: Vec<String> = Vec::new();
        let mut rows: Vec<Row<'a>> = Vec::new();
        let mut known_columns: BTreeMap<String, usize> = BTreeMap::new();
        let mut known_rows: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
        for placed in placed {
            let level = level_text(&run.header, placed.cell, across);
            let column = *known_columns.entry(level.clone()).or_insert_with(|| {
                columns.push(level);
                columns.len() - 1
            });
            let levels: Vec<String> =
                keys.iter().map(|key| level_text(&run.header, placed.cell, *key)).collect();
            let alike = known_rows.entry(levels.clone()).or_default();
            let free = alike
                .iter()
                .copied()
                .find(|row| rows[*row].cells.get(column).is_none_or(Option::is_none));
            let row = free.unwrap_or_else(|| {
                rows.push(Row { levels, cells: Vec::new() });
                alike.push(rows.len() - 1);
                rows.len() - 1
            });
            let cells = &mut rows[row].cells;
            if cells.len() <= column {
                cells.resize(column + 1, None);
            }
            cells[column] = Some(placed);
        }
        for row in &mut rows {
            row.cells.resize(columns.len(), None);
        }
        Some(Self { keys, across, columns, rows })
    }

    /// All cells, row by row.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Placed<'a>> {
        self.rows.iter().flat_map(|row| row.cells.iter().flatten().copied())
    }
}

/// The cells of a plan with their figures, in the plan's order, without the control and without
/// those that replay a log, which have no level of the factor `message`.
pub(crate) fn placed<'a>(
    run: &'a Run,
    estimates: &'a Estimates,
) -> impl Iterator<Item = Placed<'a>> {
    let both = run.header.plan.cells.iter().zip(&estimates.cells);
    let replaying = run.header.plan.replaying();
    both.map(|(cell, figures)| Placed { cell, figures }).filter(move |Placed { cell, .. }| {
        !cell.control && !replaying.contains(cell.label.as_str())
    })
}

/// The level of a factor that a cell has.
pub(crate) fn level(header: &Header, cell: &Cell, factor: Factor) -> Level {
    Level::for_cell(factor, cell, &header.plan.fixed, &header.link)
}

fn level_text(header: &Header, cell: &Cell, factor: Factor) -> String {
    escape(&level(header, cell, factor).to_string(), 80)
}
