//! A fleet as a page: the answer, costs by path and group as charts and tables that can be sorted
//! and filtered, how costs differ, what is odd, what conditions explain, and what is missing. The
//! texts are those of the terminal.

use super::Missing;
use super::names::{
    MOST, Names, cell, count, end as end_name, lines, some, strings, the, times, unique,
};
use super::tables::{self, ENDS};
use super::words::{self, percent_of};
use crate::digits::{percent, significant, trimmed};
use crate::grid::{Column, Grid};
use crate::html::dots::{self, Axis, Lane};
use crate::html::filters::{self, Choice};
use crate::html::page::Page;
use crate::html::plot::Caption;
use crate::html::skeleton::{begin, end, navigation};
use crate::html::tables::{Behind, of_groups, part};
use crate::html::units;
use crate::note::Note;
use crate::text::ordered;
use zc_analysis::fleet::{Condition, End, Fleet, Row};
use zc_analysis::{Bounds, Figure};
use zc_run::escape;

/// Up to so many groups are the dots of a path; of more, each group has the dots of all paths.
const LANES: usize = 6;
/// The most groups in a chart.
const CHARTED: usize = 40;
/// The most rows of a table of what is odd.
const ROWS: usize = 200;
/// The most values of a fact in the table of conditions.
const VALUES: usize = 20;
/// The longest name of a host.
const LONG: usize = 80;

/// The fleet as one self-contained page of HTML.
pub fn html(fleet: &Fleet, missing: &[Missing]) -> String {
    let mut page = Page::new(units::units(&[]));
    let title = format!("What sending over TCP costs on {}", count(fleet.hosts, "host"));
    let about = strings(&mut words::heading(fleet).into_iter().map(said));
    begin(&mut page, &title, &about);
    let mut sections = vec![
        ("by-group", "Costs"),
        ("spreads", "Differences"),
        ("odd", "Odd"),
        ("conditions", "Conditions"),
    ];
    if !missing.is_empty() || !fleet.left_out.is_empty() {
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
    absent(&mut page, fleet, missing);
    method(&mut page, fleet);
    page.out.raw("</main>\n");
    end(&mut page, "Reported", env!("CARGO_PKG_VERSION"));
    page.out.finish()
}

/// A note of the heading as a line.
pub(crate) fn said(note: Note) -> String {
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

/// A cost in us/MB for a chart or a table.
pub(crate) fn figure(value: f64, low: Option<f64>, high: Option<f64>, confidence: f64) -> Figure {
    // Costs of pages are in ns per KiB.
    let by = 1.0 / crate::digits::us_per_mb(1.0);
    let interval = low.map(|low| Bounds {
        low: low * by,
        high: high.filter(|high| high.is_finite()).map(|high| high * by),
        confidence,
    });
    let half_width = super::names::half(low, high).map(|half| half * by);
    Figure { value: value * by, interval, half_width, blocks: 0 }
}

fn cost(fleet: &Fleet, row: &Row) -> Figure {
    let mean = row.us_per_mb;
    figure(mean.value, mean.low, mean.high, fleet.confidence)
}

/// The place of each group's value among all values of a fact, for sorting: numbers in a value
/// count as numbers.
pub(crate) fn ranks(names: Names, fact: usize) -> Vec<usize> {
    let values: Vec<&str> = (0..names.groups.len()).map(|at| names.raw(at, fact)).collect();
    let mut values = ordered(&values, &|a, b| pieces(a).cmp(&pieces(b)).then(a.cmp(b)));
    values.dedup();
    let place = |group| values.iter().position(|value| *value == names.raw(group, fact));
    (0..names.groups.len()).map(|group| place(group).unwrap_or(0)).collect()
}

/// A text cut into words and numbers: `6.12.1` comes after `6.8.0`.
fn pieces(text: &str) -> Vec<Result<u64, &str>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let digits = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push(if digits { piece.parse().map_err(|_| piece) } else { Err(piece) });
        rest = after;
    }
    pieces
}

/// A choice for each fact that hosts are grouped by.
pub(crate) fn choices(names: Names) -> Vec<Choice> {
    let of = |fact: usize| {
        let ranks = ranks(names, fact);
        let mut values: Vec<(String, Vec<usize>)> = Vec::new();
        for rank in 0..ranks.len() {
            let groups: Vec<usize> = (0..ranks.len()).filter(|at| ranks[*at] == rank).collect();
            if let Some(first) = groups.first() {
                values.push((names.values(*first)[fact].clone(), groups));
            }
        }
        Choice { name: escape(&names.by[fact], MOST), values }
    };
    (0..names.by.len()).map(of).collect()
}

