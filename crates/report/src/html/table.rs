//! HTML tables with the content of the other reports. Headings name their units, costs change with
//! the unit, and cells have sort keys where their text does not sort.

use super::page::Page;
use crate::figures::table as cells;
use crate::run::pivot::Pivot;
use crate::run::pivot_tables::{self, CostOf};
use crate::run::rows;
use crate::terminal::part::Part;
use crate::terminal::table::{self, Grid};
use zc_analysis::{Estimates, Figure};
use zc_run::Run;

/// Values that a cell's text represents.
#[derive(Default)]
pub(crate) struct CellValues {
    /// Cost in the cell.
    pub(crate) cost: Option<Figure>,
    /// Sort key, where the text does not sort.
    pub(crate) sort: Option<f64>,
    /// CPU time per request in us, whose cores at a rate are in the cell.
    pub(crate) per_request: Option<Figure>,
}

/// The main table of a plan of one factor.
pub(crate) fn main_table(page: &mut Page, run: &Run, estimates: &Estimates) {
    let mut fields = cells::page();
    fields.retain(|field| field.applies_to(estimates));
    let rows = rows::sorted(estimates);
    let caption = "Costs are us/MB, medians over blocks with the half-width of their intervals";
    let grid = cells::grid(run, estimates, &fields);
    table(page, caption, 1, &grid, |row, column| {
        let (Some(cell), Some(field)) = (rows.get(row), fields.get(column)) else {
            return CellValues::default();
        };
        CellValues { cost: field.cost(cell), sort: field.sort_key(cell), ..CellValues::default() }
    });
}

/// Traffic counters of a plan of one factor.
pub(crate) fn traffic(page: &mut Page, run: &Run, estimates: &Estimates) {
    let grid = cells::grid(run, estimates, &cells::traffic());
    table(
        page,
        "Traffic: packets, calls and interrupts in the windows of the costs",
        1,
        &grid,
        |_, _| CellValues::default(),
    );
}

/// The grids of a plan of several factors.
pub(crate) fn grids(page: &mut Page, run: &Run, estimates: &Estimates, pivot: &Pivot) {
    // The grids of costs come first, in the order of `sides`.
    let mut whose: Vec<CostOf> =
        pivot_tables::sides(run, estimates).iter().map(|(_, of)| *of).collect();
    whose.retain(|of| pivot.cells().any(|placed| of(placed.figures).is_some()));
    for (place, part) in pivot_tables::grids(run, estimates, pivot).iter().enumerate() {
        match (part, whose.get(place)) {
            (Part::Table { caption, keys, grid }, Some(of)) => {
                table(page, caption, *keys, grid, |row, column| {
                    let placed = pivot
                        .rows
                        .get(row)
                        .and_then(|row| *row.cells.get(column.checked_sub(*keys)?)?);
                    CellValues {
                        cost: placed.and_then(|placed| of(placed.figures)),
                        ..CellValues::default()
                    }
                })
            }
            _ => self::part(page, part),
        }
    }
}

/// A part of another report.
pub(crate) fn part(page: &mut Page, part: &Part) {
    match part {
        Part::Table { caption, keys, grid } => {
            table(page, caption, *keys, grid, |_, _| CellValues::default())
        }
        Part::Text(sentences) => {
            page.out.raw("<ul class=\"findings\">");
            for sentence in sentences {
                page.out.element("li", &[], sentence);
            }
            page.out.raw("</ul>\n");
        }
        Part::Lines { caption, lines } => {
            let id = page.id();
            page.out.element("p", &[("class", "caption"), ("id", &id)], caption);
            page.out
                .open("pre", &[("tabindex", "0"), ("role", "region"), ("aria-labelledby", &id)]);
            for line in lines {
                page.out.text(line).raw("\n");
            }
            page.out.raw("</pre>\n");
        }
    }
}

/// Writes a table: `keys` columns name a row; `cell_values` gives cost and sort key by row and
/// column.
pub(crate) fn table(
    page: &mut Page,
    caption: &str,
    keys: usize,
    grid: &Grid,
    cell_values: impl Fn(usize, usize) -> CellValues,
) {
    grouped_table(page, caption, keys, grid, &cell_values, &|_| None);
}

