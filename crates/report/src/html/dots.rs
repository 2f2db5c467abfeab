//! Dots and whiskers: a row per path or level, with a dot for each cost or ratio and a line for its
//! interval.

use std::collections::BTreeMap;

use super::markup::{Markup, number};
use super::page::Page;
use super::plot::{self, BELOW, Caption, Mark};
use super::scale::Scale;
use zc_analysis::Figure;

/// One cost or ratio.
pub(crate) struct Lane {
    /// The index of its legend entry.
    pub(crate) series: usize,
    pub(crate) figure: Figure,
    pub(crate) hollow: bool,
    /// Text for screen readers; except for a cost this includes the figure.
    pub(crate) name: String,
}

/// The quantity on the axis.
#[derive(Clone, Copy)]
pub(crate) enum Axis {
    /// Costs, on an axis from 0 where they are of similar size, with a line at `reference`.
    Costs { reference: Option<f64> },
    /// Ratios, on a logarithmic axis around 1.
    Ratios,
    /// A quantity in a unit of its own, on an axis as for costs.
    Fixed { unit: &'static str, reference: Option<f64> },
}

pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) lanes: Vec<Lane>,
}

/// The distance between two dots of a row, in pixels.
const DOT_DISTANCE: f64 = 13.0;
/// The padding above and below the dots of a row, in pixels.
const ROW_PADDING: f64 = 8.0;

pub(crate) fn dots(page: &mut Page, caption: Caption, legend: &[String], rows: &[Row], axis: Axis) {
    let lanes = || rows.iter().flat_map(|row| &row.lanes);
    let reach = lanes().flat_map(|lane| plot::reach(lane.figure));
    let scale = match axis {
        Axis::Costs { .. } | Axis::Fixed { .. } => Scale::for_values(reach),
        Axis::Ratios => Scale::log(reach.chain([1.0])),
    };
    let Some(scale) = scale else { return };
    let height: f64 = rows.iter().map(high).sum();

    let mut out = Markup::default();
    let reference = match axis {
        Axis::Costs { reference } => {
            plot::costs_along(&mut out, page.costs.units(), &scale, height);
            reference
        }
        Axis::Ratios => {
            plot::fixed_along(&mut out, &scale, height, "new / old");
            Some(1.0)
        }
        Axis::Fixed { unit, reference } => {
            plot::fixed_along(&mut out, &scale, height, unit);
            reference
        }
    };
    let mut top = 0.0;
    let mut rules = String::new();
    for row in rows {
        rules.push_str(&format!("M0 {}H{}", number(top), plot::WIDE));
        top += high(row);
    }
    rules.push_str(&format!("M0 {}H{}", number(height), plot::WIDE));
    plot::stretched(&mut out, height, |out| {
        out.empty("path", &[("class", "rule"), ("d", &rules)]);
        if let Some(figure) = reference.filter(|figure| *figure > 0.0) {
            let x = plot::along(scale.at(figure));
            out.empty("path", &[("class", "ref"), ("d", &format!("M{x} 0V{}", number(height)))]);
        }
    });
    whiskers(&mut out, rows, &scale, height);
    out.raw("<g class=\"e l\" transform=\"translate(-8 4)\">");
    let mut top = 0.0;
    for row in rows {
        out.element("text", &[("y", &number(top + high(row) / 2.0))], &plot::short(&row.label));
        top += high(row);
    }
    out.raw("</g>");
    let mut top = 0.0;
    for row in rows {
        for (place, lane) in row.lanes.iter().enumerate() {
            let y = lane_at(top, place);
            let cost = matches!(axis, Axis::Costs { .. }).then_some(lane.figure);
            let (x, series, hollow) = (scale.at(lane.figure.value), lane.series, lane.hollow);
            plot::mark(page, &mut out, &Mark { x, y, series, hollow, name: &lane.name, cost });
        }
        top += high(row);
    }
    let gutter = rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
    let logarithmic = scale.is_log() && !matches!(axis, Axis::Ratios);
    let note = if logarithmic { caption.note + " Logarithmic axis." } else { caption.note };
    let description = match axis {
        Axis::Ratios => caption.description,
        Axis::Fixed { .. } => plot::each(lanes().map(|lane| lane.name.as_str())),
        Axis::Costs { .. } => {
            let all: Vec<(String, Figure)> =
                lanes().map(|lane| (lane.name.clone(), lane.figure)).collect();
            plot::extremes(page, &all)
        }
    };
    let caption = Caption { note, description, ..caption };
    plot::frame(page, &caption, legend, gutter, height + BELOW, &out);
}

fn high(row: &Row) -> f64 {
    row.lanes.len().max(1) as f64 * DOT_DISTANCE + ROW_PADDING
}

/// The vertical centre of a dot in a row that begins at `top`.
fn lane_at(top: f64, place: usize) -> f64 {
    top + ROW_PADDING / 2.0 + DOT_DISTANCE * (place as f64 + 0.5)
}

/// The interval lines, one SVG path per series.
fn whiskers(out: &mut Markup, rows: &[Row], scale: &Scale, height: f64) {
    let mut paths: BTreeMap<usize, String> = BTreeMap::new();
    let mut top = 0.0;
    for row in rows {
        for (place, lane) in row.lanes.iter().enumerate() {
            if let Some((from, to)) = plot::interval(&lane.figure, scale) {
                let line = format!(
                    "M{} {}H{}",
                    plot::along(from),
                    number(lane_at(top, place)),
                    plot::along(to)
                );
                paths.entry(lane.series).or_default().push_str(&line);
            }
        }
        top += high(row);
    }
    plot::stretched(out, height, |out| {
        for (series, path) in paths {
            out.empty("path", &[("class", &(plot::colour(series) + " wh")), ("d", &path)]);
        }
    });
}
