//! The choice of charts: dots for paths and named levels, curves for numeric levels, heat maps for
//! socket buffers.

use std::collections::BTreeMap;

use super::curves::{self, Across, Crossing, Curve, Point};
use super::dots::{self, Axis, Lane, Row};
use super::heat::{self, Panel};
use super::page::Page;
use super::plot::Caption;
use super::scale::Scale;
use crate::digits::rate;
use crate::experiments::about;
use crate::run::notes_above;
use crate::run::pivot::{Pivot, Placed, level};
use crate::run::pivot_tables::{self, CostOf};
use crate::run::rows;
use zc_analysis::{CellEstimate, Estimates, Figure, Outcome, Sizes};
use zc_run::units::{bit_rate_text, size_text};
use zc_run::{Factor, Run, Value, escape};

const DOT: &str = "Mark: median over blocks. Line: 95 % interval.";
const HOLLOW: &str = " Hollow: the rate was not reached, or a zero-copy send was copied.";

/// The charts of a run's costs.
pub(super) fn charts(page: &mut Page, run: &Run, estimates: &Estimates) {
    let Some(pivot) = Pivot::build(run, estimates) else {
        return paths(page, run, estimates);
    };
    let each = pivot_tables::sides(run, estimates);
    // Where the sides are separate, each has a chart; the sum is in the tables.
    let each = if each.len() > 1 { &each[1..] } else { each };
    if pivot.keys.contains(&Factor::Sockbuf) {
        for (whose, of) in each {
            heats(page, run, &pivot, whose, *of);
        }
    } else if let Some(sizes) = by_size(run, estimates) {
        sizes_chart(page, run, estimates, sizes);
    } else if let Some(factor) = number(&pivot) {
        for (whose, of) in each {
            bands(page, run, &pivot, factor, whose, *of);
        }
    } else {
        page.out.raw("<div class=\"panels\">\n");
        for (whose, of) in each {
            groups(page, run, &pivot, whose, *of);
        }
        page.out.raw("</div>\n");
    }
}

/// Whether a cost is not comparable with the others.
fn hollow(cell: &CellEstimate) -> bool {
    cell.perturbation.saturated || cell.failed_zero_copy
}

fn note(any_hollow: bool) -> String {
    if any_hollow { format!("{DOT}{HOLLOW}") } else { DOT.to_owned() }
}

/// One row per path, with a dot per side.
fn paths(page: &mut Page, run: &Run, estimates: &Estimates) {
    let sides = pivot_tables::sides(run, estimates);
    let cells = rows::sorted(estimates);
    let rows: Vec<Row> = cells
        .iter()
        .map(|cell| {
            let lane = |(series, (whose, of)): (usize, &(&str, CostOf))| {
                let name = format!("{}, {whose}", escape(&cell.label, 60));
                Some(Lane { series, figure: of(cell)?, hollow: hollow(cell), name })
            };
            Row {
                label: escape(&cell.label, 40),
                lanes: sides.iter().enumerate().filter_map(lane).collect(),
            }
        })
        .filter(|row| !row.lanes.is_empty())
        .collect();
    let legend: Vec<String> = sides.iter().map(|(whose, _)| (*whose).to_owned()).collect();
    let reference =
        cells.iter().find(|cell| cell.reference).and_then(|cell| cell.cost_ns_per_kib.both);
    let whose = if estimates.sender_alone {
        notes_above::sender(run)
    } else {
        "sender, receiver and both ends"
    };
    let whose = if sides.len() == 1 && !estimates.sender_alone {
        pivot_tables::measured_side(estimates)
    } else {
        whose
    };
    let factor = run.header.plan.factors.first().copied().unwrap_or(Factor::Send);
    let by = if factor == Factor::Send { "send path".to_owned() } else { factor.to_string() };
    let mut note = note(cells.iter().any(|cell| hollow(cell)));
    if reference.is_some() {
        note.push_str(&format!(" Broken line: {}.", escape(&estimates.reference, 60)));
    }
    let caption = Caption {
        title: format!("Cost of {whose} by {by}, us/MB"),
        note,
        description: String::new(),
    };
    dots::dots(
        page,
        caption,
        &legend,
        &rows,
        Axis::Costs { reference: reference.map(|cost| cost.value) },
    );
}

/// One group of dots per row of the plan, one dot per column.
fn groups(page: &mut Page, run: &Run, pivot: &Pivot, whose: &str, of: CostOf) {
    let rows: Vec<Row> = pivot
        .rows
        .iter()
        .map(|row| {
            let placed = row
                .cells
                .iter()
                .enumerate()
                .filter_map(|(series, placed)| Some((series, (*placed)?)));
            let lane = |(series, placed): (usize, Placed)| {
                let name = escape(&placed.cell.label, 80);
                Some(Lane {
                    series,
                    figure: of(placed.figures)?,
                    hollow: hollow(placed.figures),
                    name,
                })
            };
            Row { label: row.levels.join(" "), lanes: placed.filter_map(lane).collect() }
        })
        .collect();
    let keys: Vec<String> = pivot.keys.iter().map(ToString::to_string).collect();
    let mut text = note(pivot.cells().any(|placed| hollow(placed.figures)));
    text.push_str(at_rates(run, pivot));
    let caption = Caption {
        title: format!("Cost of {whose} by {}, us/MB", keys.join(" and ")),
        note: text,
        description: String::new(),
    };
    dots::dots(page, caption, &pivot.columns, &rows, Axis::Costs { reference: None });
}

