//! A fleet as a page: the answer, costs by path and group as charts and tables that can be sorted
//! and filtered, how costs differ, what is odd, what conditions explain, and what is missing. The
//! texts are those of the terminal.

use super::findings::{conditions, missing_runs, odd};
use super::group_choices::{choices, ranks};
use super::missing::Missing;
use super::names::{Names, cell, count, end_with_article, strings, unique};
use super::parts::{answer, figure, more, note_line, section};
use super::tables::{self, ENDS};
use super::words::{self, percent_of};
use crate::html::dots::{self, Axis, Lane};
use crate::html::filters;
use crate::html::page::Page;
use crate::html::plot::Caption;
use crate::html::skeleton::{begin, end, navigation};
use crate::html::table::{CellValues, grouped_table, part};
use crate::html::units;
use zc_analysis::Figure;
use zc_analysis::fleet::{End, Fleet, Row};

/// With at most this many groups, a row is a path and has a dot for each group; with more, it is a
/// group and has the dots of all paths.
const LANES: usize = 6;
/// The most rows of a table of costs.
const ROWS: usize = 2000;
/// The most groups in a chart.
const CHARTED: usize = 40;
/// The fleet as one self-contained page of HTML.
pub fn html(fleet: &Fleet, missing: &[Missing]) -> String {
    let mut page = Page::new(units::units(&[]));
    let title = format!("What sending over TCP costs on {}", count(fleet.hosts, "host"));
    let about = strings(&mut words::heading(fleet).into_iter().map(note_line));
    begin(&mut page, &title, &about);
    let mut sections = vec![
        ("by-group", "Costs"),
        ("spreads", "Differences"),
        ("odd", "Odd"),
        ("conditions", "Conditions"),
    ];
    if !words::missing_runs(fleet, missing).is_empty() {
        sections.push(("missing", "Missing"));
    }
    let named = sections.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned()));
    navigation(&mut page, &named.collect::<Vec<_>>());
    page.out.raw("<main id=\"main\">\n");
    answer(&mut page, &words::answer(fleet, missing));
    costs(&mut page, fleet);
    spreads(&mut page, fleet);
    odd(&mut page, fleet);
    conditions(&mut page, fleet);
    missing_runs(&mut page, fleet, missing);
    method(&mut page, fleet);
    page.out.raw("</main>\n");
    end(&mut page, "Reported", env!("CARGO_PKG_VERSION"));
    page.out.finish()
}

fn cost(fleet: &Fleet, row: &Row) -> Figure {
    let mean = row.us_per_mb;
    figure(mean.value, mean.low, mean.high, fleet.confidence)
}

fn costs(page: &mut Page, fleet: &Fleet) {
    section(page, "by-group", "Costs by path and group");
    let names = Names::from_fleet(fleet);
    let ranks: Vec<Vec<usize>> = (0..fleet.by.len()).map(|fact| self::ranks(names, fact)).collect();
    let ends: Vec<(End, Vec<&Row>)> = ENDS
        .into_iter()
        .map(|end| (end, tables::rows(fleet, end)))
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    for (end, rows) in &ends {
        chart(page, fleet, *end, rows);
    }
    if ends.is_empty() {
        page.out.raw("<p>No path has a cost.</p>\n");
    } else {
        page.out.raw("<h3>Figures</h3>\n");
        filters::filters(page, &choices(names));
    }
    for (end, all) in &ends {
        let rows = &all[..all.len().min(ROWS)];
        let grid = tables::costs_of(fleet, rows);
        let cell_values = |row: usize, column: usize| {
            let Some(of) = rows.get(row) else { return CellValues::default() };
            if column == tables::cost_column(fleet) {
                return CellValues { cost: Some(cost(fleet, of)), ..CellValues::default() };
            }
            let rank = column.checked_sub(1).and_then(|fact| ranks.get(fact));
            let sort = rank.and_then(|ranks| ranks.get(of.group)).map(|rank| *rank as f64);
            CellValues { sort, ..CellValues::default() }
        };
        let group = |row: usize| rows.get(row).map(|row| row.group);
        let keys = 1 + fleet.by.len();
        grouped_table(page, tables::caption(*end), keys, &grid, &cell_values, &group);
        more(page, all.len() - rows.len(), "CSV");
    }
    page.out.raw("</section>\n");
}

