//! Dots and whiskers: a row to a path or level, in it a dot for each cost or ratio with the line of its interval.

use std::collections::BTreeMap;

use super::markup::{Markup, number};
use super::page::Page;
use super::plot::{self, BELOW, Mark, Words};
use super::scale::Scale;
use zc_analysis::Figure;

/// One cost or ratio.
pub(crate) struct Lane {
    /// Which entry of the legend it belongs to.
    pub(crate) series: usize,
    pub(crate) figure: Figure,
    pub(crate) hollow: bool,
    /// What it is the cost of; of a ratio with the ratio itself.
    pub(crate) name: String,
}

/// What the figures of a chart are.
#[derive(Clone, Copy)]
pub(crate) enum Along {
    /// Costs, from nothing on where they are of one size; `reference` is one to hold the others against.
    Costs { reference: Option<f64> },
    /// Ratios, held against 1: half and double are equally far from it.
    Ratios,
}

/// A row.
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) lanes: Vec<Lane>,
}

/// Between two dots of a row, in pixels.
const STEP: f64 = 13.0;
/// Above and below them.
const ROOM: f64 = 8.0;

/// Draws them.
pub(crate) fn dots(page: &mut Page, words: Words, legend: &[String], rows: &[Row], along: Along) {
    let lanes = || rows.iter().flat_map(|row| &row.lanes);
    let reach = lanes().flat_map(|lane| plot::reach(lane.figure));
    let scale = match along {
        Along::Costs { .. } => Scale::of(reach),
        Along::Ratios => Scale::log(reach.chain([1.0])),
    };
    let Some(scale) = scale else { return };
    let height: f64 = rows.iter().map(high).sum();

    let mut out = Markup::default();
    let reference = match along {
        Along::Costs { reference } => {
            plot::costs_along(&mut out, page.costs.units(), &scale, height);
            reference
        }
        Along::Ratios => {
            plot::ratios_along(&mut out, &scale, height);
            Some(1.0)
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
            let cost = matches!(along, Along::Costs { .. }).then_some(lane.figure);
            let (x, series, hollow) = (scale.at(lane.figure.value), lane.series, lane.hollow);
            plot::mark(page, &mut out, &Mark { x, y, series, hollow, name: &lane.name, cost });
        }
        top += high(row);
    }
    let gutter = rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
    let words = match along {
        Along::Ratios => words,
        Along::Costs { .. } => {
            let all: Vec<(String, Figure)> = lanes().map(|lane| (lane.name.clone(), lane.figure)).collect();
            let note = if scale.is_log() { words.note + " Logarithmic axis." } else { words.note };
            Words { seen: plot::extremes(page, &all), note, ..words }
        }
    };
    plot::frame(page, &words, legend, gutter, height + BELOW, &out);
}

/// A row's height.
fn high(row: &Row) -> f64 {
    row.lanes.len().max(1) as f64 * STEP + ROOM
}

/// The middle of a dot in a row that begins at `top`.
fn lane_at(top: f64, place: usize) -> f64 {
    top + ROOM / 2.0 + STEP * (place as f64 + 0.5)
}

/// The lines of all intervals, a path to a series.
fn whiskers(out: &mut Markup, rows: &[Row], scale: &Scale, height: f64) {
    let mut paths: BTreeMap<usize, String> = BTreeMap::new();
    let mut top = 0.0;
    for row in rows {
        for (place, lane) in row.lanes.iter().enumerate() {
            if let Some((from, to)) = plot::interval(&lane.figure, scale) {
                let line = format!("M{} {}H{}", plot::along(from), number(lane_at(top, place)), plot::along(to));
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
