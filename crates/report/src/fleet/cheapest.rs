//! The path that costs least in each group, and whether groups differ in that. Two paths of a group
//! cannot be distinguished where their intervals overlap.

use super::names::{Names, abbreviated_list, cell, end_with_article, strings, unique};
use crate::digits::{bound, with_half_width};
use crate::text::ordered;
use zc_analysis::fleet::{End, Fleet, Row};

/// At most this many sets of cheapest paths are named in a sentence.
const SETS: usize = 8;
/// At most this many paths are named that cannot be distinguished.
const TIED: usize = 5;
/// If there are more groups than this, the range of their costs is given.
const NAMED: usize = 4;

/// The end whose costs are compared: the sender where it is apart.
fn compared_end(fleet: &Fleet) -> End {
    let sender = fleet.rows.iter().any(|row| row.end == End::Sender);
    if sender { End::Sender } else { End::Both }
}

/// A value with its interval.
#[derive(Clone, Copy)]
struct Span {
    value: f64,
    ends: Option<(f64, f64)>,
}

/// The paths of a group that may be the cheapest: the one that costs least, and those whose
/// intervals overlap with its own.
struct Cheapest<'a> {
    group: usize,
    /// Each with its cost, divided by that of the reference where `relative`.
    paths: Vec<(&'a Row, Span)>,
    relative: bool,
}

impl Cheapest<'_> {
    fn labels(&self) -> Vec<&str> {
        self.paths.iter().map(|(row, _)| row.label.as_str()).collect()
    }

    fn span(&self, label: &str) -> Option<Span> {
        self.paths.iter().find(|(row, _)| row.label == label).map(|(_, span)| *span)
    }

    /// Cost of a path in the group.
    fn figure(&self, label: &str) -> String {
        let Some(span) = self.span(label) else { return String::new() };
        let half = span.ends.map(|(low, high)| (high - low) / 2.0);
        match (self.relative, half) {
            (true, half) => bound(span.value, half.unwrap_or(0.01)),
            (false, half) => format!("{} us/MB", with_half_width(span.value, half)),
        }
    }
}

fn cheapest_of(fleet: &Fleet, group: usize, end: End, relative: bool) -> Option<Cheapest<'_>> {
    let rows = fleet.rows.iter().filter(|row| row.group == group && row.end == end);
    let span = |row: &Row| match row.ratio.filter(|_| relative) {
        None if relative => Span { value: 1.0, ends: Some((1.0, 1.0)) },
        mean => {
            let mean = mean.unwrap_or(row.us_per_mb);
            Span { value: mean.value, ends: mean.low.zip(mean.high) }
        }
    };
    let paths: Vec<(&Row, Span)> = rows.map(|row| (row, span(row))).collect();
    let mut paths = ordered(&paths, &|(_, a), (_, b)| a.value.total_cmp(&b.value));
    let (_, least) = *paths.first()?;
    paths.retain(|(_, other)| match (least.ends, other.ends) {
        (Some((_, high)), Some((low, _))) => other.value <= least.value || low <= high,
        _ => true,
    });
    Some(Cheapest { group, paths, relative })
}

/// Names the path that costs least, and says whether groups differ in that.
pub(super) fn cheapest(fleet: &Fleet) -> String {
    let end = compared_end(fleet);
    // Ratios are within runs, so that what hosts differ in cancels.
    let has_ratio = |row: &Row| row.ratio.is_some() || row.label == fleet.reference;
    let relative = fleet.rows.iter().filter(|row| row.end == end).all(has_ratio);
    let groups: Vec<Cheapest> = (0..fleet.groups.len())
        .filter_map(|group| cheapest_of(fleet, group, end, relative))
        .collect();
    let Some(first) = groups.first() else { return "No path has a cost.".to_owned() };
    // A path that may be the cheapest in every group.
    let common = first
        .labels()
        .into_iter()
        .find(|label| groups.iter().all(|group| group.labels().contains(label)));
    let Some(common) = common else {
        let mut sets: Vec<(Vec<&str>, Vec<&Cheapest>)> = Vec::new();
        for group in &groups {
            match sets.iter_mut().find(|(labels, _)| *labels == group.labels()) {
                Some((_, of)) => of.push(group),
                None => sets.push((group.labels(), vec![group])),
            }
        }
        let all = sets.len();
        let mut times = times_of(fleet, relative);
        let mut each = sets.into_iter().map(|(labels, of)| {
            let names = strings(&mut labels.iter().map(|label| cell(label)));
            // Of several, that of the cheapest: they cannot be distinguished.
            let least = labels.first().copied().unwrap_or_default();
            let (place, costs) = match of.as_slice() {
                [only] => {
                    let name = Names::from_fleet(fleet).group(only.group);
                    (name, only.figure(least) + &times)
                }
                several => {
                    (format!("{} groups", of.len()), costs_in(fleet, least, several, &times))
                }
            };
            times.clear(); // said once
            format!("{} in {place} ({costs})", names.join(" or "))
        });
        let each = abbreviated_list(&mut each, all, SETS);
        return format!(
            "Groups differ in which path costs {} least: {each}.",
            end_with_article(end)
        );
    };
    let tied = unique(
        &mut groups.iter().flat_map(Cheapest::labels).filter(|label| *label != common).map(cell),
    );
    let least = if common == fleet.reference && relative {
        format!("No path was shown to cost {} less than {}", end_with_article(end), cell(common))
    } else {
        let all: Vec<&Cheapest> = groups.iter().collect();
        let times = times_of(fleet, relative);
        let (place, costs) = match all.as_slice() {
            [only] => (String::new(), only.figure(common) + &times),
            several => (
                match several.len() {
                    2 => " in both groups".to_owned(),
                    more => format!(" in all {more} groups"),
                },
                costs_in(fleet, common, several, &times),
            ),
        };
        format!("{} costs {} least{place}: {costs}", cell(common), end_with_article(end))
    };
    let everywhere = groups.iter().all(|group| group.paths.len() > 1);
    let where_tied = if everywhere { "" } else { "in some groups " };
    match tied.len() {
        0 => format!("{least}."),
        all => {
            let tied = abbreviated_list(&mut tied.into_iter(), all, TIED);
            format!("{least}; {where_tied}{tied} cannot be distinguished from it.")
        }
    }
}

/// ` times as much as read+send`; empty where costs are absolute.
fn times_of(fleet: &Fleet, relative: bool) -> String {
    if relative { format!(" times as much as {}", cell(&fleet.reference)) } else { String::new() }
}

/// Costs of a path in several groups: in each, or the range in many. `times` is printed once.
fn costs_in(fleet: &Fleet, label: &str, groups: &[&Cheapest], times: &str) -> String {
    let names = Names::from_fleet(fleet);
    let figure = |group: &Cheapest, times: &str| {
        format!("{}{times} in {}", group.figure(label), names.group(group.group))
    };
    if groups.len() <= NAMED {
        let each = groups.iter().enumerate();
        let mut each =
            each.map(|(place, group)| figure(group, if place == 0 { times } else { "" }));
        return abbreviated_list(&mut each, groups.len(), NAMED);
    }
    let value = |group: &Cheapest| group.span(label).map_or(f64::NAN, |span| span.value);
    let by = |a: &&&Cheapest, b: &&&Cheapest| value(a).total_cmp(&value(b));
    let (Some(least), Some(most)) = (groups.iter().min_by(by), groups.iter().max_by(by)) else {
        return String::new();
    };
    format!("from {} to {}", figure(least, times), figure(most, ""))
}
