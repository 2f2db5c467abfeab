//! The tables of a profile: a column pair to a path, and with two paths what the one spends more than the other.

use super::super::block::Part as Piece;
use super::super::digits::{percent, significant, with_half_width};
use super::super::grid::{Column, Grid};
use super::super::text::shown;
use zc_analysis::Figure;
use zc_analysis::profile::{CellProfile, Class, Context, Difference, Part, ProfileEstimates, difference};
use zc_run::Run;

/// What is less than this share of every path is named below the table and has no row.
const SMALL: f64 = 0.0005;

/// The cells that are shown: sampled, and not the control.
pub(crate) fn cells(profile: &ProfileEstimates) -> impl Iterator<Item = &CellProfile> {
    profile.cells.iter().filter(|cell| !cell.control && cell.blocks > 0)
}

/// The difference of the only two paths.
pub(super) fn beside(run: &Run, profile: &ProfileEstimates) -> Option<Difference> {
    let labels: Vec<&str> = cells(profile).map(|cell| cell.label.as_str()).collect();
    let [first, second] = labels[..] else { return None };
    difference((run, first), (run, second))
}

/// What each class costs, the largest first.
pub(super) fn classes(profile: &ProfileEstimates, beside: Option<&Difference>) -> Piece {
    let largest = |class: Class| {
        cells(profile).filter_map(|cell| cell.class(class).ns_per_kib).map(|cost| cost.value).fold(0.0, f64::max)
    };
    let (mut shown, small): (Vec<Class>, Vec<Class>) =
        Class::ALL.into_iter().partition(|class| cells(profile).any(|cell| cell.class(*class).share.abs() >= SMALL));
    shown.sort_by(|a, b| largest(*b).total_cmp(&largest(*a)));
    let mut grid = Grid::new(columns(profile, "class", beside), Vec::new());
    for class in shown {
        let parts = cells(profile).map(|cell| cell.class(class)).collect();
        let more = beside.and_then(|beside| beside.classes.iter().find(|each| each.what == class));
        grid.rows.push(row(class.name(), parts, is_wide(profile), beside.map(|_| more.map(|more| more.difference))));
    }
    grid.rows.push(all(profile, beside));
    let names: Vec<&str> = small.into_iter().map(Class::name).collect();
    let none = if names.is_empty() { String::new() } else { format!("; next to nothing: {}", names.join(", ")) };
    Piece::Table { caption: format!("What the CPU time goes to{none}"), keys: 1, grid }
}

/// What each context costs, and what getrusage is able to see of it.
pub(super) fn contexts(profile: &ProfileEstimates, beside: Option<&Difference>) -> Piece {
    let part = |cell: &CellProfile, context: Context| {
        cell.contexts.iter().find(|each| each.context == context).map_or_else(Part::default, |each| each.part)
    };
    let mut grid = Grid::new(columns(profile, "context", beside), Vec::new());
    for context in Context::ALL {
        if cells(profile).any(|cell| part(cell, context).share.abs() >= SMALL) {
            let more = beside.and_then(|beside| beside.contexts.iter().find(|each| each.what == context));
            let parts = cells(profile).map(|cell| part(cell, context)).collect();
            grid.rows.push(row(
                context.name(),
                parts,
                is_wide(profile),
                beside.map(|_| more.map(|more| more.difference)),
            ));
        }
    }
    grid.rows.push(all(profile, beside));
    let own = cells(profile).map(|cell| cell.own).collect();
    grid.rows.push(row("of it on the threads' own time", own, is_wide(profile), beside.map(|_| None)));
    let mut said = vec!["of it in getrusage".to_owned()];
    for cell in cells(profile) {
        let (share, cost) =
            cell.getrusage_by_soaked.zip(cell.cost_ns_per_kib).map_or_else(Default::default, |(share, cost)| {
                (format!("{:.1} %", share * 100.0), significant(cost.value * share))
            });
        if is_wide(profile) {
            said.extend([share, cost]);
        } else {
            said.push(format!("{cost} ({share})"));
        }
    }
    said.extend(beside.map(|_| String::new()));
    grid.rows.push(said);
    Piece::Table { caption: "In whose context it is spent".to_owned(), keys: 1, grid }
}