fn costs(page: &mut Page, fleet: &Fleet) {
    section(page, "by-group", "Costs by path and group");
    let names = Names::of_fleet(fleet);
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
    for (end, rows) in &ends {
        let grid = tables::costs_of(fleet, rows);
        let behind = |row: usize, column: usize| {
            let Some(of) = rows.get(row) else { return Behind::default() };
            if column == tables::cost_column(fleet) {
                return Behind { cost: Some(cost(fleet, of)), ..Behind::default() };
            }
            let rank = column.checked_sub(1).and_then(|fact| ranks.get(fact));
            let sort = rank.and_then(|ranks| ranks.get(of.group)).map(|rank| *rank as f64);
            Behind { sort, ..Behind::default() }
        };
        let group = |row: usize| rows.get(row).map(|row| row.group);
        let keys = 1 + fleet.by.len();
        of_groups(page, tables::caption(*end), keys, &grid, &behind, &group);
    }
    page.out.raw("</section>\n");
}

/// The costs of an end.
fn chart(page: &mut Page, fleet: &Fleet, end: End, rows: &[&Row]) {
    let names = Names::of_fleet(fleet);
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
        let of = |label: &String| dots::Row {
            label: cell(label),
            lanes: rows.iter().filter(|row| row.label == *label).map(|row| lane(&row)).collect(),
        };
        (labels.iter().map(of).collect(), groups)
    } else {
        let of = |(group, name): (usize, &String)| dots::Row {
            label: name.clone(),
            lanes: rows.iter().filter(|row| row.group == group).map(|row| lane(&row)).collect(),
        };
        let all = groups.iter().enumerate().map(of).filter(|row| !row.lanes.is_empty());
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
        title: format!("What each path costs {}, us/MB", the(end)),
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

/// A table of the first rows, and a sentence that says how many more there are of `all`.
fn capped(page: &mut Page, caption: &str, keys: usize, grid: &Grid, all: usize) {
    of_groups(page, caption, keys, grid, &|_, _| Behind::default(), &|_| None);
    more(page, all.saturating_sub(grid.rows.len()));
}

fn more(page: &mut Page, more: usize) {
    if more > 0 {
        page.out.element("p", &[], &format!("And {more} more, which are in the JSON.")).raw("\n");
    }
}

/// A q value.
fn sureness(q_value: f64) -> String {
    if q_value < 1e-4 { "<0.0001".to_owned() } else { trimmed(&significant(q_value)).to_owned() }
}

fn odd(page: &mut Page, fleet: &Fleet) {
    section(page, "odd", "Odd hosts and pairs");
    let found = words::odd(fleet);
    let none = |page: &mut Page, label: &str| {
        let text = found.iter().find(|note| note.label == label).map(|note| note.text.as_str());
        let sentence = format!("{}.", words::capital(text.unwrap_or_default()));
        page.out.element("p", &[], &sentence).raw("\n");
    };
    let names = Names::of_fleet(fleet);
    if fleet.odd_hosts.is_empty() {
        none(page, "odd hosts");
    } else {
        let mut columns = vec![Column::left("host", "")];
        columns.extend(names.columns());
        columns.extend([
            Column::left("as", ""),
            Column::right("runs", ""),
            Column::right("times", "its group"),
            Column::left("most in", ""),
            Column::right("q", ""),
        ]);
        let mut rows = fleet.odd_hosts.iter().take(ROWS).map(|host| {
            let mut row = vec![escape(&host.host, LONG)];
            row.extend(names.values(host.group));
            row.extend([
                end_name(host.end).to_owned(),
                host.runs.to_string(),
                times(host.by, host.low, host.high),
                words::most(host).unwrap_or_default(),
                sureness(host.q_value),
            ]);
            row
        });
        let grid = Grid::new(columns, lines(&mut rows));
        let caption = format!(
            "Hosts whose costs are unlike those of their group: {} of {}, the surest first, with \
             {} intervals",
            words::odd_hosts(fleet),
            fleet.hosts_examined,
            percent_of(fleet.confidence)
        );
        capped(page, &caption, 1, &grid, fleet.odd_hosts.len());
    }
    if fleet.odd_pairs.is_empty() {
        none(page, "odd pairs");
    } else {
        let columns = vec![
            Column::left("from", ""),
            Column::left("to", ""),
            Column::right("runs", ""),
            Column::right("times what", "its hosts predict"),
            Column::right("other", "direction"),
            Column::right("q", ""),
        ];
        let mut rows = fleet.odd_pairs.iter().take(ROWS).map(|pair| {
            vec![
                escape(&pair.near, LONG),
                escape(&pair.far, LONG),
                pair.runs.to_string(),
                times(pair.by, pair.low, pair.high),
                pair.other_direction.map_or_else(|| "-".to_owned(), |by| format!("{by:.2}")),
                sureness(pair.q_value),
            ]
        });
        let grid = Grid::new(columns, lines(&mut rows));
        let caption = format!(
            "Pairs whose costs their hosts do not predict, because of a wire or a direction: {} of \
             {}, the surest first",
            fleet.odd_pairs.len(),
            fleet.pairs_examined
        );
        capped(page, &caption, 2, &grid, fleet.odd_pairs.len());
    }
    if !fleet.odd_hosts.is_empty() || !fleet.odd_pairs.is_empty() {
        let q = format!(
            "Called odd are those with q up to {}: the share of false discoveries that is expected \
             among one and all that are surer.",
            percent_of(fleet.false_discovery_rate)
        );
        page.out.element("p", &[], &q).raw("\n");
    }
    page.out.raw("</section>\n");
}

fn conditions(page: &mut Page, fleet: &Fleet) {
    section(page, "conditions", "Conditions");
    if fleet.conditions.is_empty() {
        let found = words::odd(fleet);
        let none = found.iter().find(|note| note.label == "conditions");
        let sentence = none.map(|note| format!("{}.", words::capital(&note.text)));
        page.out.element("p", &[], &sentence.unwrap_or_default()).raw("\n");
    } else {
        let columns = vec![
            Column::left("fact", ""),
            Column::left("value", ""),
            Column::left("as", ""),
            Column::right("hosts", ""),
            Column::right("times", "the first"),
            Column::right("explains", ""),
            Column::right("q", ""),
            Column::left("same hosts", "differ in"),
        ];
        let rows = lines(&mut fleet.conditions.iter().take(ROWS).flat_map(condition));
        let caption = format!(
            "Facts that hosts of a group differ in and that correlate with their costs: {} of {}, \
             the surest first. Times the first: cost divided by that of hosts with the fact's first \
             value. Explains: share of the variance between hosts of a group",
            words::facts(fleet),
            fleet.conditions_examined
        );
        of_groups(page, &caption, 2, &Grid::new(columns, rows), &|_, _| Behind::default(), &|_| {
            None
        });
        more(page, fleet.conditions.len().saturating_sub(ROWS));
    }
    page.out.raw("</section>\n");
}

/// A row for each value of a fact.
fn condition(condition: &Condition) -> Vec<Vec<String>> {
    let mut same = condition.same_as.iter().map(|fact| escape(fact, LONG));
    let same = some(&mut same, condition.same_as.len(), 3);
    let row = |value: &zc_analysis::fleet::ConditionValue| {
        let by = match (value.by, value.low, value.high) {
            (Some(by), Some(low), Some(high)) => times(by, low, high),
            (Some(by), ..) => format!("{by:.2}"),
            _ => "-".to_owned(),
        };
        vec![
            escape(&condition.fact, LONG),
            escape(&value.value, LONG),
            end_name(condition.end).to_owned(),
            value.hosts.to_string(),
            by,
            percent(condition.explains),
            sureness(condition.q_value),
            same.clone(),
        ]
    };
    lines(&mut condition.values.iter().take(VALUES).map(row))
}

fn absent(page: &mut Page, fleet: &Fleet, missing: &[Missing]) {
    let notes = words::absent(fleet, missing);
    if notes.is_empty() {
        return;
    }
    section(page, "missing", "Missing and left out");
    for (label, title) in [
        ("missing", "Planned measurements without a run"),
        ("left out", "Runs that are not in the figures"),
    ] {
        let of = |note: &&Note| note.label == label;
        let sentences = strings(&mut notes.iter().filter(of).map(|note| note.text.clone()));
        if !sentences.is_empty() {
            page.out.element("h3", &[], title).raw("\n");
            list(page, &sentences);
        }
    }
    page.out.raw("</section>\n");
}

fn method(page: &mut Page, fleet: &Fleet) {
    section(page, "method", "Method");
    let confidence = percent_of(fleet.confidence);
    let rate = percent_of(fleet.false_discovery_rate);
    let paragraphs = [
        format!(
            "Each run measures the CPU time of a pair of hosts. The logarithms of its costs are the \
             data of a model with random effects: the host whose cost it is, the host at the other \
             end, the session, and the error of the run by its own blocks. Variances are estimated \
             by REML over all groups together. The cost of a group is the mean over its hosts, with \
             a {confidence} interval by Hartung and Knapp; \u{201c}one more host\u{201d} is where \
             another host of the group lies in another session, with a probability of {confidence}. \
             Ratios are taken within runs, so that what slows down a whole host cancels."
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
    units::about(page);
    page.out.raw("</section>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_sorted_as_numbers() {
        let mut values = ["6.12.1", "6.8.0", "6.8.0-45", "10", "9", "gen2", "gen10", ""];
        values.sort_by_key(|value| pieces(value));
        assert_eq!(values, ["", "6.8.0", "6.8.0-45", "6.12.1", "9", "10", "gen2", "gen10"]);
    }
}
