//! A trend as a page: what changed and from which night on, a chart of all nights for each group
//! and end, the lines without a change, and the figures of each night. The texts are those of the
//! terminal.

use super::charts::{Sheet, charts, cost, each};
use super::{tables, words};
use crate::fleet::names::{count, strings};
use crate::fleet::parts::{answer, list, note_line, section};
use crate::fleet::words::percent_of;
use crate::html::page::Page;
use crate::html::skeleton::{begin, end, navigation};
use crate::html::table::{CellValues, grouped_table};
use crate::html::units;
use crate::terminal::table::Grid;
use crate::text::ordered;
use zc_analysis::fleet::{ChangePoint, Event, Trend, TrendLine};

/// At most this many lines of an occasion have a chart of their own.
const DRAWN: usize = 4;
/// At most this many lines of all occasions have a chart of their own.
const ALL_DRAWN: usize = 16;

/// The trend as one self-contained page of HTML.
pub fn html(trend: &Trend, events: &[Event]) -> String {
    let mut page = Page::new(units::units(&[]));
    let title = format!("What sending over TCP costs over {}", count(trend.nights.len(), "night"));
    let about = strings(&mut words::heading(trend).into_iter().map(note_line));
    begin(&mut page, &title, &about);
    let mut sections =
        vec![("changes", "Changes"), ("nights", "Nights"), ("lines", "Without a change")];
    if !events.is_empty() || !trend.left_out.is_empty() {
        sections.push(("notes", "Notes"));
    }
    let named = sections.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned()));
    navigation(&mut page, &named.collect::<Vec<_>>());
    page.out.raw("<main id=\"main\">\n");
    answer(&mut page, &words::answer(trend));
    let sheet = Sheet::new(trend, events);
    changes(&mut page, trend, &sheet);
    charts(&mut page, trend, &sheet);
    unchanged(&mut page, trend);
    notes(&mut page, trend, events);
    method(&mut page, trend);
    page.out.raw("</main>\n");
    end(&mut page, "Reported", env!("CARGO_PKG_VERSION"));
    page.out.finish()
}

fn plain(page: &mut Page, caption: &str, keys: usize, grid: &Grid) {
    grouped_table(page, caption, keys, grid, &|_, _| CellValues::default(), &|_| None);
}

fn changes(page: &mut Page, trend: &Trend, sheet: &Sheet) {
    section(page, "changes", "Changes");
    let occasions = words::occasions(trend);
    if occasions.is_empty() {
        page.out.raw("<p>No line changed.</p>\n");
    }
    let mut left = ALL_DRAWN;
    for occasion in &occasions {
        page.out.element("h3", &[], &words::when(trend, occasion)).raw("\n");
        for sentence in words::why(occasion) {
            page.out.element("p", &[], &sentence).raw("\n");
        }
        let caption = format!(
            "Cost from that night on, divided by the cost before, with {} intervals",
            percent_of(trend.confidence)
        );
        plain(page, &caption, tables::keys(trend), &tables::changes(trend, occasion));
        // The largest changes.
        let by = |change: &ChangePoint| change.by.ln().abs();
        let largest = ordered(&occasion.lines, &|(_, a), (_, b)| by(b).total_cmp(&by(a)));
        let largest: Vec<&TrendLine> =
            largest.into_iter().map(|(line, _)| line).take(DRAWN.min(left)).collect();
        left -= largest.len();
        if !largest.is_empty() {
            each(page, trend, sheet, &largest);
        }
    }
    page.out.raw("</section>\n");
}

fn unchanged(page: &mut Page, trend: &Trend) {
    section(page, "lines", "Lines without a change");
    match tables::unchanged(trend) {
        None => {
            page.out.raw("<p>All lines changed.</p>\n");
        }
        Some(grid) => {
            let lines = tables::without_change(trend);
            let keys = tables::keys(trend);
            let cell_values = |row: usize, column: usize| {
                let last = lines.get(row).and_then(|line| line.points.last());
                let cost = last.filter(|_| column == keys + 1).map(|point| cost(trend, point));
                CellValues { cost, ..CellValues::default() }
            };
            grouped_table(page, tables::UNCHANGED, keys, &grid, &cell_values, &|_| None);
        }
    }
    page.out.raw("</section>\n");
}

fn notes(page: &mut Page, trend: &Trend, events: &[Event]) {
    let noted = words::events(events);
    let left_out = words::left_out(trend);
    if noted.is_empty() && left_out.is_empty() {
        return;
    }
    section(page, "notes", "Notes");
    for (title, notes) in [("Events", noted), ("Runs that are not in the figures", left_out)] {
        if !notes.is_empty() {
            page.out.element("h3", &[], title).raw("\n");
            list(page, &strings(&mut notes.into_iter().map(|note| note.text)));
        }
    }
    page.out.raw("</section>\n");
}

fn method(page: &mut Page, trend: &Trend) {
    section(page, "method", "Method");
    let text = format!(
        "A line is what a path costs an end of the hosts of a group, night by night, net of which \
         hosts were measured in a night. Its change points divide it into stretches of one level. \
         If no line had changed, any change would be found anywhere with a probability of {}. The \
         interval of a night and of a ratio has a confidence of {}. A fact that changed within the \
         interval need not be the cause.",
        percent_of(trend.false_alarm),
        percent_of(trend.confidence)
    );
    page.out.element("p", &[], &text).raw("\n");
    page.about_units();
    page.out.raw("</section>\n");
}
