//! `links`: what each layer above a link adds to a byte's cost, as a table and as a sentence by the
//! verdicts.

use super::section::Section;
use crate::digits::with_half_width;
use crate::run::pivot::{Pivot, Placed};
use crate::run::pivot_tables::table;
use crate::run::rows::comparison;
use crate::text::list;
use zc_analysis::{Comparison, Estimates, us_per_mb};
use zc_run::{Factor, Run};

pub(super) fn section(run: &Run, estimates: &Estimates, pivot: &Pivot) -> Section {
    let Some(place) = pivot.keys.iter().position(|key| *key == Factor::Layer) else {
        return Section::default();
    };
    let base = pivot.rows.first().map_or("", |row| row.levels[place].as_str());
    let caption = format!("CPU time above that of {base}, us/MB of both ends");
    let added = table(run, pivot, caption, false, |placed| {
        let (added, half) = added(pivot, placed)?;
        Some(with_half_width(added, half))
    });
    let columns = (0..pivot.columns.len()).filter_map(|column| {
        let costs = costs(estimates, pivot, place, column)?;
        Some(format!("by {} {costs}", pivot.columns[column]))
    });
    let columns: Vec<String> = columns.collect();
    let conclusion = (!columns.is_empty())
        .then(|| format!("A MB costs, compared with {base}: {}.", columns.join("; ")));
    Section { parts: added.into_iter().collect(), conclusion }
}

/// What a cell costs above its baseline in us/MB, and the half-width of that: those of the ratio,
/// which was taken block by block, times the baseline's cost.
fn added(pivot: &Pivot, placed: Placed<'_>) -> Option<(f64, Option<f64>)> {
    let figures = placed.figures;
    let by = figures.by.as_deref()?;
    let base = pivot.cells().find(|other| other.cell.label == by)?;
    let base = us_per_mb(base.figures.cost_ns_per_kib.both?.value);
    let ratio = figures.ratio.both?;
    let half = ratio.half_width.map(|half| base * ratio.value * half);
    Some((base * (ratio.value - 1.0), half))
}

/// `120 us more over vxlan and 900 us more over esp, no difference was shown over bridge`.
fn costs(estimates: &Estimates, pivot: &Pivot, place: usize, column: usize) -> Option<String> {
    let (mut apart, mut same, mut undecided) = (Vec::new(), Vec::new(), Vec::new());
    for row in &pivot.rows {
        let Some(placed) = row.cells[column] else { continue };
        let layer = row.levels[place].clone();
        let (Some(is), Some((added, half))) =
            (comparison(estimates, placed.figures), added(pivot, placed))
        else {
            continue;
        };
        let us = with_half_width(added.abs(), half);
        match is {
            Comparison::Dearer { .. } => apart.push(format!("{us} us more over {layer}")),
            Comparison::Cheaper { .. } => apart.push(format!("{us} us less over {layer}")),
            Comparison::Same { .. } => same.push(layer),
            Comparison::Undecided => undecided.push(layer),
        }
    }
    let clauses = [
        (list(&apart), !apart.is_empty()),
        (format!("as much over {}", list(&same)), !same.is_empty()),
        (format!("no difference was shown over {}", list(&undecided)), !undecided.is_empty()),
    ];
    let clauses: Vec<String> =
        clauses.into_iter().filter_map(|(text, holds)| holds.then_some(text)).collect();
    (!clauses.is_empty()).then(|| clauses.join(", "))
}
