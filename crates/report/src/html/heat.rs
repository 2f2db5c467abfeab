//! A heat map: one field per cell of the plan, darker for a higher cost, with the figure in it.

use super::markup::{Markup, number, percent};
use super::page::Page;
use super::plot::{self, BELOW, Caption};
use super::scale::Scale;
use crate::run::pivot_tables::NONE;
use zc_analysis::Figure;

pub(super) struct Panel {
    pub(super) title: String,
    /// The titles of rows and columns.
    pub(super) factors: [String; 2],
    pub(super) rows: Vec<String>,
    pub(super) columns: Vec<String>,
    /// Fields by row, then column: cost, the cell's name and its marks.
    pub(super) fields: Vec<Vec<Option<(Figure, String, String)>>>,
}

const SHADES: f64 = 7.0;
/// The height of a field in pixels.
const FIELD_HEIGHT: f64 = 32.0;

/// Draws all panels in one scale.
pub(super) fn heat(page: &mut Page, caption: &Caption, panels: &[Panel]) {
    let fields = || panels.iter().flat_map(|panel| panel.fields.iter().flatten().flatten());
    let Some(scale) = Scale::log(fields().map(|(cost, _, _)| cost.value)) else { return };
    page.out.raw("<div class=\"panels\">\n");
    for panel in panels {
        let mut out = Markup::default();
        let height = panel.rows.len() as f64 * FIELD_HEIGHT;
        let wide = 1.0 / panel.columns.len().max(1) as f64;
        for (place, name) in panel.columns.iter().enumerate() {
            let middle = percent((place as f64 + 0.5) * wide);
            out.element(
                "text",
                &[("x", &middle), ("y", &number(height + 16.0)), ("class", "c")],
                name,
            );
        }
        out.element(
            "text",
            &[("x", "100%"), ("y", &number(height + 34.0)), ("class", "e")],
            &panel.factors[1],
        );
        out.element(
            "text",
            &[("x", "-8"), ("y", &number(height + 16.0)), ("class", "e")],
            &panel.factors[0],
        );
        for (row, name) in panel.rows.iter().enumerate() {
            let top = row as f64 * FIELD_HEIGHT;
            let text = number(top + FIELD_HEIGHT / 2.0 + 4.0);
            out.element("text", &[("x", "-8"), ("y", &text), ("class", "e")], &plot::short(name));
            for (column, field) in panel.fields.get(row).into_iter().flatten().enumerate() {
                let (x, middle) =
                    (percent(column as f64 * wide), percent((column as f64 + 0.5) * wide));
                let Some((cost, name, signs)) = field else {
                    out.element("text", &[("x", &middle), ("y", &text), ("class", "c")], NONE);
                    continue;
                };
                let shade = (scale.at(cost.value) * SHADES).min(SHADES - 1.0) as usize;
                let whole = page.costs.place(*cost).to_string();
                let attributes = [
                    ("class", &*format!("h{shade}")),
                    ("x", &x),
                    ("y", &number(top + 1.0)),
                    ("width", &percent(wide)),
                    ("height", &number(FIELD_HEIGHT - 2.0)),
                    ("data-k", &whole),
                    ("data-n", name),
                ];
                out.empty("rect", &attributes);
                // A field has no room for the half-width.
                let (place, short) =
                    page.cost(Figure { interval: None, half_width: None, ..*cost });
                let class = format!("c k{shade}");
                out.open("text", &[("x", &middle), ("y", &text), ("class", &class)]);
                out.element("tspan", &[("data-v", &place)], &short).text(signs).close("text");
            }
        }
        let all: Vec<(String, Figure)> = panel
            .fields
            .iter()
            .flatten()
            .flatten()
            .map(|(cost, name, _)| (name.clone(), *cost))
            .collect();
        let description = plot::extremes(page, &all);
        let caption = Caption {
            title: format!("{}: {}", caption.title, panel.title),
            note: caption.note.clone(),
            description,
        };
        let gutter = panel
            .rows
            .iter()
            .chain([&panel.factors[0]])
            .map(|name| name.chars().count())
            .max()
            .unwrap_or(0);
        plot::frame(page, &caption, &[], gutter, height + BELOW, &out);
    }
    page.out.raw("</div>\n");
}
