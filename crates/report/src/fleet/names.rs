//! The names of groups, in words and as columns of a table.

use crate::digits::{significant, with_ends, with_half_width};
use crate::terminal::table::Column;
use zc_analysis::fleet::{End, Fleet, Group, Trend};
use zc_run::escape;

/// The longest name of a cell, a fact or one of its values.
pub(crate) const MOST: usize = 40;

/// Features by which hosts are grouped, and the groups.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    pub(crate) by: &'a [String],
    pub(crate) groups: &'a [Group],
}

impl<'a> Names<'a> {
    pub(crate) fn from_fleet(fleet: &'a Fleet) -> Self {
        Self { by: &fleet.by, groups: &fleet.groups }
    }

    pub(crate) fn from_trend(trend: &'a Trend) -> Self {
        Self { by: &trend.by, groups: &trend.groups }
    }

    /// `gen1 / 6.12.1`; `all hosts` where nothing is grouped by.
    pub(crate) fn group(&self, group: usize) -> String {
        let values = self.values(group);
        if values.is_empty() { "all hosts".to_owned() } else { values.join(" / ") }
    }

    /// The values of a group, one for each fact that hosts are grouped by.
    pub(crate) fn values(&self, group: usize) -> Vec<String> {
        strings(&mut (0..self.by.len()).map(|fact| value(self.raw(group, fact))))
    }

    /// The value of a group as it is.
    pub(crate) fn raw(&self, group: usize, fact: usize) -> &'a str {
        let values = self.groups.get(group).map(|group| &group.values);
        values.and_then(|values| values.get(fact)).map_or("", String::as_str)
    }

    /// A column for each fact that hosts are grouped by.
    pub(crate) fn columns(&self) -> Vec<Column> {
        self.by.iter().map(|fact| Column::left(escape(fact, MOST), "")).collect()
    }

    /// ` in 2 groups by generation and kernel`; empty where nothing is grouped by.
    pub(crate) fn grouping(&self) -> String {
        let by = strings(&mut self.by.iter().map(|fact| escape(fact, MOST)));
        match self.groups.len() {
            _ if by.is_empty() => String::new(),
            1 => format!(" in 1 group by {}", crate::text::list(&by)),
            count => format!(" in {count} groups by {}", crate::text::list(&by)),
        }
    }
}

/// A value of a fact; `-` where it is empty.
fn value(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { escape(text, MOST) }
}

pub(crate) fn cell(label: &str) -> String {
    escape(label, MOST)
}

/// An end in one word, as in JSON.
pub(crate) fn end(end: End) -> &'static str {
    match end {
        End::Sender => "sender",
        End::Receiver => "receiver",
        End::Both => "both",
    }
}

/// An end in a sentence.
pub(crate) fn end_with_article(end: End) -> &'static str {
    match end {
        End::Sender => "the sender",
        End::Receiver => "the receiver",
        End::Both => "both ends",
    }
}

/// A cost with the half-width of its interval, or with its ends where these are not about as far
/// from it.
pub(crate) fn plus_minus(value: f64, low: Option<f64>, high: Option<f64>) -> String {
    ends(value, low, high).unwrap_or_else(|| with_half_width(value, half(low, high)))
}

/// `978 (230 to 4090)`, of a wide interval. It is one of logarithms, so half of it may be more than
/// the value, which is above 0.
pub(crate) fn ends(value: f64, low: Option<f64>, high: Option<f64>) -> Option<String> {
    let (low, high) = (low?, high?);
    let half = half(Some(low), Some(high))?;
    is_wide(value, half).then(|| with_ends(value, low, high))
}

/// Whether an interval of a logarithm is so wide that its ends are not about as far from the value.
pub(crate) fn is_wide(value: f64, half: f64) -> bool {
    half > 0.3 * value
}

/// Half of an interval; `None` without one.
pub(crate) fn half(low: Option<f64>, high: Option<f64>) -> Option<f64> {
    Some((high? - low?) / 2.0).filter(|half| half.is_finite())
}

/// `480 to 650`; empty without an interval.
pub(crate) fn range(low: Option<f64>, high: Option<f64>) -> String {
    let (Some(low), Some(high)) = (low, high) else { return String::new() };
    format!("{} to {}", significant(low), significant(high))
}

/// `1.31 (1.22 to 1.41)`.
pub(crate) fn times(by: f64, low: f64, high: f64) -> String {
    let bound = |value| crate::digits::bound(value, (high - low) / 2.0);
    format!("{} ({} to {})", bound(by), bound(low), bound(high))
}

/// `1 run`, `3 runs`.
pub(crate) fn count(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// The texts as a list. Iterators are passed by reference here, so that their consumers are in the
/// binary once.
pub(crate) fn strings(texts: &mut dyn Iterator<Item = String>) -> Vec<String> {
    texts.collect()
}

/// Each text once, in the order of first occurrence.
pub(crate) fn unique(texts: &mut dyn Iterator<Item = String>) -> Vec<String> {
    crate::text::distinct(texts)
}

/// The rows of a table as a list, as [`strings`].
pub(crate) fn lines(rows: &mut dyn Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    rows.collect()
}

/// At most `most` of the names, and the number of further ones; `all` is the number of names.
pub(crate) fn abbreviated_list(
    names: &mut dyn Iterator<Item = String>,
    all: usize,
    most: usize,
) -> String {
    let mut names = strings(&mut names.take(most));
    if all > names.len() {
        let more = format!("{} more", all - names.len());
        names.push(more);
        return crate::text::list(&names);
    }
    names.join(", ")
}
