//! Parts that the pages of fleets and of trends share.

use crate::html::page::Page;
use crate::terminal::note::Note;
use zc_analysis::{Bounds, Figure};

/// A note of the heading as a line.
pub(crate) fn note_line(note: Note) -> String {
    match note.label {
        "fleet" | "trend" | "nights" => note.text,
        label => format!("{label} {}", note.text),
    }
}

/// The sentences that a page opens with.
pub(crate) fn answer(page: &mut Page, sentences: &[String]) {
    section(page, "answer", "Answer");
    for (place, sentence) in sentences.iter().enumerate() {
        let class: &[(&str, &str)] = if place == 0 { &[("class", "answer")] } else { &[] };
        page.out.element("p", class, sentence).raw("\n");
    }
    page.out.raw("</section>\n");
}

/// Begins a section.
pub(crate) fn section(page: &mut Page, id: &'static str, title: &'static str) {
    let heading = format!("{id}-h");
    page.out.open("section", &[("id", id), ("aria-labelledby", &heading)]).raw("\n");
    page.out.element("h2", &[("id", &heading)], title).raw("\n");
}

/// A list of sentences; nothing without any.
pub(crate) fn list(page: &mut Page, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    page.out.raw("<ul class=\"findings\">\n");
    for sentence in sentences {
        page.out.element("li", &[], sentence).raw("\n");
    }
    page.out.raw("</ul>\n");
}

/// States how many rows a table lacks, and the form that has them; nothing if it has all.
pub(crate) fn more(page: &mut Page, more: usize, form: &str) {
    if more > 0 {
        let sentence = format!("And {more} more, which are in the {form}.");
        page.out.element("p", &[], &sentence).raw("\n");
    }
}

/// A cost in us/MB for a chart or a table; without a half-width where its interval is a wide one,
/// whose ends are given instead.
pub(crate) fn figure(value: f64, low: Option<f64>, high: Option<f64>, confidence: f64) -> Figure {
    // Costs of pages are in ns per KiB.
    let by = 1.0 / crate::digits::us_per_mb(1.0);
    let interval = low.map(|low| Bounds {
        low: low * by,
        high: high.filter(|high| high.is_finite()).map(|high| high * by),
        confidence,
    });
    let half_width = crate::fleet::names::half(low, high)
        .filter(|half| !crate::fleet::names::is_wide(value, *half))
        .map(|half| half * by);
    Figure { value: value * by, interval, half_width, blocks: 0 }
}