/// Prints a table whose rows belong to groups; [`crate::html::filters`] above it shows and hides
/// them.
pub(crate) fn grouped_table(
    page: &mut Page,
    caption: &str,
    keys: usize,
    grid: &Grid,
    cell_values: &dyn Fn(usize, usize) -> CellValues,
    group: &dyn Fn(usize) -> Option<usize>,
) {
    let id = page.id();
    let first = page.costs.first().to_owned();
    // Empty columns are left out: telephones have no room for them.
    let shown: Vec<usize> = (0..grid.columns.len())
        .filter(|column| {
            *column < keys
                || grid.rows.iter().any(|row| row.get(*column).is_some_and(|text| !text.is_empty()))
        })
        .collect();
    page.out.open(
        "div",
        &[("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-labelledby", &id)],
    );
    page.out.raw("<table>\n").open("caption", &[("id", &id)]);
    let cells = || {
        (0..grid.rows.len())
            .flat_map(|row| (0..grid.columns.len()).map(move |column| (row, column)))
    };
    // Only headings of cost columns change with the unit.
    let costs: Vec<bool> = (0..grid.columns.len())
        .map(|column| {
            cells().any(|(row, other)| other == column && cell_values(row, column).cost.is_some())
        })
        .collect();
    if costs.contains(&true) {
        page.with_unit(caption);
    } else {
        page.out.text(caption);
    }
    page.out.raw("</caption>\n<thead><tr>");
    for place in &shown {
        let column = &grid.columns[*place];
        let attributes = [("scope", "col"), ("class", "w")];
        page.out.open("th", if column.left { &attributes } else { &attributes[..1] });
        let name = heading(column);
        match name.strip_suffix(first.as_str()).filter(|_| costs[*place]) {
            Some(rest) => {
                page.out.text(rest).element("span", &[("class", "u")], &first);
            }
            None => {
                page.out.text(&name);
            }
        }
        page.out.raw("</th>");
    }
    page.out.raw("</tr></thead>\n<tbody>");
    for (place, row) in grid.rows.iter().enumerate() {
        let group = group(place).map(|group| group.to_string());
        let attributes: Vec<_> = group.iter().map(|group| ("data-g", group.as_str())).collect();
        page.out.open("tr", &attributes);
        for (&index, column) in shown.iter().map(|index| (index, &grid.columns[*index])) {
            let text = row.get(index).map_or("", String::as_str);
            let cell_values = cell_values(place, index);
            let cost = cell_values.cost.map(|cost| page.cost(cost));
            // The text behind a cost is its marks.
            let marks = cost
                .as_ref()
                .and_then(|(_, written)| text.strip_prefix(written.as_str()))
                .unwrap_or_default();
            let sort = cell_values
                .sort
                .or_else(|| in_bytes(text))
                .or_else(|| below(text))
                .map(|number| number.to_string());
            let mut attributes = vec![];
            attributes.extend((index < keys).then_some(("scope", "row")));
            attributes.extend(column.left.then_some(("class", "w")));
            attributes.extend(cost.as_ref().map(|(key, _)| ("data-v", key.as_str())));
            attributes.extend((!marks.is_empty()).then_some(("data-m", marks)));
            let per_request = cell_values.per_request.map(|cost| {
                let half = cost.half_width.map_or_else(String::new, |half| format!(" {half}"));
                format!("{}{half}", cost.value)
            });
            attributes.extend(per_request.as_deref().map(|cost| ("data-r", cost)));
            attributes.extend(sort.as_deref().map(|sort| ("data-s", sort)));
            let tag = if index < keys { "th" } else { "td" };
            page.out.open(tag, &attributes);
            match &cost {
                Some((_, written)) => page.out.text(written).text(marks),
                None => page.out.text(text),
            };
            page.out.close(tag);
        }
        page.out.raw("</tr>\n");
    }
    page.out.raw("</tbody></table></div>\n");
}

/// A column's heading in one line: name, comma or slash, unit.
fn heading(column: &table::Column) -> String {
    match &column.head {
        [first, second] if second.starts_with('/') => format!("{first}{second}"),
        [first, second]
            if matches!(second.as_str(), "us/MB" | "ns" | "bytes" | "Gbit/s")
                && !first.is_empty() =>
        {
            format!("{}, {second}", first.trim_end_matches(','))
        }
        _ => column.name(),
    }
}

/// Sizes and rates as numbers for sorting: `64k`, `1.6 GB/s`. `None` for text that sorts correctly
/// as it is.
fn in_bytes(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at_checked(end)?;
    let factor = match unit.trim() {
        "k" => 1024.0,
        "m" => 1048576.0,
        "g" => 1073741824.0,
        "kB/s" => 1e3,
        "MB/s" => 1e6,
        "GB/s" => 1e9,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| number * factor)
}

/// Sort key of a value below a number, which sorts before it: `<0.0001`.
fn below(text: &str) -> Option<f64> {
    text.strip_prefix('<')?.parse::<f64>().ok().map(|number| number / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_rates_are_sorted_by_what_they_are() {
        assert_eq!(in_bytes("64k"), Some(65_536.0));
        assert_eq!(in_bytes("512"), None, "it sorts right as it stands");
        assert_eq!(in_bytes("1.6 GB/s"), Some(1.6e9));
        assert_eq!(in_bytes("560 ±4"), None);
        assert_eq!(in_bytes("no-tso"), None);
        assert_eq!(in_bytes(""), None);
        assert_eq!(below("<0.0001"), Some(0.00005));
        assert_eq!(below("<b>"), None);
    }
}
