//! Groups the cells of a plan into series, and pairs the series that are compared.

use zc_run::{Cell, Factor, Header, Level};

/// The cells of one series.
pub(crate) struct SeriesCells {
    /// See [`crate::Series::name`].
    pub(crate) name: String,
    /// See [`crate::Series::reference`].
    pub(crate) reference: bool,
    /// Bytes per call and index of the cell in the plan, by rising size.
    pub(crate) cells: Vec<(usize, usize)>,
    /// Level of the factor that crossovers compare, the last of the plan's other than `message`;
    /// `None` if there is no other.
    column: Option<Level>,
    /// Levels of the remaining factors.
    row: Vec<Level>,
}

/// The series of a plan, in the order of their first cells; none if `message` is not a factor.
/// Cells that replay a log have messages of many lengths, and are in none.
pub(crate) fn series(header: &Header) -> Vec<SeriesCells> {
    let plan = &header.plan;
    if !plan.factors.contains(&Factor::Message) {
        return Vec::new();
    }
    let level =
        |factor: &Factor, cell: &Cell| Level::for_cell(*factor, cell, &plan.fixed, &header.link);
    let others: Vec<Factor> =
        plan.factors.iter().copied().filter(|factor| *factor != Factor::Message).collect();
    let reference = plan.cells.iter().find(|cell| cell.label == plan.reference);
    let reference_column = reference.and_then(|reference| Some(level(others.last()?, reference)));
    let mut found: Vec<SeriesCells> = Vec::new();
    let replaying = plan.replaying();
    let has_one_length = |cell: &Cell| !cell.control && !replaying.contains(cell.label.as_str());
    for (place, cell) in plan.cells.iter().enumerate().filter(|(_, cell)| has_one_length(cell)) {
        let mut row: Vec<Level> = others.iter().map(|factor| level(factor, cell)).collect();
        let name: Vec<String> = row.iter().map(Level::to_string).collect();
        let name = if name.is_empty() { cell.transfer.sender() } else { name.join(" ") };
        let column = row.pop();
        let size = plan.fixed.at(&cell.levels).buffer_bytes;
        let known = found.iter().position(|series| series.column == column && series.row == row);
        let place_of = known.unwrap_or_else(|| {
            let reference = column == reference_column && reference.is_some();
            found.push(SeriesCells { name, reference, cells: Vec::new(), column, row });
            found.len() - 1
        });
        let cells = &mut found[place_of].cells;
        if cells.iter().all(|(other, _)| *other != size) && size > 0 {
            cells.push((size, place));
        }
    }
    for series in &mut found {
        series.cells.sort_unstable();
    }
    found
}

/// Pairs of series (indices; the first is compared with the second) that differ in their column
/// only: those with the reference's column first, and of the others the later in the plan with the
/// earlier.
pub(super) fn pairs(series: &[SeriesCells]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for later in 0..series.len() {
        for earlier in (0..later).filter(|earlier| series[*earlier].row == series[later].row) {
            pairs.push(if series[later].reference { (earlier, later) } else { (later, earlier) });
        }
    }
    pairs.sort_by_key(|(_, against)| !series[*against].reference); // stable
    pairs
}
