//! The raw spread: one strip per cell, with one dot per block at the block's cost divided by the
//! cell's median, so that all cells share an axis without unit. Blocks are in order of time from
//! top to bottom: drift shows as a slope.

use super::markup::{Markup, number, percent};
use super::page::Page;
use super::plot::{self, BELOW, Caption};
use super::scale::Scale;
use crate::run::pivot::Pivot;
use zc_analysis::{CellEstimate, CostSeries, Estimates, Figure};
use zc_run::escape;

/// The height of a strip in pixels.
const STRIP_HEIGHT: f64 = 18.0;
/// The largest number of dots per run; of more blocks every second, third ... is drawn.
const MOST: usize = 1500;
/// The largest number of strips in one picture, so that it fits a printed page.
const TOGETHER: usize = 30;

/// A line of the picture.
enum Line<'a> {
    /// The levels that the strips below share.
    Heading(String),
    Strip {
        label: String,
        strip: &'a CostSeries,
        cost: Figure,
    },
}

/// Draws all cells of a run.
pub(super) fn strips(
    page: &mut Page,
    estimates: &Estimates,
    pivot: Option<&Pivot>,
    strips: &[CostSeries],
) {
    let lines = lines(estimates, pivot, strips);
    let drawn: Vec<(&CostSeries, f64)> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Strip { strip, cost, .. } => Some((*strip, cost.value)),
            Line::Heading(_) => None,
        })
        .collect();
    if drawn.is_empty() {
        return;
    }
    let shares = drawn
        .iter()
        .flat_map(|(strip, median)| strip.ns_per_kib.iter().map(move |cost| cost / median));
    let reach = reach(shares.collect());
    let scale = Scale::log_between(1.0 / reach, reach);
    let blocks = drawn.iter().map(|(strip, _)| strip.ns_per_kib.len()).max().unwrap_or(1);
    let every = blocks.div_ceil((MOST / drawn.len()).max(20)).max(1);
    let mut note = format!(
        "A dot is a block: its cost divided by the cell's median, in order of time from top to \
         bottom. The bar is the interval of the median. Dots at an end lie beyond it (a factor of \
         {}).",
        plot::tick_text(reach)
    );
    if every > 1 {
        note.push_str(&format!(" One block in {every} is drawn."));
    }
    let parts = lines.len().div_ceil(TOGETHER);
    for (part, lines) in lines.chunks(TOGETHER).enumerate() {
        let mut title = "Every block".to_owned();
        if parts > 1 {
            title.push_str(&format!(", {} of {parts}", part + 1));
        }
        let caption = Caption {
            title,
            note: if part == 0 { note.clone() } else { String::new() },
            description: format!("{} cells, up to {blocks} blocks each.", drawn.len()),
        };
        picture(page, &caption, lines, &scale, every);
    }
}

/// One heading per row of a plan of several factors, with its columns below; otherwise one strip
/// per cell. The controls come last.
fn lines<'a>(
    estimates: &Estimates,
    pivot: Option<&Pivot>,
    strips: &'a [CostSeries],
) -> Vec<Line<'a>> {
    let line = |cell: &CellEstimate, label: &str| {
        let strip =
            strips.iter().find(|strip| strip.cell == cell.label && strip.ns_per_kib.len() > 1)?;
        let cost = cell.cost_ns_per_kib.both.filter(|cost| cost.value > 0.0)?;
        Some(Line::Strip { label: escape(label, 40), strip, cost })
    };
    let mut lines = Vec::new();
    match pivot {
        None => {
            let cells = estimates.cells.iter().filter(|cell| !cell.control);
            lines.extend(cells.filter_map(|cell| line(cell, &cell.label)));
        }
        Some(pivot) => {
            for row in &pivot.rows {
                let named = pivot.columns.iter().zip(&row.cells);
                let of_row =
                    named.filter_map(|(column, placed)| line(placed.as_ref()?.figures, column));
                let of_row: Vec<Line> = of_row.collect();
                if !of_row.is_empty() {
                    lines.push(Line::Heading(row.levels.join(" ")));
                    lines.extend(of_row);
                }
            }
        }
    }
    let control = estimates.cells.iter().filter(|cell| cell.control);
    lines.extend(control.filter_map(|cell| {
        line(cell, if cell.positive_control { "positive control" } else { "A/A control" })
    }));
    lines
}

