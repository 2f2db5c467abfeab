//! Stacked bars of the parts of a cost. Each part has a letter in the bar, where there is room, and
//! in the legend, so that colour is not the only distinction.

use super::markup::{Markup, number, percent};
use super::page::Page;
use super::plot::{self, BELOW, Caption};
use super::scale::Scale;
use crate::digits::significant;
use zc_analysis::Figure;

/// A bar, its parts from left to right.
pub(super) struct Bar {
    pub(super) label: String,
    /// The legend index and size of each part.
    pub(super) parts: Vec<(usize, Figure)>,
}

/// The height of a bar in pixels.
const BAR_HEIGHT: f64 = 30.0;
/// Parts narrower than this share of the width get no letter.
const LETTERED: f64 = 0.045;

/// `unit`: that of the parts, where they are not costs in ns per KiB.
pub(super) fn stacked(
    page: &mut Page,
    caption: Caption,
    legend: &[String],
    bars: &[Bar],
    unit: Option<&'static str>,
) {
    let sum = |bar: &Bar| bar.parts.iter().map(|(_, cost)| cost.value.max(0.0)).sum::<f64>();
    // Always from 0: a bar compares lengths.
    let Some(scale) = bars.iter().map(sum).max_by(f64::total_cmp).and_then(Scale::linear) else {
        return;
    };
    let height = bars.len() as f64 * BAR_HEIGHT;
    let mut out = Markup::default();
    match unit {
        Some(unit) => plot::fixed_along(&mut out, &scale, height, unit),
        None => plot::costs_along(&mut out, page.costs.units(), &scale, height),
    }
    let mut all = Vec::new();
    for (place, bar) in bars.iter().enumerate() {
        let top = place as f64 * BAR_HEIGHT;
        let text = number(top + BAR_HEIGHT / 2.0 + 4.0);
        out.element(
            "text",
            &[("x", "-8"), ("y", &text), ("class", "e l")],
            &plot::short(&bar.label),
        );
        let mut from = 0.0;
        for (part, cost) in bar.parts.iter().filter(|(_, cost)| cost.value > 0.0) {
            let (left, right) = (scale.at(from), scale.at(from + cost.value));
            from += cost.value;
            let name = format!("{}, {}", bar.label, legend.get(*part).map_or("", String::as_str));
            let (name, place) = match unit {
                Some(unit) => (format!("{name}: {} {unit}", significant(cost.value)), None),
                None => (name, Some(page.costs.place(*cost).to_string())),
            };
            let (class, y) = (format!("seg {}", plot::tint(*part)), number(top + 4.0));
            let (x, width, height) =
                (percent(left), percent(right - left), number(BAR_HEIGHT - 8.0));
            let mut attributes = vec![
                ("class", class.as_str()),
                ("x", &x),
                ("y", &y),
                ("width", &width),
                ("height", &height),
            ];
            attributes.extend(place.as_deref().map(|place| ("data-k", place)));
            attributes.push(("data-n", &name));
            out.empty("rect", &attributes);
            if right - left >= LETTERED {
                let middle = percent((left + right) / 2.0);
                out.element(
                    "text",
                    &[("x", &middle), ("y", &text), ("class", "c l")],
                    &plot::letter(*part).to_string(),
                );
            }
            all.push((name, *cost));
        }
    }
    let description = match unit {
        Some(_) => plot::each(all.iter().map(|(name, _)| name.as_str())),
        None => plot::extremes(page, &all),
    };
    let gutter = bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
    let used = |part: &usize| {
        bars.iter()
            .flat_map(|bar| &bar.parts)
            .any(|(other, cost)| other == part && cost.value > 0.0)
    };
    let legend: Vec<(usize, &str)> =
        legend.iter().map(String::as_str).enumerate().filter(|(part, _)| used(part)).collect();
    plot::lettered(
        page,
        &Caption { description, ..caption },
        &legend,
        gutter,
        height + BELOW,
        &out,
    );
}
