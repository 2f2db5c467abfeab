//! Shared by all charts: frame with caption and legend, axes with a set of ticks per unit, and
//! marks.
//!
//! A chart has no `viewBox`: horizontal positions are percentages of the width, everything else is
//! in pixels. So text keeps its size on a telephone and on paper. Lines and areas lie in an inner
//! `svg` that is stretched horizontally, with strokes that are not.

use super::markup::{Markup, number, percent};
use super::page::Page;
use super::scale::{Scale, Tick};
use super::units::Unit;
use crate::digits::{significant, trimmed};
use zc_analysis::Figure;

/// The number of distinguishable colours; page.css states the requirements.
const COLOURS: usize = 6;
/// Shapes, so that colour is not the only distinction.
const SHAPES: usize = 7;
/// The inner svg's width in its own units.
pub(crate) const WIDE: f64 = 2000.0;
/// The longest label next to a plot on a telephone, in characters.
const LABEL: usize = 22;
/// Height below the plot for ticks and axis title.
pub(crate) const BELOW: f64 = 40.0;

/// The definitions of all shapes, once per page.
pub(crate) const SHAPE_DEFINITIONS: &str = "<svg class=\"defs\" width=\"0\" height=\"0\" \
    aria-hidden=\"true\"><defs>\
    <circle id=\"m0\" r=\"4.2\"/><path id=\"m1\" d=\"M0-5.6 5.6 0 0 5.6-5.6 0z\"/><path id=\"m2\" \
    d=\"M-4-4h8v8h-8z\"/>\
    <path id=\"m3\" d=\"M0-5 5 4H-5z\"/><path id=\"m4\" d=\"M0 5 5-4H-5z\"/>\
    <path id=\"m5\" d=\"M-1.6-5h3.2v3.4H5v3.2H1.6V5h-3.2V1.6H-5v-3.2h3.4z\"/>\
    <path id=\"m6\" d=\"M-5-2.8-2.8-5 0-2.2 2.8-5 5-2.8 2.2 0 5 2.8 2.8 5 0 2.2-2.8 5-5 2.8-2.2 \
    0z\"/>\
    </defs></svg>\n";

/// The texts of a chart.
pub(crate) struct Caption {
    /// Title of the chart.
    pub(crate) title: String,
    /// Instructions for reading the chart.
    pub(crate) note: String,
    /// A description for screen readers.
    pub(crate) description: String,
}

/// The class of a series's colour.
pub(crate) fn colour(series: usize) -> String {
    format!("s{}", series % COLOURS)
}

fn shape(series: usize) -> String {
    format!("#m{}", series % SHAPES)
}

/// Writes a chart: `body` is the content of its svg, in a plot `height` pixels high with room for
/// labels of `gutter` characters on its left. A legend of one entry is left out.
pub(crate) fn frame(
    page: &mut Page,
    caption: &Caption,
    legend: &[String],
    gutter: usize,
    height: f64,
    body: &Markup,
) {
    let entries: Vec<(usize, &String)> =
        legend.iter().enumerate().filter(|_| legend.len() > 1).collect();
    framed(page, caption, gutter, height, body, |out| {
        for (series, name) in entries {
            out.raw("<li><svg width=\"14\" height=\"14\" aria-hidden=\"true\">");
            out.empty(
                "use",
                &[("href", &shape(series)), ("class", &colour(series)), ("x", "7"), ("y", "7")],
            );
            out.raw("</svg>").text(name).raw("</li>");
        }
    });
}

/// Writes a chart with lettered parts; parts that do not occur are not in the legend.
pub(crate) fn lettered(
    page: &mut Page,
    caption: &Caption,
    legend: &[(usize, &str)],
    gutter: usize,
    height: f64,
    body: &Markup,
) {
    framed(page, caption, gutter, height, body, |out| {
        for (part, name) in legend {
            let class = format!("seg {}", tint(*part));
            out.raw("<li><svg width=\"18\" height=\"18\" aria-hidden=\"true\">");
            out.empty("rect", &[("class", &class), ("width", "18"), ("height", "18")]);
            out.element(
                "text",
                &[("class", "c l"), ("x", "9"), ("y", "13")],
                &letter(*part).to_string(),
            );
            out.raw("</svg>").text(name).raw("</li>");
        }
    });
}

/// The letter of a part.
pub(crate) fn letter(part: usize) -> char {
    char::from(b'A' + (part % 26) as u8)
}

