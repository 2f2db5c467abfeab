//! Dots and whiskers: a row to a path or level, in it a dot for each cost with the line of its interval.

use std::collections::BTreeMap;

use super::markup::{Markup, number};
use super::page::Page;
use super::plot::{self, BELOW, Mark, Words};
use super::scale::Scale;
use crate::estimate::Figure;

/// One cost.
pub(super) struct Lane {
    /// Which entry of the legend it belongs to.
    pub(super) series: usize,
    pub(super) cost: Figure,
    pub(super) hollow: bool,
    pub(super) name: String,
}

/// A row.
pub(super) struct Row {
    pub(super) label: String,
    pub(super) lanes: Vec<Lane>,
}

/// Between two dots of a row, in pixels.
const STEP: f64 = 13.0;
/// Above and below them.
const ROOM: f64 = 8.0;

/// Draws them; `reference` is a cost to hold the others against.
pub(super) fn dots(page: &mut Page, words: Words, legend: &[String], rows: &[Row], reference: Option<f64>) {
    let lanes = || rows.iter().flat_map(|row| &row.lanes);
    let Some(scale) = Scale::of(lanes().flat_map(|lane| plot::reach(lane.cost))) else { return };
    let height: f64 = rows.iter().map(high).sum();

    let mut out = Markup::default();
    plot::costs_along(&mut out, page.costs.units(), &scale, height);
    let mut top = 0.0;
    let mut rules = String::new();
    for row in rows {
        rules.push_str(&format!("M0 {}H{}", number(top), plot::WIDE));
        top += high(row);
    }
    rules.push_str(&format!("M0 {}H{}", number(height), plot::WIDE));
    plot::stretched(&mut out, height, |out| {
        out.empty("path", &[("class", "rule"), ("d", &rules)]);
        if let Some(cost) = reference.filter(|cost| *cost > 0.0) {
            let x = plot::along(scale.at(cost));
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
            let x = scale.at(lane.cost.value);
            let name = lane.name.as_str();
            plot::mark(page, &mut out, &Mark { x, y, series: lane.series, hollow: lane.hollow, name, cost: lane.cost });
        }
        top += high(row);
    }
    let gutter = rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
    let all: Vec<(String, Figure)> = lanes().map(|lane| (lane.name.clone(), lane.cost)).collect();
    let seen = plot::extremes(page, &all);
    let note = if scale.is_log() { words.note + " Logarithmic axis." } else { words.note };
    plot::frame(page, &Words { note, seen, ..words }, legend, gutter, height + BELOW, &out);
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
            if let Some((from, to)) = plot::interval(&lane.cost, scale) {
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
