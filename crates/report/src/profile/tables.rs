//! The tables of a profile: columns per path, and the difference where there are two.

use crate::digits::{percent, significant, with_half_width};
use crate::terminal::part::Part as Piece;
use crate::terminal::table::{Column, Grid};
use crate::text::shown;
use zc_analysis::Figure;
use zc_analysis::profile::{
    CellProfile, Class, Context, Difference, Part, ProfileEstimates, difference,
};
use zc_run::Run;

/// Classes below this share of every path are named in the caption and have no row.
const SMALL: f64 = 0.0005;

/// The cells that are shown: sampled, and not the control.
pub(crate) fn cells(profile: &ProfileEstimates) -> impl Iterator<Item = &CellProfile> {
    profile.cells.iter().filter(|cell| !cell.control && cell.blocks > 0)
}

/// The difference of the only two paths.
pub(super) fn only_difference(run: &Run, profile: &ProfileEstimates) -> Option<Difference> {
    let labels: Vec<&str> = cells(profile).map(|cell| cell.label.as_str()).collect();
    let [first, second] = labels[..] else { return None };
    difference((run, first), (run, second))
}

/// The cost by class, the largest first.
pub(super) fn classes(profile: &ProfileEstimates, between: Option<&Difference>) -> Piece {
    let largest = |class: Class| {
        cells(profile)
            .filter_map(|cell| cell.class(class).ns_per_kib)
            .map(|cost| cost.value)
            .fold(0.0, f64::max)
    };
    let (mut shown, small): (Vec<Class>, Vec<Class>) = Class::ALL
        .into_iter()
        .partition(|class| cells(profile).any(|cell| cell.class(*class).share.abs() >= SMALL));
    shown.sort_by(|a, b| largest(*b).total_cmp(&largest(*a)));
    let mut grid = Grid::new(columns(profile, "class", between), Vec::new());
    for class in shown {
        let parts = cells(profile).map(|cell| cell.class(class)).collect();
        let more =
            between.and_then(|between| between.classes.iter().find(|each| each.what == class));
        grid.rows.push(row(
            class.name(),
            parts,
            is_wide(profile),
            between.map(|_| more.map(|more| more.difference)),
        ));
    }
    grid.rows.push(all(profile, between));
    let names: Vec<&str> = small.into_iter().map(Class::name).collect();
    let none = if names.is_empty() {
        String::new()
    } else {
        format!("; negligible: {}", names.join(", "))
    };
    Piece::Table { caption: format!("What the CPU time goes to{none}"), keys: 1, grid }
}

/// The cost by context, and the part that getrusage covers.
pub(super) fn contexts(profile: &ProfileEstimates, between: Option<&Difference>) -> Piece {
    let part = |cell: &CellProfile, context: Context| {
        cell.contexts
            .iter()
            .find(|each| each.context == context)
            .map_or_else(Part::default, |each| each.part)
    };
    let mut grid = Grid::new(columns(profile, "context", between), Vec::new());
    for context in Context::ALL {
        if cells(profile).any(|cell| part(cell, context).share.abs() >= SMALL) {
            let more = between
                .and_then(|between| between.contexts.iter().find(|each| each.what == context));
            let parts = cells(profile).map(|cell| part(cell, context)).collect();
            grid.rows.push(row(
                context.name(),
                parts,
                is_wide(profile),
                between.map(|_| more.map(|more| more.difference)),
            ));
        }
    }
    grid.rows.push(all(profile, between));
    let own = cells(profile).map(|cell| cell.own).collect();
    grid.rows.push(row(
        "of it on the threads' own time",
        own,
        is_wide(profile),
        between.map(|_| None),
    ));
    let mut row = vec!["of it in getrusage".to_owned()];
    for cell in cells(profile) {
        let (share, cost) = cell
            .getrusage_by_soaked
            .zip(cell.cost_ns_per_kib)
            .map_or_else(Default::default, |(share, cost)| {
                (format!("{:.1} %", share * 100.0), significant(cost.value * share))
            });
        if is_wide(profile) {
            row.extend([share, cost]);
        } else {
            row.push(format!("{cost} ({share})"));
        }
    }
    row.extend(between.map(|_| String::new()));
    grid.rows.push(row);
    Piece::Table { caption: "In which context it is spent".to_owned(), keys: 1, grid }
}

/// The functions with the largest self cost.
pub(super) fn functions(profile: &ProfileEstimates) -> Vec<Piece> {
    let most = |cell: &CellProfile| {
        let each = cell.functions.iter().take(5);
        let each = each.map(|function| {
            let half = half_width(&function.part)
                .map_or_else(String::new, |half| format!(" ±{}", percent(half)));
            format!("{} {}{half}", shown(&function.function), percent(function.part.share))
        });
        format!("{}: {}", shown(&cell.label), each.collect::<Vec<_>>().join(", "))
    };
    let lines: Vec<String> =
        cells(profile).filter(|cell| !cell.functions.is_empty()).map(most).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let mut sentences = vec!["The functions with the largest self cost".to_owned()];
    sentences.extend(lines);
    vec![Piece::Text(sentences)]
}

/// Whether shares have columns of their own, with intervals: with up to two paths.
fn is_wide(profile: &ProfileEstimates) -> bool {
    cells(profile).count() <= 2
}

fn columns(profile: &ProfileEstimates, what: &str, between: Option<&Difference>) -> Vec<Column> {
    let mut columns = vec![Column::left(what, "")];
    for cell in cells(profile) {
        if is_wide(profile) {
            columns.push(Column::right(shown(&cell.label), "share"));
            columns.push(Column::right("", "ns/KiB"));
        } else {
            columns.push(Column::right(shown(&cell.label), "ns/KiB (share)"));
        }
    }
    columns.extend(between.map(|_| Column::right("difference", "ns/KiB")));
    columns
}

fn row(
    name: &str,
    parts: Vec<Part>,
    wide: bool,
    difference: Option<Option<Figure>>,
) -> Vec<String> {
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

/// The sum of all parts: the cost in the table of paths.
fn all(profile: &ProfileEstimates, between: Option<&Difference>) -> Vec<String> {
    let mut row = vec!["all".to_owned()];
    for cell in cells(profile) {
        if is_wide(profile) {
            row.push("100 %".to_owned());
        }
        row.push(cell.cost_ns_per_kib.map_or_else(String::new, |cost| figure(&cost)));
    }
    row.extend(between.map(|between| between.all.as_ref().map_or_else(String::new, signed)));
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

/// Zero without a sign for values that round to it.
fn positive_zero(value: f64, least: f64) -> f64 {
    if value.abs() < least { 0.0 } else { value }
}

/// A cost; 0 where no sample was found.
fn figure(cost: &Figure) -> String {
    match cost.half_width {
        Some(half) if half < 0.05 && cost.value.abs() < 0.05 => "0".to_owned(),
        half => with_half_width(cost.value, half),
    }
}

/// The larger distance of an interval's ends from its share.
fn half_width(part: &Part) -> Option<f64> {
    let interval = part.interval?;
    Some((interval.high? - part.share).max(part.share - interval.low))
}

/// A difference with its sign.
pub(super) fn signed(difference: &Figure) -> String {
    let text = figure(difference);
    if difference.value > 0.0 && text != "0" { format!("+{text}") } else { text }
}
