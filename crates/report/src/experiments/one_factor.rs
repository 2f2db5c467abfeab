//! What one factor does to the cost of each column, with all else as in the first row: at which level it is least, and how much
//! more it is where it is most.

use super::historical::{By, End, by};
use super::section::Section;
use crate::baseline::named;
use crate::digits::significant;
use crate::pivot::Cross;
use crate::text::list;
use zc_analysis::{Estimates, Figure};
use zc_run::Factor;

/// No more columns than this are named one by one.
const NAMED: usize = 3;

/// An experiment that adds no more than this sentence.
pub(super) fn section(estimates: &Estimates, cross: &Cross, factor: Factor, what: &str) -> Section {
    Section { parts: Vec::new(), says: along(estimates, cross, factor).map(|text| format!("{what}: {text}.")) }
}

/// The clauses of a sentence; `None` where nothing is known.
pub(super) fn along(estimates: &Estimates, cross: &Cross, factor: Factor) -> Option<String> {
    let place = cross.keys.iter().position(|key| *key == factor)?;
    let first = cross.rows.first()?;
    // Only this factor may differ from the first row.
    let rows: Vec<usize> = (0..cross.rows.len())
        .filter(|row| {
            let pairs = cross.rows[*row].levels.iter().zip(&first.levels).enumerate();
            pairs.into_iter().all(|(index, (own, other))| index == place || own == other)
        })
        .collect();
    let mut left_out = false;
    let mut apart: Vec<(f64, String)> = Vec::new();
    let mut alike: Vec<String> = Vec::new();
    for (column, name) in cross.columns.iter().enumerate() {
        let mut costs: Vec<(Figure, &str)> = rows
            .iter()
            .filter_map(|row| {
                let row = cross.rows.get(*row)?;
                let cell = row.cells.get(column).copied().flatten()?.figures;
                left_out |= cell.perturbation.saturated;
                let cost = End::Both.comparable(estimates, cell)?;
                Some((cost, row.levels.get(place)?.as_str()))
            })
            .collect();
        costs.sort_by(|(a, _), (b, _)| a.value.total_cmp(&b.value));
        let ([(least, at_least), .., (most, at_most)], what) = (costs.as_slice(), named(cross.across, name)) else {
            continue;
        };
        match by(Some(*most), Some(*least)) {
            By::Times(ratio) => apart.push((
                ratio,
                format!("{what} costs least at {at_least} and {} times as much at {at_most}", significant(ratio)),
            )),
            By::Alike => alike.push(what),
            By::Unknown => {}
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
        clauses.push(format!("for {} it makes no difference that could be told", list(&alike)));
    }
    if left_out && !clauses.is_empty() {
        clauses.push("what did not reach its rate (^) is left out".to_owned());
    }
    (!clauses.is_empty()).then(|| clauses.join("; "))
}