/// The class of a part's colour: six hues in three tints.
pub(crate) fn tint(part: usize) -> String {
    format!("{} t{}", colour(part), part / COLOURS % 3)
}

fn framed(
    page: &mut Page,
    caption: &Caption,
    gutter: usize,
    height: f64,
    body: &Markup,
    legend: impl FnOnce(&mut Markup),
) {
    let (title, description) = (page.id(), page.id());
    page.out.raw("<figure class=\"chart\">\n<figcaption>").open("strong", &[("id", &title)]);
    page.with_unit(&caption.title);
    page.out.raw("</strong> ");
    page.with_unit(&caption.note);
    page.out.raw("</figcaption>\n");
    let mut entries = Markup::default();
    legend(&mut entries);
    let out = &mut page.out;
    if !entries.is_empty() {
        out.raw("<ul class=\"legend\">").append(&entries).raw("</ul>\n");
    }
    let class = match gutter {
        0 => "plot".to_owned(),
        some => format!("plot g{}", some.clamp(3, LABEL).div_ceil(3)),
    };
    out.open("div", &[("class", &class)]).open(
        "svg",
        &[
            ("role", "img"),
            ("aria-labelledby", &title),
            ("aria-describedby", &description),
            ("height", &number(height)),
        ],
    );
    out.element("desc", &[("id", &description)], &caption.description);
    out.append(body);
    out.raw("</svg></div>\n</figure>\n");
}

/// The inner svg for lines and areas, `height` pixels high.
pub(crate) fn stretched(out: &mut Markup, height: f64, draw: impl FnOnce(&mut Markup)) {
    let (height, view) = (number(height), format!("0 0 {WIDE} {}", number(height)));
    out.open(
        "svg",
        &[
            ("class", "f"),
            ("viewBox", &view),
            ("preserveAspectRatio", "none"),
            ("width", "100%"),
            ("height", &height),
        ],
    );
    draw(out);
    out.raw("</svg>");
}

/// A horizontal position in units of the inner svg.
pub(crate) fn along(share: f64) -> String {
    format!("{:.0}", share * WIDE)
}

/// A line through points: horizontal shares of the width, and pixels from the top.
pub(crate) fn polyline(points: impl Iterator<Item = (f64, f64)>) -> String {
    let each = points.enumerate().map(|(place, (x, y))| {
        let command = if place == 0 { 'M' } else { 'L' };
        format!("{command}{} {y:.1}", along(x))
    });
    each.collect()
}

/// The horizontal axis of costs: grid lines over the plot and numbers below it, for each unit; the
/// first unit is shown.
pub(crate) fn costs_along(out: &mut Markup, units: &[Unit], scale: &Scale, height: f64) {
    for_units(out, units, scale, 5, |out, ticks| ticks_along(out, ticks, height));
    unit_text(out, units, &[("x", "100%"), ("y", &number(height + 34.0)), ("class", "e u")]);
}

/// The horizontal axis of a quantity that keeps its unit.
pub(crate) fn fixed_along(out: &mut Markup, scale: &Scale, height: f64, unit: &str) {
    ticks_along(out, &scale.ticks(1.0, 5), height);
    out.element("text", &[("x", "100%"), ("y", &number(height + 34.0)), ("class", "e")], unit);
}

fn ticks_along(out: &mut Markup, ticks: &[Tick], height: f64) {
    let lines: String =
        ticks.iter().map(|tick| format!("M{} 0V{}", along(tick.place), number(height))).collect();
    stretched(out, height, |out| {
        out.empty("path", &[("class", "grid"), ("d", &lines)]);
    });
    for (place, tick) in ticks.iter().enumerate() {
        // Every second label is left out where there is little room.
        let class = if place % 2 == 1 { "c o" } else { "c" };
        let text = tick_text(tick.value);
        out.element(
            "text",
            &[("x", &percent(tick.place)), ("y", &number(height + 16.0)), ("class", class)],
            &text,
        );
    }
}

