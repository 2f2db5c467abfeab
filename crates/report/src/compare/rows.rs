//! The cells of a comparison as rows of tables.

use crate::digits::{percent, ratio};
use crate::run::rows::{FAILED_ZERO_COPY, cost, plain};
use crate::terminal::table::{Column, Grid};
use zc_analysis::Sides;
use zc_analysis::compare::{
    Basis, CellChange, Change, ChangeVerdict, Compared, JudgedBy, RelativeTo,
};
use zc_run::escape;

/// The main table, and one of the sides where they are separate.
pub(crate) fn grids(compared: &Compared) -> Vec<Grid> {
    let mut grids = vec![main(compared)];
    let separate = |cell: &CellChange| shown(cell).receiver.is_some();
    if compared.cells.iter().any(separate) && !compares_servers(compared) {
        grids.push(sides(compared));
    }
    grids
}

fn main(compared: &Compared) -> Grid {
    let relative = compared.basis == Basis::TwoRuns && compared.reference.is_some();
    let requests = compares_servers(compared);
    let (what, unit) = if requests { ("state", "us/request") } else { ("cell", "us/MB") };
    let mut columns = vec![
        Column::left(what, ""),
        Column::right("old", unit),
        Column::right("new", unit),
        Column::right("cost,", "new / old"),
    ];
    if relative {
        let to = match compared.relative_to {
            Some(RelativeTo::Others) => "the others".to_owned(),
            _ => escape(compared.reference.as_deref().unwrap_or_default(), 24),
        };
        columns.push(Column::right("relative to", to));
    }
    columns.push(Column::left("verdict", ""));
    let row = |cell: &CellChange| {
        let (old, new) = if requests {
            (plain(cell.old_us_per_request), plain(cell.new_us_per_request))
        } else {
            (cost(cell.old_cost_ns_per_kib.both), cost(cell.new_cost_ns_per_kib.both))
        };
        let mut row = vec![name(cell), old, new, change(cell.cost.both.as_ref())];
        if relative {
            row.push(change(cell.relative.both.as_ref()));
        }
        row.push(word(cell));
        row
    };
    Grid::new(columns, compared.cells.iter().map(row).collect())
}

/// Whether the costs are those of a server's requests.
pub(crate) fn compares_servers(compared: &Compared) -> bool {
    compared.cells.iter().any(|cell| cell.old_us_per_request.is_some())
}

fn sides(compared: &Compared) -> Grid {
    let row = |cell: &CellChange| {
        let of = shown(cell);
        vec![name(cell), change(of.sender.as_ref()), change(of.receiver.as_ref())]
    };
    let columns = vec![
        Column::left("cell", ""),
        Column::right("sender,", "new / old"),
        Column::right("receiver,", "new / old"),
    ];
    Grid::new(columns, compared.cells.iter().map(row).collect())
}

/// The kind of change that the cell's verdict is about.
fn shown(cell: &CellChange) -> &Sides<Change> {
    match cell.judged_by {
        Some(JudgedBy::Relative) => &cell.relative,
        _ => &cell.cost,
    }
}

/// `sendfile`, or `sendfile -> splice`, with a mark where the kernel copied what was to be sent
/// without a copy.
pub(crate) fn name(cell: &CellChange) -> String {
    let mark = if cell.failed_zero_copy { FAILED_ZERO_COPY.sign } else { "" };
    labels(cell) + mark
}

pub(crate) fn labels(cell: &CellChange) -> String {
    match &cell.new_label {
        Some(new) => format!("{} -> {}", escape(&cell.label, 40), escape(new, 40)),
        None => escape(&cell.label, 40),
    }
}

pub(super) fn change(change: Option<&Change>) -> String {
    change.map_or_else(String::new, |change| ratio(change.ratio, change.half_width()))
}

/// The verdict with its figure.
pub(crate) fn word(cell: &CellChange) -> String {
    match cell.verdict {
        ChangeVerdict::Better { by } => format!("better, {} less", percent(by)),
        ChangeVerdict::Worse { by } => format!("worse, {} more", percent(by)),
        ChangeVerdict::Same { within } => format!("same within {}", percent(within)),
        ChangeVerdict::Undecided if cell.judged_by.is_none() => "no figure".to_owned(),
        ChangeVerdict::Undecided => "undecided".to_owned(),
        ChangeVerdict::Withheld => "withheld".to_owned(),
    }
}
