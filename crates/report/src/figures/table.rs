//! The tables of cells, on terminals, in Markdown and in HTML: the figures that are their columns,
//! and the text of each cell.

use super::entry::{Column, Entry, Group, Needs, Per, Side, Text, Widths};
use super::registry::cell_figures;
use crate::run::rows::{sorted, tone};
use crate::terminal::table::{self, Grid};
use zc_analysis::{CellEstimate, Estimates, Figure};
use zc_run::{Factor, Run};

/// A figure as a column of a table.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    entry: &'static Entry<CellEstimate>,
    column: &'static Column,
}

/// All columns of the main table.
pub(crate) fn main_columns() -> Vec<Field> {
    fields(&|column| column.group.is_of_main_table())
}

/// The columns of the main table where those of [`main_columns`] do not fit.
pub(crate) fn costs() -> Vec<Field> {
    fields(&|column| matches!(column.group, Group::Name | Group::Main))
}

/// The columns that [`costs`] leaves out.
pub(crate) fn sides() -> Vec<Field> {
    let mut sides = fields(&|column| matches!(column.group, Group::Name | Group::Side));
    sides.extend(fields(&|column| column.group == Group::Share));
    sides
}

/// The columns of the table of traffic.
pub(crate) fn traffic() -> Vec<Field> {
    fields(&|column| matches!(column.group, Group::Name | Group::Traffic))
}

/// The columns of the table of sockets.
pub(crate) fn sockets() -> Vec<Field> {
    fields(&|column| matches!(column.group, Group::Name | Group::Sockets))
}

/// The columns of the table of costs by one of the counts.
pub(crate) fn counted(per: Per) -> Vec<Field> {
    fields(&|column| column.group == Group::Name || column.group == Group::Per(per))
}

/// The columns of the main table on the HTML page.
pub(crate) fn page() -> Vec<Field> {
    fields(&|column| column.group.is_of_main_table() && column.html)
}

/// The columns of the short report at its widest.
pub(crate) fn short() -> Vec<Field> {
    fields(&|column| column.group.is_of_main_table() && column.widths != Widths::Full)
}

/// The column with the names of cells.
pub(crate) fn names() -> Vec<Field> {
    fields(&|column| column.group == Group::Name)
}

/// The last step in which the short report leaves out columns.
pub(crate) fn last_step() -> u8 {
    let steps = short().into_iter().filter_map(|field| match field.column.widths {
        Widths::Until(step) => Some(step),
        Widths::Always | Widths::Full => None,
    });
    steps.max().unwrap_or(0)
}

fn fields(wanted: &dyn Fn(&Column) -> bool) -> Vec<Field> {
    cell_figures()
        .flat_map(|entry| entry.columns.iter().map(move |column| Field { entry, column }))
        .filter(|field| wanted(field.column))
        .collect()
}

impl Field {
    /// Whether it is the cost of a side, or of both.
    pub(crate) fn is_cost_of(&self, side: Side) -> bool {
        self.entry.name == "cost" && self.column.side == side
    }

    /// Whether it is the verdict.
    pub(crate) fn is_verdict(&self) -> bool {
        self.entry.name == "comparison"
    }

    /// Whether the short report leaves it out in this step.
    pub(crate) fn is_dropped_in(&self, step: u8) -> bool {
        self.column.widths == Widths::Until(step)
    }

    /// Whether a table of these estimates has the column.
    pub(crate) fn applies_to(&self, estimates: &Estimates) -> bool {
        self.column.needs.iter().all(|need| match need {
            Needs::Receiver => !estimates.sender_alone,
            Needs::OwnCalls => estimates.requests.is_empty(),
            Needs::Shown => estimates.cells.iter().any(self.column.shown),
        })
    }

    /// The text of a cell in it.
    pub(crate) fn text(&self, estimates: &Estimates, cell: &CellEstimate) -> String {
        match self.column.text {
            Text::Number(text) => self.number(cell).map_or_else(String::new, text),
            Text::Cell(text) => text(estimates, cell),
        }
    }

    /// The cost of a cell in it, whose unit changes on the page.
    pub(crate) fn cost(&self, cell: &CellEstimate) -> Option<Figure> {
        self.number(cell).filter(|_| self.entry.is_cost())
    }

    /// The sort key of a cell in it, where its text does not sort.
    pub(crate) fn sort_key(&self, cell: &CellEstimate) -> Option<f64> {
        self.column.sort.and_then(|key| key(cell))
    }

    fn number(&self, cell: &CellEstimate) -> Option<Figure> {
        self.entry.number(cell, self.column.side).filter(|_| (self.column.shown)(cell))
    }

    fn heading(&self) -> table::Column {
        let [first, second] = self.column.head;
        match self.column.left {
            true => table::Column::left(first, second),
            false => table::Column::right(first, second),
        }
    }
}

/// A table of `fields`. The first one is the cell's name: its path, or its level of the plan's only
/// factor. Columns that are empty in every row stay.
pub(crate) fn grid(run: &Run, estimates: &Estimates, fields: &[Field]) -> Grid {
    let cells = sorted(estimates);
    let fields: Vec<&Field> = fields.iter().filter(|field| field.applies_to(estimates)).collect();
    let mut columns: Vec<table::Column> = fields.iter().map(|field| field.heading()).collect();
    match (run.header.plan.factors.as_slice(), columns.as_mut_slice()) {
        ([factor], [first, ..]) if *factor != Factor::Send => {
            *first = table::Column::left(factor.to_string(), "")
        }
        _ => {}
    }
    let rows =
        cells.iter().map(|cell| fields.iter().map(|field| field.text(estimates, cell)).collect());
    let mut grid = Grid::new(columns, rows.collect());
    if let Some(column) = fields.iter().position(|field| field.is_verdict()) {
        let tones = cells
            .iter()
            .enumerate()
            .filter_map(|(row, cell)| Some(((row, column), tone(estimates, cell)?)));
        grid.tones = tones.collect();
    }
    grid
}
