//! Costs over nights: a line for each path with the band of its intervals, the nights from which on
//! a line has another level, and the user's events.

use super::markup::{Markup, number, percent};
use super::page::Page;
use super::plot::{self, BELOW, Caption, Mark};
use super::scale::Scale;
use zc_analysis::Figure;

/// The cost of a path in one night.
pub(crate) struct Point {
    /// The index of the night.
    pub(crate) night: usize,
    pub(crate) cost: Figure,
    pub(crate) name: String,
}

pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

/// The first night of a new level, and the interval of that night.
pub(crate) struct Change {
    /// The index of its line.
    pub(crate) series: usize,
    pub(crate) night: usize,
    pub(crate) earliest: usize,
    pub(crate) latest: usize,
    pub(crate) text: String,
    /// Text for screen readers.
    pub(crate) name: String,
}

/// A note of the user.
pub(crate) struct Noted {
    /// Position between the first night, 0, and the last one, 1.
    pub(crate) place: f64,
    pub(crate) text: String,
    /// Text for screen readers.
    pub(crate) name: String,
}

/// The horizontal axis.
pub(crate) struct Nights {
    pub(crate) title: String,
    /// Position of each night, from 0 to 1, and its label.
    pub(crate) nights: Vec<(f64, String)>,
}

/// The height of the plot in pixels, and that of a single line.
const HEIGHT: f64 = 300.0;
const LOW: f64 = 160.0;
/// The height of a label above the plot.
const LINE: f64 = 17.0;
/// The most labels above the plot, of changes and of events.
const LABELS: usize = 8;
/// The most labels below the plot.
const TICKS: usize = 6;
/// Labels longer than this have no room on a telephone.
const SHORT: usize = 20;

/// Draws a chart in which one night in `every` has marks.
pub(crate) fn nights(
    page: &mut Page,
    caption: Caption,
    along: &Nights,
    (lines, changes, noted): (&[Line], &[Change], &[Noted]),
    every: usize,
) {
    let height = if lines.len() > 1 { HEIGHT } else { LOW };
    let points = || lines.iter().flat_map(|line| &line.points);
    let reach = points().flat_map(|point| plot::reach(point.cost));
    let Some(y) = Scale::log(reach) else { return };
    let labels = changes.len().min(LABELS) + noted.len().min(LABELS);
    let top = 22.0 + LINE * labels as f64;
    let bottom = top + height;
    let up = |value: f64| bottom - y.at(value) * height;
    // A margin at both ends, so that no mark is cut in half.
    let inside = |place: f64| 0.015 + 0.97 * place;
    let x = |night: usize| inside(along.nights.get(night).map_or(0.0, |(place, _)| *place));
    let label_y = |place: usize| 22.0 + LINE * place as f64 - 6.0;

    let mut out = Markup::default();
    plot::costs_upwards(&mut out, page.costs.units(), &y, top, bottom);
    let step = along.nights.len().div_ceil(TICKS).max(1);
    for (place, night) in (0..along.nights.len()).step_by(step).enumerate() {
        // Every second label is left out where there is little room.
        let class = if place % 2 == 1 { "c o" } else { "c" };
        out.element(
            "text",
            &[("x", &percent(x(night))), ("y", &number(bottom + 16.0)), ("class", class)],
            &along.nights[night].1,
        );
    }
    let title_y = number(bottom + 34.0);
    out.element("text", &[("x", "100%"), ("y", &title_y), ("class", "e")], &along.title);
    plot::stretched(&mut out, bottom, |out| {
        for (place, noted) in noted.iter().enumerate() {
            let begin = label_y(changes.len().min(LABELS) + place.min(LABELS));
            let d = format!("M{} {begin}V{bottom}", plot::along(inside(noted.place)));
            out.empty("path", &[("class", "ref"), ("d", &d)]);
        }
        for (place, change) in changes.iter().enumerate() {
            let begin = label_y(place.min(LABELS));
            let class = plot::colour(change.series);
            let (from, to) = (x(change.earliest), x(change.latest));
            let band =
                format!("M{} {begin}V{bottom}H{}V{begin}z", plot::along(from), plot::along(to));
            out.empty("path", &[("class", &(class.clone() + " band")), ("d", &band)]);
            let d = format!("M{} {begin}V{bottom}", plot::along(x(change.night)));
            out.empty("path", &[("class", &(class + " cross")), ("d", &d)]);
        }
        for (series, line) in lines.iter().enumerate() {
            let class = plot::colour(series);
            let ends: Vec<(f64, f64, f64)> = line
                .points
                .iter()
                .filter_map(|point| {
                    let bounds = point.cost.interval?;
                    let high = up(bounds.high.unwrap_or(f64::MAX));
                    Some((x(point.night), up(bounds.low), high))
                })
                .collect();
            let there = ends.iter().map(|(x, low, _)| (*x, *low));
            let back = ends.iter().rev().map(|(x, _, high)| (*x, *high));
            let band = plot::polyline(there.chain(back)) + "z";
            if !ends.is_empty() {
                out.empty("path", &[("class", &(class.clone() + " band")), ("d", &band)]);
            }
            let path = line.points.iter().map(|point| (x(point.night), up(point.cost.value)));
            let class = format!("{class} line d{}", series % 4);
            out.empty("path", &[("class", &class), ("d", &plot::polyline(path))]);
        }
    });
    for (place, change) in changes.iter().take(LABELS).enumerate() {
        let class = format!("cr {}", plot::colour(change.series));
        label(&mut out, x(change.night), label_y(place), &class, &change.text, &change.name);
    }
    for (place, noted) in noted.iter().take(LABELS).enumerate() {
        let y = label_y(changes.len().min(LABELS) + place);
        label(&mut out, inside(noted.place), y, "", &noted.text, &noted.name);
    }
    for (series, line) in lines.iter().enumerate() {
        let last = line.points.len().saturating_sub(1);
        for (place, point) in line.points.iter().enumerate() {
            if point.night % every.max(1) != 0 && place != last {
                continue;
            }
            let mark = Mark {
                x: x(point.night),
                y: up(point.cost.value),
                series,
                hollow: false,
                name: &point.name,
                cost: Some(point.cost),
            };
            plot::mark(page, &mut out, &mark);
        }
    }
    let all: Vec<(String, Figure)> =
        points().map(|point| (point.name.clone(), point.cost)).collect();
    let description = plot::extremes(page, &all);
    let legend: Vec<String> = lines.iter().map(|line| line.name.clone()).collect();
    plot::frame(page, &Caption { description, ..caption }, &legend, 7, bottom + BELOW, &out);
}

/// A label at a vertical line, on the side with more room.
fn label(out: &mut Markup, at: f64, top: f64, class: &str, text: &str, name: &str) {
    let (anchor, aside) = if at > 0.55 { ("e", "-6") } else { ("", "6") };
    let room = if text.chars().count() > SHORT { "o" } else { "" };
    let classes: Vec<&str> =
        [anchor, class, room, "halo"].into_iter().filter(|class| !class.is_empty()).collect();
    let (x, y, classes) = (percent(at), number(top + 10.0), classes.join(" "));
    let attributes =
        [("x", x.as_str()), ("dx", aside), ("y", &y), ("class", &classes), ("data-n", name)];
    out.element("text", &attributes, text);
}
