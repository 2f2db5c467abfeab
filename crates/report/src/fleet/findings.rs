//! The sections of a fleet's page about what was found: odd hosts and pairs, conditions, and what
//! is missing. Long lists are cut, and it is said by how much.

use super::missing::Missing;
use super::names::{Names, abbreviated_list, end as end_name, lines, strings, times};
use super::parts::{list, more, section};
use super::words::{self, percent_of};
use crate::digits::{percent, significant, trimmed};
use crate::html::page::Page;
use crate::html::table::{CellValues, grouped_table};
use crate::terminal::note::Note;
use crate::terminal::table::{Column, Grid};
use zc_analysis::fleet::{Condition, Fleet};
use zc_run::escape;

/// The most rows of a table of what is odd.
const ROWS: usize = 200;
/// The most values of a fact in the table of conditions.
const VALUES: usize = 20;
/// The longest name of a host.
const LONG: usize = 80;

/// A table of the first rows, and a sentence that says how many more there are of `all`.
fn capped(page: &mut Page, caption: &str, keys: usize, grid: &Grid, all: usize) {
    grouped_table(page, caption, keys, grid, &|_, _| CellValues::default(), &|_| None);
    more(page, all.saturating_sub(grid.rows.len()), "JSON");
}

/// A q value.
fn sureness(q_value: f64) -> String {
    if q_value < 1e-4 { "<0.0001".to_owned() } else { trimmed(&significant(q_value)).to_owned() }
}

pub(super) fn odd(page: &mut Page, fleet: &Fleet) {
    section(page, "odd", "Odd hosts and pairs");
    let found = words::odd(fleet);
    let none = |page: &mut Page, label: &str| {
        let text = found.iter().find(|note| note.label == label).map(|note| note.text.as_str());
        let sentence = format!("{}.", words::capital(text.unwrap_or_default()));
        page.out.element("p", &[], &sentence).raw("\n");
    };
    let names = Names::from_fleet(fleet);
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
                words::largest_difference(host).unwrap_or_default(),
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

pub(super) fn conditions(page: &mut Page, fleet: &Fleet) {
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
             the surest first. Times the first: cost divided by that of hosts with the fact's \
             first value. Explains: share of the variance between hosts of a group",
            words::facts(fleet),
            fleet.conditions_examined
        );
        grouped_table(
            page,
            &caption,
            2,
            &Grid::new(columns, rows),
            &|_, _| CellValues::default(),
            &|_| None,
        );
        more(page, fleet.conditions.len().saturating_sub(ROWS), "JSON");
    }
    page.out.raw("</section>\n");
}

/// A row for each value of a fact.
fn condition(condition: &Condition) -> Vec<Vec<String>> {
    let mut same = condition.same_as.iter().map(|fact| escape(fact, LONG));
    let same = abbreviated_list(&mut same, condition.same_as.len(), 3);
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

pub(super) fn missing_runs(page: &mut Page, fleet: &Fleet, missing: &[Missing]) {
    let notes = words::missing_runs(fleet, missing);
    if notes.is_empty() {
        return;
    }
    section(page, "missing", "Missing and left out");
    for (label, title) in [
        ("missing", "Planned measurements without a run"),
        ("left out", "Runs that are not in the figures"),
        ("doubtful", "Runs in the figures whose own verdicts are withheld"),
    ] {
        let has_label = |note: &&Note| note.label == label;
        let sentences = strings(&mut notes.iter().filter(has_label).map(|note| note.text.clone()));
        if !sentences.is_empty() {
            page.out.element("h3", &[], title).raw("\n");
            list(page, &sentences);
        }
    }
    page.out.raw("</section>\n");
}
