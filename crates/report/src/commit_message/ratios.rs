//! The ratios of a commit message: the most telling cells, a line for each.

use std::cmp::Ordering;

use super::lines::{ROOM, cut, plain};
use crate::digits::bound;
use zc_analysis::compare::ChangeVerdict;

/// How much a cell tells. Differences come first, the largest before the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tells {
    Difference,
    /// One of a zero-copy path that the kernel copied, which tells nothing about other links.
    Copied,
    Same,
    Undecided,
    /// A cost without a ratio.
    Cost,
}

/// A cell.
pub(super) struct Row {
    pub(super) tells: Tells,
    /// ASCII, as are all texts here.
    pub(super) name: String,
    pub(super) cost: String,
    /// Ratio, and the ends of its interval.
    pub(super) ratio: Option<Ratio>,
    pub(super) verdict: String,
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ratio {
    pub(super) value: f64,
    /// `None`: no interval.
    pub(super) low: Option<f64>,
    /// `None`: no interval, or no upper end.
    pub(super) high: Option<f64>,
}

impl Ratio {
    /// `0.578 (0.565 to 0.591)`.
    pub(super) fn text(self) -> String {
        let Some(low) = self.low else { return format!("{:.2}", self.value) };
        let below = self.value - low;
        let half = self.high.map_or(below, |high| below.max(high - self.value));
        let high = self.high.map_or_else(|| "no bound".to_owned(), |high| bound(high, half));
        format!("{} ({} to {high})", bound(self.value, half), bound(low, half))
    }

    /// Its distance from 1, the same for a ratio and its inverse.
    fn distance(self) -> f64 {
        if self.value > 0.0 { self.value.ln().abs() } else { f64::INFINITY }
    }
}

impl Row {
    /// A cell of a comparison: its costs before and after, and its verdict in words.
    pub(super) fn of_change(
        label: &str,
        costs: Option<(String, String)>,
        ratio: Option<Ratio>,
        verdict: ChangeVerdict,
        word: String,
    ) -> Self {
        let tells = match verdict {
            _ if ratio.is_none() => Tells::Cost,
            ChangeVerdict::Better { .. } | ChangeVerdict::Worse { .. } => Tells::Difference,
            ChangeVerdict::Same { .. } => Tells::Same,
            ChangeVerdict::Undecided | ChangeVerdict::Withheld => Tells::Undecided,
        };
        let cost = costs.map_or_else(String::new, |(old, new)| format!("{old} -> {new}"));
        let verdict = match verdict {
            ChangeVerdict::Same { .. } => "same".to_owned(),
            _ => word,
        };
        Self { tells, name: plain(label), cost, ratio, verdict }
    }

    /// The same of a zero-copy path that the kernel copied.
    pub(super) fn copied(mut self) -> Self {
        if self.tells == Tells::Difference {
            self.tells = Tells::Copied;
        }
        self.verdict.push_str(", copied");
        self
    }