/// Cells that are compared share a rate; other cells may have another.
fn at_rates(run: &Run, pivot: &Pivot) -> &'static str {
    let mut rates =
        pivot.cells().map(|placed| run.header.plan.fixed.at(&placed.cell.levels).rate_bytes_per_s);
    let first = rates.next();
    if rates.any(|rate| Some(rate) != first) {
        " Rows may differ in their rate: see the tables."
    } else {
        ""
    }
}

/// The fitted costs by message size, where rows differ only in size and paths are compared.
fn by_size<'a>(run: &Run, estimates: &'a Estimates) -> Option<&'a Sizes> {
    let factors = &run.header.plan.factors;
    let [Factor::Message, Factor::Send | Factor::Recv] = factors[..] else { return None };
    let sizes = estimates.sizes.sender.as_ref().or(estimates.sizes.both.as_ref())?;
    (!sizes.series.is_empty()).then_some(sizes)
}

fn sizes_chart(page: &mut Page, run: &Run, estimates: &Estimates, sizes: &Sizes) {
    let cells: BTreeMap<&str, &CellEstimate> =
        estimates.cells.iter().map(|cell| (cell.label.as_str(), cell)).collect();
    let senders = estimates.sizes.sender.is_some();
    let cost = |cell: &CellEstimate| {
        if senders { cell.cost_ns_per_kib.sender } else { cell.cost_ns_per_kib.both }
    };
    let all: Vec<Curve> = sizes
        .series
        .iter()
        .map(|series| Curve {
            name: escape(&series.name, 60),
            points: series
                .points
                .iter()
                .filter_map(|point| {
                    let cell = cells.get(point.cell.as_str())?;
                    let cost = cost(cell).filter(|cost| cost.value > 0.0)?;
                    let name = escape(&point.cell, 80);
                    Some(Point { x: point.size_bytes as f64, cost, hollow: hollow(cell), name })
                })
                .collect(),
            line: series.line.map(|line| (line.call_ns.value, line.ns_per_kib.value)),
        })
        .collect();
    let crossings: Vec<Crossing> =
        if estimates.verdict.stands() { crossings(sizes) } else { Vec::new() };
    let whose = if senders || estimates.sender_alone {
        pivot_tables::sole_side(run)
    } else {
        pivot_tables::measured_side(estimates)
    };
    let any_hollow = run
        .header
        .plan
        .cells
        .iter()
        .filter_map(|cell| cells.get(cell.label.as_str()))
        .any(|cell| hollow(cell));
    let mut text = note(any_hollow);
    text.push_str(" Curve: a call's cost and a byte's, fitted.");
    if !crossings.is_empty() {
        text.push_str(
            " Vertical line and band: the size from which on a path costs less, and its interval.",
        );
    }
    text.push_str(" Both axes are logarithmic.");
    let caption = Caption {
        title: format!("Cost of {whose} by message size, us/MB"),
        note: text,
        description: String::new(),
    };
    let ticks = all.iter().flat_map(|curve| &curve.points).map(|point| point.x);
    let ticks = Scale::log(ticks).map(|scale| scale.binary_ticks()).unwrap_or_default();
    let ticks = ticks.into_iter().map(|tick| (tick.value, size_text(tick.value as u64))).collect();
    curves::curves(
        page,
        caption,
        &Across { title: "message, bytes".to_owned(), ticks },
        &all,
        &crossings,
    );
}

/// The crossovers with the reference's series.
fn crossings(sizes: &Sizes) -> Vec<Crossing> {
    let reference = |place: usize| sizes.series.get(place).is_some_and(|series| series.reference);
    let against = sizes.crossovers.iter().filter(|found| reference(found.against));
    against
        .filter_map(|found| {
            let name = escape(&sizes.series.get(found.of)?.name, 40);
            let (word, x, low, high) = match found.outcome {
                Outcome::From { size, low, high } => ("from", size, low, Some(high)),
                Outcome::UpTo { size, low, high } => ("up to", size, Some(low), high),
                _ => return None,
            };
            Some(Crossing {
                series: found.of,
                x,
                low,
                high,
                text: format!("{name} {word} {}", about(x)),
            })
        })
        .collect()
}

/// The row factor with numeric levels, where columns have names.
fn number(pivot: &Pivot) -> Option<Factor> {
    let found = pivot.keys.iter().copied().find(|key| matches!(key, Factor::Flows | Factor::Rate));
    found.filter(|_| matches!(pivot.across, Factor::Send | Factor::Recv | Factor::Congestion))
}

