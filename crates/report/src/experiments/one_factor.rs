//! The effect of one factor on the cost of each column, with all else as in the first row: the
//! level with the least cost, and the largest quotient to it.

use super::historical::{End, Quotient, quotient};
use super::section::Section;
use crate::baseline::named;
use crate::digits::significant;
use crate::pivot::Pivot;
use crate::text::list;
use zc_analysis::{Estimates, Figure};
use zc_run::Factor;

/// The largest number of columns that are named one by one.
const NAMED: usize = 3;

/// An experiment that adds only this sentence.
pub(super) fn section(estimates: &Estimates, pivot: &Pivot, factor: Factor, what: &str) -> Section {
    Section {
        parts: Vec::new(),
        conclusion: effect(estimates, pivot, factor).map(|text| format!("{what}: {text}.")),
    }
}

/// The clauses of the sentence; `None` where nothing is known.
pub(super) fn effect(estimates: &Estimates, pivot: &Pivot, factor: Factor) -> Option<String> {
    let place = pivot.keys.iter().position(|key| *key == factor)?;
    let first = pivot.rows.first()?;
    // Only this factor may differ from the first row.
    let rows: Vec<usize> = (0..pivot.rows.len())
        .filter(|row| {
            let pairs = pivot.rows[*row].levels.iter().zip(&first.levels).enumerate();
            pairs.into_iter().all(|(index, (own, other))| index == place || own == other)
        })
        .collect();
    let mut left_out = false;
    let mut apart: Vec<(f64, String)> = Vec::new();
    let mut alike: Vec<String> = Vec::new();
    for (column, name) in pivot.columns.iter().enumerate() {
        let mut costs: Vec<(Figure, &str)> = rows
            .iter()
            .filter_map(|row| {
                let row = pivot.rows.get(*row)?;
                let cell = row.cells.get(column).copied().flatten()?.figures;
                left_out |= cell.perturbation.saturated;
                let cost = End::Both.comparable(estimates, cell)?;
                Some((cost, row.levels.get(place)?.as_str()))
            })
            .collect();
        costs.sort_by(|(a, _), (b, _)| a.value.total_cmp(&b.value));
        let ([(least, at_least), .., (most, at_most)], what) =
            (costs.as_slice(), named(pivot.across, name))
        else {
            continue;
        };
        match quotient(Some(*most), Some(*least)) {
            Quotient::Times(ratio) => apart.push((
                ratio,
                format!(
                    "{what} costs least at {at_least} and {} times as much at {at_most}",
                    significant(ratio)
                ),
            )),
            Quotient::Indistinct => alike.push(what),
            Quotient::Unknown => {}
        }
    }
    apart.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut clauses: Vec<String> = Vec::new();
    if let (true, Some((least, _))) = (apart.len() > NAMED, apart.last()) {
        let rest = apart.len() - NAMED;
        clauses.push(format!("for {rest} more it is {} times or more", significant(*least)));
    }
    clauses.splice(0..0, apart.into_iter().take(NAMED).map(|(_, text)| text));
    if !alike.is_empty() {
        clauses.push(format!("for {} it makes no measurable difference", list(&alike)));
    }
    if left_out && !clauses.is_empty() {
        clauses.push("what did not reach its rate (^) is left out".to_owned());
    }
    (!clauses.is_empty()).then(|| clauses.join("; "))
}
