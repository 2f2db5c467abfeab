//! Whether lines have become dearer by more than a margin.
//!
//! A line with a change is judged by its last one: worse if the whole interval of the last level
//! divided by the one before is above the margin, not worse if it is below. A line without a change
//! is never worse. It is not worse if its second half divided by its first has an interval below
//! the margin; else there are too few nights, or too much scatter, to tell.

use zc_stats::StudentT;

use super::fits::Line;
use super::model::{Group, TrendJudgement};
use crate::interim::CONFIDENCE;

/// Fewest nights whose halves are compared.
const LEAST_NIGHTS: usize = 4;

pub(super) fn judge(margin: f64, lines: &[Line], groups: &[Group]) -> TrendJudgement {
    let (mut worse, mut undecided, mut not_worse) = (Vec::new(), Vec::new(), 0);
    let limit = margin.max(0.0).ln_1p();
    for line in lines {
        let name = || name(line, groups);
        let interval = match line.found.changes.last() {
            Some(change) => Some((change.low, change.high)),
            None => halves(&line.values).map(|(_, high)| (f64::NEG_INFINITY, high)),
        };
        match interval {
            Some((low, _)) if low > limit => worse.push(name()),
            Some((_, high)) if high < limit => not_worse += 1,
            _ => undecided.push(name()),
        }
    }
    TrendJudgement { margin, worse, undecided, not_worse }
}

/// `sendfile, sender, g1 6.12.1`.
fn name(line: &Line, groups: &[Group]) -> String {
    let end = match line.line.end {
        super::model::End::Sender => "sender",
        super::model::End::Receiver => "receiver",
        super::model::End::Both => "both ends",
    };
    let values = groups.get(line.line.group).map(|group| group.values.join(" "));
    match values.filter(|values| !values.is_empty()) {
        Some(values) => format!("{}, {end}, {values}", line.line.label),
        None => format!("{}, {end}", line.line.label),
    }
}

/// The interval of the difference of the means of the second and the first half of a series.
fn halves(values: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = values.len();
    if n < LEAST_NIGHTS {
        return None;
    }
    // Nights scatter by more than their errors, and alike.
    let (first, second) = values.split_at(n / 2);
    let mean =
        |half: &[(f64, f64)]| half.iter().map(|(value, _)| value).sum::<f64>() / half.len() as f64;
    let squares = |half: &[(f64, f64)], mean: f64| {
        half.iter().map(|(value, _)| (value - mean).powi(2)).sum::<f64>()
    };
    let means = (mean(first), mean(second));
    let freedom = (n - 2) as f64;
    let seen = (squares(first, means.0) + squares(second, means.1)) / freedom;
    let errors = values.iter().map(|(_, error)| error.powi(2)).sum::<f64>() / n as f64;
    let variance = seen.max(errors) * (1.0 / first.len() as f64 + 1.0 / second.len() as f64);
    let half = StudentT::new(freedom)?.critical_value(CONFIDENCE)? * variance.sqrt();
    let difference = means.1 - means.0;
    half.is_finite().then_some((difference - half, difference + half))
}