    fn distance(&self) -> f64 {
        self.ratio.map_or(0.0, Ratio::distance)
    }
}

/// A name is not cut to fewer columns than this.
const SHORTEST_NAME: usize = 16;

/// At most so many lines: the rows that tell most, and what the others are. Of equal ones the first
/// come first.
pub(super) fn lines(mut rows: Vec<Row>, most: usize) -> Vec<String> {
    let order = |a: &Row, b: &Row| -> Ordering {
        a.tells.cmp(&b.tells).then_with(|| b.distance().total_cmp(&a.distance()))
    };
    rows.sort_by(order);
    let shown = if rows.len() <= most { rows.len() } else { most.saturating_sub(1) };
    let others = rows.split_off(shown);
    let mut lines = aligned(&rows);
    if !others.is_empty() {
        lines.push(in_short(&others));
    }
    lines
}

/// `and 12 more, 0.70 to 1.05`.
fn in_short(rows: &[Row]) -> String {
    let ratios = || rows.iter().filter_map(|row| row.ratio).map(|ratio| ratio.value);
    let (least, most) = (ratios().reduce(f64::min), ratios().reduce(f64::max));
    let range = match least.zip(most) {
        Some((least, most)) => format!(", {least:.2} to {most:.2}"),
        None => String::new(),
    };
    format!("and {} more{range}", rows.len())
}

/// The rows in columns. Where names have no room beside the costs, these are left out.
fn aligned(rows: &[Row]) -> Vec<String> {
    let ratios: Vec<String> =
        rows.iter().map(|row| row.ratio.map_or_else(String::new, Ratio::text)).collect();
    let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(str::len).max().unwrap_or(0);
    let of_names = widest(&mut rows.iter().map(|row| row.name.as_str()));
    let of_costs = widest(&mut rows.iter().map(|row| row.cost.as_str()));
    let of_ratios = widest(&mut ratios.iter().map(String::as_str));
    let of_verdicts = widest(&mut rows.iter().map(|row| row.verdict.as_str()));
    let behind: usize =
        [of_ratios, of_verdicts].iter().filter(|width| **width > 0).map(|width| width + 2).sum();
    let has_ratios = of_ratios > 0;
    let with_costs = !has_ratios || of_names + 2 + of_costs + behind <= ROOM;
    let room = ROOM - behind.min(ROOM) - if with_costs { of_costs + 2 } else { 0 };
    let of_names = of_names.min(room.max(SHORTEST_NAME));
    let line = |(row, ratio): (&Row, &String)| {
        let mut line = format!("{:<of_names$}", cut(&row.name, of_names));
        if with_costs {
            line.push_str(&format!("  {:>of_costs$}", row.cost));
        }
        if has_ratios {
            line.push_str(&format!("  {ratio:<of_ratios$}"));
        }
        line.push_str("  ");
        line.push_str(&row.verdict);
        line.trim_end().to_owned()
    };
    rows.iter().zip(&ratios).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, tells: Tells, value: f64) -> Row {
        let ratio = Some(Ratio { value, low: Some(value * 0.98), high: Some(value * 1.02) });
        let verdict = "it".to_owned();
        Row { tells, name: name.to_owned(), cost: "293 +-10".to_owned(), ratio, verdict }
    }

    #[test]
    fn differences_come_first_by_their_size_and_the_others_are_counted() {
        let rows = vec![
            row("same", Tells::Same, 1.001),
            row("more", Tells::Difference, 1.2),
            row("unknown", Tells::Undecided, 3.0),
            row("half", Tells::Difference, 0.5),
            row("copied", Tells::Copied, 9.0),
        ];
        let lines = lines(rows, 3);
        assert_eq!(
            lines,
            [
                "half  293 +-10  0.500 (0.490 to 0.510)  it",
                "more  293 +-10  1.20 (1.18 to 1.22)     it",
                "and 3 more, 1.00 to 9.00",
            ]
        );
    }

    #[test]
    fn long_names_take_the_room_of_the_costs_and_are_cut_where_that_is_not_enough() {
        let long = lines(vec![row(&"n".repeat(40), Tells::Same, 1.0)], 4);
        assert!(long[0].starts_with(&"n".repeat(40)) && !long[0].contains("293"), "{long:?}");
        let longer = lines(vec![row(&"n".repeat(90), Tells::Same, 1.0)], 4);
        assert!(longer[0].len() <= ROOM && longer[0].contains("nn ...  1.00"), "{longer:?}");
    }

    #[test]
    fn a_ratio_says_what_its_interval_lacks() {
        let ratio = |low, high| Ratio { value: 1.234, low, high }.text();
        assert_eq!(ratio(Some(1.21), Some(1.26)), "1.23 (1.21 to 1.26)");
        assert_eq!(ratio(Some(1.21), None), "1.23 (1.21 to no bound)");
        assert_eq!(ratio(None, None), "1.23");
    }
}