/// One curve with a band per column and level of the other factors, over a numeric factor.
fn bands(page: &mut Page, run: &Run, pivot: &Pivot, factor: Factor, whose: &str, of: CostOf) {
    let mut all: Vec<Curve> = Vec::new();
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for (row, column, placed) in cells(pivot) {
        let (Some(cost), Some((x, text))) = (of(placed.figures), value(run, placed, factor)) else {
            continue;
        };
        let others = std::iter::zip(pivot.keys, &row.levels).filter(|(key, _)| **key != factor);
        let others = others.map(|(_, level)| level.as_str()).chain([column]);
        let name = others.collect::<Vec<_>>().join(" ");
        let point =
            Point { x, cost, hollow: hollow(placed.figures), name: escape(&placed.cell.label, 80) };
        if !ticks.iter().any(|(known, _)| *known == x) {
            ticks.push((x, text));
        }
        match all.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => all.push(Curve { name, points: vec![point], line: None }),
        }
    }
    for curve in &mut all {
        curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    ticks.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let title = match factor {
        Factor::Flows => "connections",
        _ => "rate",
    };
    let text = note(all.iter().flat_map(|curve| &curve.points).any(|point| point.hollow))
        .replace("Line", "Band");
    let caption = Caption {
        title: format!("Cost of {whose} by {title}, us/MB"),
        note: format!("{text} Both axes are logarithmic."),
        description: String::new(),
    };
    curves::curves(page, caption, &Across { title: title.to_owned(), ticks }, &all, &[]);
}

fn value(run: &Run, placed: Placed, factor: Factor) -> Option<(f64, String)> {
    match level(&run.header, placed.cell, factor).value {
        Value::Number(number) => Some((number as f64, number.to_string())),
        Value::Rate(bytes_per_s) => Some((bytes_per_s, rate(bytes_per_s))),
        Value::BitRate(bytes_per_s) => Some((bytes_per_s, bit_rate_text(bytes_per_s))),
        _ => None,
    }
}

fn cells<'a, 'b>(
    pivot: &'b Pivot<'a>,
) -> impl Iterator<Item = (&'b crate::run::pivot::Row<'a>, &'b str, Placed<'a>)> {
    pivot.rows.iter().flat_map(|row| {
        let named = pivot.columns.iter().zip(&row.cells);
        named.filter_map(move |(column, placed)| Some((row, column.as_str(), (*placed)?)))
    })
}

/// One heat map of the last two row factors per column and level of the other factors.
fn heats(page: &mut Page, run: &Run, pivot: &Pivot, whose: &str, of: CostOf) {
    let (across, axis) = match pivot.keys {
        [.., axis, across] => (Some(*across), *axis),
        [axis] => (None, *axis),
        [] => return,
    };
    let text = |placed: Placed, factor: Factor| {
        escape(&level(&run.header, placed.cell, factor).to_string(), 80)
    };
    let mut panels: Vec<Panel> = Vec::new();
    for (row, column, placed) in cells(pivot) {
        let (Some(cost), across_level) =
            (of(placed.figures), across.map_or_else(|| column.to_owned(), |f| text(placed, f)))
        else {
            continue;
        };
        let others = std::iter::zip(pivot.keys, &row.levels)
            .filter(|(key, _)| **key != axis && Some(**key) != across);
        let mut title: Vec<String> = others.map(|(key, level)| format!("{key} {level}")).collect();
        title.extend(across.map(|_| column.to_owned()));
        let title = title.join(", ");
        let place = panels.iter().position(|panel| panel.title == title).unwrap_or_else(|| {
            let factors = [axis.to_string(), across.unwrap_or(pivot.across).to_string()];
            panels.push(Panel {
                title,
                factors,
                rows: Vec::new(),
                columns: Vec::new(),
                fields: Vec::new(),
            });
            panels.len() - 1
        });
        let panel = &mut panels[place];
        let (y, x) =
            (at(&mut panel.rows, text(placed, axis)), at(&mut panel.columns, across_level));
        set_field(panel, y, x, (cost, escape(&placed.cell.label, 80), rows::signs(placed.figures)));
    }
    let caption = Caption {
        title: format!("Cost of {whose}, us/MB"),
        note: "The darker, the more; all maps share their shades.".to_owned(),
        description: String::new(),
    };
    heat::heat(page, &caption, &panels);
}

/// The index of a name, which is added if it is new.
fn at(names: &mut Vec<String>, name: String) -> usize {
    names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

fn set_field(panel: &mut Panel, y: usize, x: usize, field: (Figure, String, String)) {
    let (rows, columns) = (panel.rows.len(), panel.columns.len());
    panel.fields.resize_with(rows.max(panel.fields.len()), Vec::new);
    for row in &mut panel.fields {
        row.resize_with(columns.max(row.len()), || None);
    }
    panel.fields[y][x] = Some(field);
}
