//! Cost against a numeric factor (message size, connections, rate): points with intervals, fitted
//! lines or bands, and crossovers.

use super::markup::{Markup, number, percent};
use super::page::Page;
use super::plot::{self, BELOW, Caption, Mark};
use super::scale::Scale;
use zc_analysis::Figure;

pub(super) struct Point {
    pub(super) x: f64,
    pub(super) cost: Figure,
    pub(super) hollow: bool,
    pub(super) name: String,
}

/// The curve of one path or level.
pub(super) struct Curve {
    pub(super) name: String,
    /// The points, in ascending `x`.
    pub(super) points: Vec<Point>,
    /// The fitted ns per call and ns per KiB, drawn as a line. Without it points are joined and
    /// their intervals form a band.
    pub(super) line: Option<(f64, f64)>,
}

/// A crossover: where a series becomes the cheaper one.
pub(super) struct Crossing {
    /// The index of its curve.
    pub(super) series: usize,
    pub(super) x: f64,
    /// The ends of its interval; `None` for an open end.
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    pub(super) text: String,
}

/// The horizontal axis.
pub(super) struct Across {
    pub(super) title: String,
    /// Ticks: values and labels.
    pub(super) ticks: Vec<(f64, String)>,
}

/// The height of the plot in pixels.
const HEIGHT: f64 = 320.0;
/// The height of a label of a crossover above the plot.
const LINE: f64 = 17.0;
/// The number of samples along a fitted line.
const SAMPLES: usize = 48;

pub(super) fn curves(
    page: &mut Page,
    caption: Caption,
    across: &Across,
    curves: &[Curve],
    crossings: &[Crossing],
) {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let fitted = curves.iter().flat_map(|curve| {
        let ends = [curve.points.first(), curve.points.last()].into_iter().flatten();
        ends.filter_map(|point| Some(on_line(curve.line?, point.x)))
    });
    let reach = points().flat_map(|point| plot::reach(point.cost)).chain(fitted);
    let (Some(x), Some(y)) = (Scale::log(points().map(|point| point.x)), Scale::log(reach)) else {
        return;
    };
    let top = 22.0 + LINE * crossings.len() as f64;
    let bottom = top + HEIGHT;
    let up = |value: f64| bottom - y.at(value) * HEIGHT;

    let mut out = Markup::default();
    plot::costs_upwards(&mut out, page.costs.units(), &y, top, bottom);
    for (place, (value, name)) in across.ticks.iter().enumerate() {
        // Every second label is left out where there is little room.
        let class = if place % 2 == 1 { "c o" } else { "c" };
        out.element(
            "text",
            &[("x", &percent(x.at(*value))), ("y", &number(bottom + 16.0)), ("class", class)],
            name,
        );
    }
    out.element(
        "text",
        &[("x", "100%"), ("y", &number(bottom + 34.0)), ("class", "e")],
        &across.title,
    );
    plot::stretched(&mut out, bottom, |out| {
        for (place, crossing) in crossings.iter().enumerate() {
            let begin = 22.0 + LINE * place as f64 - 6.0;
            let (low, high) = (
                crossing.low.map_or(0.0, |low| x.at(low)),
                crossing.high.map_or(1.0, |high| x.at(high)),
            );
            let class = plot::colour(crossing.series);
            let band =
                format!("M{} {begin}V{bottom}H{}V{begin}z", plot::along(low), plot::along(high));
            out.empty("path", &[("class", &(class.clone() + " band")), ("d", &band)]);
            let middle = format!("M{} {begin}V{bottom}", plot::along(x.at(crossing.x)));
            out.empty("path", &[("class", &(class + " cross")), ("d", &middle)]);
        }
        for (series, curve) in curves.iter().enumerate() {
            let class = plot::colour(series);
            if curve.line.is_none() {
                let ends: Vec<(f64, f64, f64)> =
                    curve.points.iter().filter_map(|point| ends(point, &x, &up)).collect();
                let there = ends.iter().map(|(x, low, _)| (*x, *low));
                let back = ends.iter().rev().map(|(x, _, high)| (*x, *high));
                out.empty(
                    "path",
                    &[
                        ("class", &(class.clone() + " band")),
                        ("d", &(plot::polyline(there.chain(back)) + "z")),
                    ],
                );
            }
            let path: Vec<(f64, f64)> =
                match (curve.line, curve.points.first(), curve.points.last()) {
                    (Some(line), Some(first), Some(last)) => (0..=SAMPLES)
                        .map(|sample| {
                            let (from, to) = (x.at(first.x), x.at(last.x));
                            let place = from + (to - from) * sample as f64 / SAMPLES as f64;
                            (place, up(on_line(line, x.value(place))))
                        })
                        .collect(),
                    _ => curve
                        .points
                        .iter()
                        .map(|point| (x.at(point.x), up(point.cost.value)))
                        .collect(),
                };
            let class = format!("{class} line d{}", series % 4);
            out.empty("path", &[("class", &class), ("d", &plot::polyline(path.into_iter()))]);
            if curve.line.is_some() {
                let each = curve.points.iter().filter_map(|point| ends(point, &x, &up));
                let each = each.map(|(x, low, high)| {
                    format!("M{} {}V{}", plot::along(x), number(low), number(high))
                });
                let class = format!("{} wh", plot::colour(series));
                out.empty("path", &[("class", &class), ("d", &each.collect::<String>())]);
            }
        }
    });
    for (place, crossing) in crossings.iter().enumerate() {
        // On the side of the line with more room.
        let at = x.at(crossing.x);
        let (class, aside) = if at > 0.55 { ("e", "-6") } else { ("", "6") };
        let class = format!("{class} cr {}", plot::colour(crossing.series));
        let y = number(22.0 + LINE * place as f64 + 4.0);
        out.element(
            "text",
            &[("x", &percent(at)), ("dx", aside), ("y", &y), ("class", class.trim())],
            &crossing.text,
        );
    }
    for (series, curve) in curves.iter().enumerate() {
        for point in &curve.points {
            let (x, y) = (x.at(point.x), up(point.cost.value));
            plot::mark(
                page,
                &mut out,
                &Mark {
                    x,
                    y,
                    series,
                    hollow: point.hollow,
                    name: &point.name,
                    cost: Some(point.cost),
                },
            );
        }
    }
    let all: Vec<(String, Figure)> =
        points().map(|point| (point.name.clone(), point.cost)).collect();
    let description = plot::extremes(page, &all);
    let legend: Vec<String> = curves.iter().map(|curve| curve.name.clone()).collect();
    plot::frame(page, &Caption { description, ..caption }, &legend, 7, bottom + BELOW, &out);
}

/// The position of a point and the ends of its interval in the plot.
fn ends(point: &Point, x: &Scale, up: &impl Fn(f64) -> f64) -> Option<(f64, f64, f64)> {
    let bounds = point.cost.interval?;
    Some((x.at(point.x), up(bounds.low), up(bounds.high.unwrap_or(f64::MAX))))
}

/// The cost on a fitted line at a size, in ns per KiB.
fn on_line((call_ns, ns_per_kib): (f64, f64), bytes: f64) -> f64 {
    call_ns * 1024.0 / bytes + ns_per_kib
}