/// The functions that cost most by themselves.
pub(super) fn functions(profile: &ProfileEstimates) -> Vec<Piece> {
    let most = |cell: &CellProfile| {
        let each = cell.functions.iter().take(5);
        let each = each.map(|function| {
            let half = half_width(&function.part).map_or_else(String::new, |half| format!(" ±{}", percent(half)));
            format!("{} {}{half}", shown(&function.function), percent(function.part.share))
        });
        format!("{}: {}", shown(&cell.label), each.collect::<Vec<_>>().join(", "))
    };
    let lines: Vec<String> = cells(profile).filter(|cell| !cell.functions.is_empty()).map(most).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let mut sentences = vec!["The functions that cost most by themselves".to_owned()];
    sentences.extend(lines);
    vec![Piece::Text(sentences)]
}

/// Up to two paths have their shares in a column of their own, with intervals; of more each has one column.
fn is_wide(profile: &ProfileEstimates) -> bool {
    cells(profile).count() <= 2
}

fn columns(profile: &ProfileEstimates, what: &str, beside: Option<&Difference>) -> Vec<Column> {
    let mut columns = vec![Column::left(what, "")];
    for cell in cells(profile) {
        if is_wide(profile) {
            columns.push(Column::right(shown(&cell.label), "share"));
            columns.push(Column::right("", "ns/KiB"));
        } else {
            columns.push(Column::right(shown(&cell.label), "ns/KiB (share)"));
        }
    }
    columns.extend(beside.map(|_| Column::right("difference", "ns/KiB")));
    columns
}

fn row(name: &str, parts: Vec<Part>, wide: bool, difference: Option<Option<Figure>>) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    for part in parts {
        let cost = part.ns_per_kib.map_or_else(String::new, |cost| figure(&cost));
        if wide {
            row.push(share(&part));
            row.push(cost);
        } else {
            row.push(format!("{cost} ({:.0} %)", positive_zero(part.share * 100.0, 0.5)));
        }
    }
    if let Some(difference) = difference {
        row.push(difference.map_or_else(String::new, |figure| signed(&figure)));
    }
    row
}

/// The sum of all parts: what the table of paths has.
fn all(profile: &ProfileEstimates, beside: Option<&Difference>) -> Vec<String> {
    let mut row = vec!["all".to_owned()];
    for cell in cells(profile) {
        if is_wide(profile) {
            row.push("100 %".to_owned());
        }
        row.push(cell.cost_ns_per_kib.map_or_else(String::new, |cost| figure(&cost)));
    }
    row.extend(beside.map(|beside| beside.all.as_ref().map_or_else(String::new, signed)));
    row
}

/// `34.1 ±0.8 %`.
fn share(part: &Part) -> String {
    let percent = part.share * 100.0;
    match half_width(part).map(|half| half * 100.0) {
        Some(half) if half >= 9.95 => format!("{:.0} ±{half:.0} %", positive_zero(percent, 0.5)),
        Some(half) => format!("{:.1} ±{half:.1} %", positive_zero(percent, 0.05)),
        None => format!("{:.1} %", positive_zero(percent, 0.05)),
    }
}

/// What rounds to nothing has no sign.
fn positive_zero(value: f64, least: f64) -> f64 {
    if value.abs() < least { 0.0 } else { value }
}

/// A cost; one of which nothing was found is 0.
fn figure(cost: &Figure) -> String {
    match cost.half_width {
        Some(half) if half < 0.05 && cost.value.abs() < 0.05 => "0".to_owned(),
        half => with_half_width(cost.value, half),
    }
}

/// The larger distance of the ends of a share's interval from it.
fn half_width(part: &Part) -> Option<f64> {
    let interval = part.interval?;
    Some((interval.high? - part.share).max(part.share - interval.low))
}

/// With its sign.
pub(super) fn signed(difference: &Figure) -> String {
    let text = figure(difference);
    if difference.value > 0.0 && text != "0" { format!("+{text}") } else { text }
}