fn picture(page: &mut Page, caption: &Caption, lines: &[Line], scale: &Scale, every: usize) {
    let height = lines.len() as f64 * STRIP_HEIGHT;
    let mut out = Markup::default();
    let ticks = ticks(scale);
    plot::stretched(&mut out, height, |out| {
        let grid: String = ticks
            .iter()
            .map(|(place, ..)| format!("M{} 0V{}", plot::along(*place), number(height)))
            .collect();
        out.empty("path", &[("class", "grid"), ("d", &grid)]);
        for (place, line) in lines.iter().enumerate() {
            let Line::Strip { strip, cost, .. } = line else { continue };
            let top = place as f64 * STRIP_HEIGHT;
            if let Some((low, high)) =
                cost.interval.and_then(|bounds| Some((bounds.low, bounds.high?)))
            {
                let at = |value: f64| plot::along(scale.at(value / cost.value));
                let (from, to) = (number(top + 1.0), number(top + STRIP_HEIGHT - 1.0));
                let bar = format!("M{} {from}H{}V{to}H{}z", at(low), at(high), at(low));
                out.empty("path", &[("class", "bar"), ("d", &bar)]);
            }
            out.empty(
                "path",
                &[("class", "dots"), ("d", &dots(strip, cost.value, every, scale, top))],
            );
        }
    });
    out.raw("<g class=\"e\" transform=\"translate(-8 4)\">");
    for (place, line) in lines.iter().enumerate() {
        let y = number((place as f64 + 0.5) * STRIP_HEIGHT);
        match line {
            Line::Heading(text) => {
                out.element("text", &[("class", "l"), ("y", &y)], &plot::short(text))
            }
            Line::Strip { label, .. } => out.element("text", &[("y", &y)], &plot::short(label)),
        };
    }
    out.raw("</g>");
    for (place, text, first) in &ticks {
        let class = if *first { "c" } else { "c o" };
        out.element(
            "text",
            &[("x", &percent(*place)), ("y", &number(height + 16.0)), ("class", class)],
            text,
        );
    }
    out.element(
        "text",
        &[("x", "100%"), ("y", &number(height + 34.0)), ("class", "e")],
        "block / median",
    );
    let names = lines.iter().map(|line| match line {
        Line::Heading(text) => text,
        Line::Strip { label, .. } => label,
    });
    let gutter = names.map(|name| name.chars().count()).max().unwrap_or(0);
    plot::frame(page, caption, &[], gutter, height + BELOW, &out);
}

/// A zero-length path segment per block: its round cap is the dot.
fn dots(strip: &CostSeries, median: f64, every: usize, scale: &Scale, top: f64) -> String {
    let count = strip.ns_per_kib.len().max(2) - 1;
    let mut path = String::new();
    let mut from = (0, 0);
    for (place, cost) in strip.ns_per_kib.iter().enumerate().step_by(every) {
        let x = (scale.at(cost / median) * plot::WIDE) as i64;
        let y = (top + 4.0 + (STRIP_HEIGHT - 8.0) * place as f64 / count as f64) as i64;
        // Relative coordinates are shorter.
        path.push_str(&format!(
            "{}{} {}z",
            if path.is_empty() { "M" } else { "m" },
            x - from.0,
            y - from.1
        ));
        from = (x, y);
    }
    path
}

/// The factor around the median that includes nearly all blocks.
fn reach(shares: Vec<f64>) -> f64 {
    let mut off: Vec<f64> = shares
        .into_iter()
        .filter(|share| *share > 0.0)
        .map(|share| share.max(1.0 / share))
        .collect();
    off.sort_by(f64::total_cmp);
    let nearly_all = off.get(off.len().saturating_sub(1) * 98 / 100).copied().unwrap_or(1.0);
    [1.1, 1.25, 1.5, 2.0, 3.0].into_iter().find(|reach| nearly_all <= *reach).unwrap_or(5.0)
}

/// Ticks: position, label, and whether the label is kept where there is little room.
fn ticks(scale: &Scale) -> Vec<(f64, String, bool)> {
    let (low, high) = (scale.value(0.0), scale.value(1.0));
    let (named, first): (&[f64], &[f64]) = if high > 2.5 {
        (&[0.2, 0.33, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0], &[0.2, 0.5, 1.0, 2.0, 5.0])
    } else if high > 1.3 {
        (&[0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0], &[0.5, 0.7, 1.0, 1.5, 2.0])
    } else {
        (&[0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2], &[0.9, 1.0, 1.1])
    };
    let on_it = named.iter().filter(|value| (low..=high).contains(*value));
    on_it.map(|value| (scale.at(*value), plot::tick_text(*value), first.contains(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_reaches_nearly_all_blocks() {
        assert_eq!(reach(vec![1.0, 0.97, 1.02]), 1.1);
        assert_eq!(
            reach(vec![1.0, 0.7, 1.0]),
            1.1,
            "one in three is not nearly all, but of few the last is left out"
        );
        assert_eq!(reach(vec![0.55; 10]), 2.0);
        assert_eq!(reach(vec![9.0; 10]), 5.0);
        assert_eq!(reach(vec![-1.0, 0.0]), 1.1);
    }
}