/// The costs of an end.
fn chart(page: &mut Page, fleet: &Fleet, end: End, rows: &[&Row]) {
    let names = Names::from_fleet(fleet);
    let labels = unique(&mut rows.iter().map(|row| row.label.clone()));
    let by_path = fleet.groups.len() <= LANES;
    let lane = |row: &&&Row| Lane {
        series: if by_path {
            row.group
        } else {
            labels.iter().position(|label| *label == row.label).unwrap_or(0)
        },
        figure: cost(fleet, row),
        hollow: false,
        name: format!("{}, {}", cell(&row.label), names.group(row.group)),
    };
    let groups = strings(&mut (0..fleet.groups.len()).map(|group| names.group(group)));
    let (all, legend): (Vec<dots::Row>, Vec<String>) = if by_path {
        let path_row = |label: &String| dots::Row {
            label: cell(label),
            lanes: rows.iter().filter(|row| row.label == *label).map(|row| lane(&row)).collect(),
        };
        (labels.iter().map(path_row).collect(), groups)
    } else {
        let group_row = |(group, name): (usize, &String)| dots::Row {
            label: name.clone(),
            lanes: rows.iter().filter(|row| row.group == group).map(|row| lane(&row)).collect(),
        };
        let all = groups.iter().enumerate().map(group_row).filter(|row| !row.lanes.is_empty());
        (all.collect(), strings(&mut labels.iter().map(|label| cell(label))))
    };
    let mut note = format!("Lines are {} intervals of the mean.", percent_of(fleet.confidence));
    if all.len() > CHARTED && !by_path {
        note.push_str(&format!(
            " The first {CHARTED} of {} groups; all are in the table.",
            all.len()
        ));
    }
    let shown = if by_path { all.len() } else { all.len().min(CHARTED) };
    let caption = Caption {
        title: format!("What each path costs {}, us/MB", end_with_article(end)),
        note,
        description: String::new(),
    };
    dots::dots(page, caption, &legend, &all[..shown], Axis::Costs { reference: None });
}

fn spreads(page: &mut Page, fleet: &Fleet) {
    section(page, "spreads", "How costs differ within groups");
    let parts = tables::spreads(fleet);
    if parts.is_empty() {
        page.out.raw("<p>There are too few runs to tell.</p>\n");
    }
    for spread in &parts {
        part(page, spread);
    }
    page.out.raw("</section>\n");
}

fn method(page: &mut Page, fleet: &Fleet) {
    section(page, "method", "Method");
    let confidence = percent_of(fleet.confidence);
    let rate = percent_of(fleet.false_discovery_rate);
    let paragraphs = [
        format!(
            "Each run measures the CPU time of a pair of hosts. The logarithms of its costs are \
             the data of a model with random effects: the host whose cost it is, the host at the \
             other end, the session, and the error of the run by its own blocks. Variances are \
             estimated by REML over all groups together. The cost of a group is the mean over its \
             hosts, with a {confidence} interval by Hartung and Knapp; \u{201c}one more \
             host\u{201d} is where another host of the group lies in another session, with a \
             probability of {confidence}. Ratios are taken within runs, so that what slows down a \
             whole host cancels."
        ),
        format!(
            "Hosts are compared with their group, pairs with what the effects of their two hosts \
             predict, and facts are tried as explanations of how hosts of a group differ. Of those \
             that are reported, {rate} at most are expected to be false discoveries (Benjamini and \
             Hochberg), in each of the three lists. A fact that correlates with costs need not be \
             the cause: others that divide the hosts in the same way are named with it."
        ),
    ];
    for paragraph in paragraphs {
        page.out.element("p", &[], &paragraph).raw("\n");
    }
    page.about_units();
    page.out.raw("</section>\n");
}
