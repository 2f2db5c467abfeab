//! The effect of one factor on the cost of each column, with all else as in the first row: the
//! levels that were shown to cost least and most, by the verdicts of the table.

use super::historical::{End, Quotient, quotient_of_costs};
use crate::digits::bound;
use crate::run::baseline::named;
use crate::run::pivot::{Pivot, Placed};
use crate::run::rows::comparison;
use crate::text::list;
use zc_analysis::{Comparison, Estimates, RatioFigure};
use zc_run::Factor;
use zc_run::experiment::Clause;

/// The largest number of columns that are named one by one.
const NAMED: usize = 3;

/// The sentence of these clauses; `None` where none has anything to say.
pub(super) fn sentence(estimates: &Estimates, pivot: &Pivot, clauses: &[Clause]) -> Option<String> {
    let clause = |clause: &Clause| {
        let (text, what) = match clause {
            Clause::Levels(factor, what) => (effect(estimates, pivot, *factor), what),
            Clause::Uncompared(factor, what) => (disjoint_levels(estimates, pivot, *factor), what),
        };
        Some(format!("{what}: {}", text?))
    };
    let each: Vec<String> = clauses.iter().filter_map(clause).collect();
    (!each.is_empty()).then(|| format!("{}.", each.join("; ")))
}

/// A level of the factor in one column, compared with the cell that the plan names for it.
struct Compared<'p> {
    level: &'p str,
    base: &'p str,
    ratio: RatioFigure,
    is: Comparison,
    at_saturation: bool,
}

/// The clauses of the sentence; `None` where nothing was compared.
fn effect(estimates: &Estimates, pivot: &Pivot, factor: Factor) -> Option<String> {
    let place = pivot.keys.iter().position(|key| *key == factor)?;
    let mut at_saturation = false;
    let mut apart: Vec<(f64, String)> = Vec::new();
    let (mut same, mut undecided): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for (column, name) in pivot.columns.iter().enumerate() {
        let cells = levels(pivot, place, column);
        let what = named(pivot.across, name);
        let compared = compared(estimates, &cells);
        match differences(&compared) {
            Some((farthest, text)) => {
                at_saturation |= compared.iter().any(|each| each.at_saturation);
                apart.push((farthest, format!("{what} costs {text}")));
            }
            None if compared.is_empty() => {}
            None if compared.iter().all(|each| matches!(each.is, Comparison::Same { .. })) => {
                same.push(what)
            }
            None => undecided.push(what),
        }
    }
    apart.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let more = apart.len().saturating_sub(NAMED);
    let mut clauses: Vec<String> = apart.into_iter().take(NAMED).map(|(_, text)| text).collect();
    if more > 0 {
        clauses.push(format!("for {more} more the differences are smaller"));
    }
    if !same.is_empty() {
        clauses.push(format!("for {} it makes no difference", list(&same)));
    }
    if !undecided.is_empty() {
        clauses.push(format!("for {} no difference was shown", list(&undecided)));
    }
    if at_saturation {
        clauses.push("what did not reach its rate (^) was compared at saturation".to_owned());
    }
    (!clauses.is_empty()).then(|| clauses.join("; "))
}

/// The cells of a column that differ from its first one in no more than the factor in `place` of
/// the keys, each with its level of that factor.
fn levels<'p>(pivot: &'p Pivot<'p>, place: usize, column: usize) -> Vec<(&'p str, Placed<'p>)> {
    let Some(first) = pivot.rows.first() else { return Vec::new() };
    let alike = |levels: &[String]| {
        let pairs = levels.iter().zip(&first.levels).enumerate();
        pairs.into_iter().all(|(index, (own, other))| index == place || own == other)
    };
    let rows = pivot.rows.iter().filter(|row| alike(&row.levels));
    let cell = |row: &'p crate::run::pivot::Row<'p>| row.cells.get(column).copied().flatten();
    rows.filter_map(|row| Some((row.levels.get(place)?.as_str(), cell(row)?))).collect()
}

/// Cells with a verdict about this factor: compared with one of these cells. None if the cost of
/// one of them is the price of a failed zero-copy.
fn compared<'p>(estimates: &Estimates, cells: &[(&'p str, Placed<'p>)]) -> Vec<Compared<'p>> {
    if cells.iter().any(|(_, placed)| placed.figures.failed_zero_copy) {
        return Vec::new();
    }
    let with_base = |(level, placed): &(&'p str, Placed<'p>)| {
        let cell = placed.figures;
        let by = cell.by.as_deref()?;
        let (base, against) = cells.iter().find(|(_, other)| other.cell.label == by)?;
        let either = [cell, against.figures];
        Some(Compared {
            level,
            base,
            ratio: cell.ratio.both?,
            is: comparison(estimates, cell)?,
            at_saturation: either.iter().any(|cell| cell.perturbation.saturated),
        })
    };
    cells.iter().filter_map(with_base).collect()
}

/// `0.61 times as much at reno and 1.39 times at bbr as at cubic`: the least and the greatest ratio
/// that a verdict stands for, with the logarithm of the one that is farther from 1. `None` without
/// a difference.
fn differences(compared: &[Compared]) -> Option<(f64, String)> {
    let shown = |wanted: fn(&Comparison) -> bool| {
        compared.iter().filter(move |each| wanted(&each.is)).map(|each| (each.ratio.value, each))
    };
    let less = shown(|is| matches!(is, Comparison::Cheaper { .. }));
    let more = shown(|is| matches!(is, Comparison::Dearer { .. }));
    let least = less.min_by(|(a, _), (b, _)| a.total_cmp(b));
    let most = more.max_by(|(a, _), (b, _)| a.total_cmp(b));
    let ends: Vec<_> = least.into_iter().chain(most).collect();
    let times = |(value, each): &(f64, &Compared)| {
        bound(*value, each.ratio.half_width.map_or(0.01, |half| value * half))
    };
    let text = match ends.as_slice() {
        [] => return None,
        [one] => {
            let Compared { level, base, .. } = one.1;
            format!("{} times as much at {level} as at {base}", times(one))
        }
        [one, other, ..] => format!(
            "{} times as much at {} and {} times at {} as at {}",
            times(one),
            one.1.level,
            times(other),
            other.1.level,
            one.1.base
        ),
    };
    let farthest = ends.iter().map(|(value, _)| value.ln().abs()).fold(0.0, f64::max);
    Some((farthest, text))
}

/// The levels of a factor that no cell is compared by: those whose costs have disjoint intervals.
/// `None` where none have.
fn disjoint_levels(estimates: &Estimates, pivot: &Pivot, factor: Factor) -> Option<String> {
    let place = pivot.keys.iter().position(|key| *key == factor)?;
    let each = pivot.columns.iter().enumerate().filter_map(|(column, name)| {
        let cells = levels(pivot, place, column);
        let (base, first) = cells.first()?;
        let cost = |placed: &Placed| End::Both.comparable(estimates, placed.figures);
        let quotients = cells[1..].iter().filter_map(|(level, placed)| {
            match quotient_of_costs(estimates, cost(placed), cost(first)) {
                Quotient::Times(ratio) => Some((ratio, level)),
                Quotient::Indistinct | Quotient::Unknown => None,
            }
        });
        let (ratio, level) =
            quotients.max_by(|(a, _), (b, _)| a.ln().abs().total_cmp(&b.ln().abs()))?;
        let what = named(pivot.across, name);
        Some(format!("{what} costs {ratio:.2} times as much at {level} as at {base}"))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| each.join("; "))
}
