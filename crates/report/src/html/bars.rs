//! Bars from 0, a group of them per row: parts of several wholes, which are compared class by
//! class.

use super::markup::{Markup, number, percent};
use super::page::Page;
use super::plot::{self, BELOW, Caption};
use super::scale::Scale;

/// A row: its label, and a bar for each entry of the legend.
pub(super) struct Group {
    pub(super) label: String,
    pub(super) values: Vec<f64>,
}

/// The height of a bar in pixels.
const BAR_HEIGHT: f64 = 11.0;
/// The room below a group in pixels.
const GROUP_PADDING: f64 = 9.0;

pub(super) fn bars(
    page: &mut Page,
    caption: Caption,
    legend: &[&str],
    groups: &[Group],
    unit: &'static str,
    shown: impl Fn(f64) -> String,
) {
    let values = groups.iter().flat_map(|group| &group.values).copied();
    let Some(scale) = values.max_by(f64::total_cmp).and_then(Scale::linear) else { return };
    let high = BAR_HEIGHT * legend.len() as f64 + GROUP_PADDING;
    let height = high * groups.len() as f64;
    let mut out = Markup::default();
    plot::fixed_along(&mut out, &scale, height, unit);
    let mut names = Vec::new();
    for (place, group) in groups.iter().enumerate() {
        let top = place as f64 * high;
        let text = number(top + high / 2.0 + 4.0);
        let label = plot::short(&group.label);
        out.element("text", &[("x", "-8"), ("y", &text), ("class", "e l")], &label);
        for (part, value) in group.values.iter().enumerate() {
            let what = legend.get(part).copied().unwrap_or_default();
            let name = format!("{}, {what}: {}", group.label, shown(*value));
            out.empty(
                "rect",
                &[
                    ("class", &format!("seg {}", plot::tint(part))),
                    ("x", "0"),
                    ("y", &number(top + GROUP_PADDING / 2.0 + BAR_HEIGHT * part as f64)),
                    ("width", &percent(scale.at(value.max(0.0)))),
                    ("height", &number(BAR_HEIGHT - 1.0)),
                    ("data-n", &name),
                ],
            );
            names.push(name);
        }
    }
    let gutter = groups.iter().map(|group| group.label.chars().count()).max().unwrap_or(0);
    let legend: Vec<(usize, &str)> = legend.iter().copied().enumerate().collect();
    let description = plot::each(names.iter().map(String::as_str));
    let caption = Caption { description, ..caption };
    plot::lettered(page, &caption, &legend, gutter, height + BELOW, &out);
}