/// The vertical axis of costs, from `top` to `bottom` in pixels.
pub(crate) fn costs_upwards(
    out: &mut Markup,
    units: &[Unit],
    scale: &Scale,
    top: f64,
    bottom: f64,
) {
    for_units(out, units, scale, 7, |out, ticks| {
        let y = |tick: &Tick| bottom - tick.place * (bottom - top);
        let lines: String =
            ticks.iter().map(|tick| format!("M0 {}H{WIDE}", number(y(tick)))).collect();
        stretched(out, bottom, |out| {
            out.empty("path", &[("class", "grid"), ("d", &lines)]);
        });
        for tick in ticks {
            let text = tick_text(tick.value);
            out.element(
                "text",
                &[("x", "-6"), ("y", &number(y(tick) + 4.0)), ("class", "e")],
                &text,
            );
        }
    });
    unit_text(out, units, &[("x", "-6"), ("y", &number(top - 9.0)), ("class", "e u")]);
}

fn for_units(
    out: &mut Markup,
    units: &[Unit],
    scale: &Scale,
    wanted: usize,
    draw: impl Fn(&mut Markup, &[Tick]),
) {
    for (place, unit) in units.iter().enumerate() {
        let class = if place == 0 { "a on" } else { "a" };
        out.open("g", &[("class", class), ("data-a", &place.to_string())]);
        draw(out, &scale.ticks(unit.per_ns_per_kib, wanted));
        out.raw("</g>");
    }
}

fn unit_text(out: &mut Markup, units: &[Unit], attributes: &[(&'static str, &str)]) {
    let name = units.first().map_or("", |unit| unit.name.as_str());
    out.element("text", attributes, name);
}

pub(crate) fn tick_text(value: f64) -> String {
    trimmed(&significant(value)).to_owned()
}

/// A label next to the plot, cut to fit. The tables and the script show it in full.
pub(crate) fn short(label: &str) -> String {
    if label.chars().count() <= LABEL {
        label.to_owned()
    } else {
        label.chars().take(LABEL - 1).chain(['…']).collect()
    }
}

/// A mark, with the texts that the script shows.
pub(crate) struct Mark<'a> {
    /// The horizontal position, 0 to 1.
    pub(crate) x: f64,
    /// Pixels from the top.
    pub(crate) y: f64,
    pub(crate) series: usize,
    /// Whether it is hollow: not comparable with the others.
    pub(crate) hollow: bool,
    /// The name of its cell; for a ratio, all that is read out.
    pub(crate) name: &'a str,
    pub(crate) cost: Option<Figure>,
}

pub(crate) fn mark(page: &mut Page, out: &mut Markup, mark: &Mark) {
    let place = mark.cost.map(|cost| page.costs.place(cost).to_string());
    let class = colour(mark.series) + if mark.hollow { " h" } else { "" };
    let (shape, x, y) = (shape(mark.series), percent(mark.x), number(mark.y));
    let mut attributes = vec![("href", shape.as_str()), ("class", &class), ("x", &x), ("y", &y)];
    attributes.extend(place.as_deref().map(|place| ("data-k", place)));
    attributes.push(("data-n", mark.name));
    out.empty("use", &attributes);
}

/// The ends of a cost's interval; an open upper end is at the top of the scale.
pub(crate) fn interval(cost: &Figure, scale: &Scale) -> Option<(f64, f64)> {
    let bounds = cost.interval?;
    Some((scale.at(bounds.low), bounds.high.map_or(1.0, |high| scale.at(high))))
}

/// The values that an axis must include: a cost and the ends of its interval.
pub(crate) fn reach(cost: Figure) -> impl Iterator<Item = f64> {
    let bounds = cost.interval;
    [Some(cost.value), bounds.map(|bounds| bounds.low), bounds.and_then(|bounds| bounds.high)]
        .into_iter()
        .flatten()
}

/// All figures of a chart that has few of them, for screen readers.
pub(crate) fn each<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names = names.collect::<Vec<_>>().join("; ");
    format!("{names}. Every figure is in the tables of this section.")
}

/// `from 161 ±6 (splice) to 305 ±12 (mmap+write)`, for screen readers.
pub(crate) fn extremes(page: &mut Page, of: &[(String, Figure)]) -> String {
    let by = |(_, a): &&(String, Figure), (_, b): &&(String, Figure)| a.value.total_cmp(&b.value);
    let (Some((least, low)), Some((most, high))) = (of.iter().min_by(by), of.iter().max_by(by))
    else {
        return "Nothing to show.".to_owned();
    };
    let unit = page.costs.first().to_owned();
    let (low, high) = (page.cost(*low).1, page.cost(*high).1);
    format!(
        "From {low} {unit} ({least}) to {high} {unit} ({most}). Every figure is in the tables of \
         this section."
    )
}
