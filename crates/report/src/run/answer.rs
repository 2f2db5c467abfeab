//! The answer of a run in a sentence or two: which paths need less CPU than the reference, by how
//! much, over which link.

use super::baseline::named;
use super::pivot::Pivot;
use super::{verdict, verdict_by_level};
use crate::digits::percent;
use crate::experiments;
use crate::text::{list, shown};
use zc_analysis::{Bounds, CellEstimate, Comparison, Estimates, RatioFigure};
use zc_run::{Factor, Run};

/// Number of savings named after the largest.
const NAMED: usize = 2;

/// A path that costs less, with its saving as a share of the reference's cost.
struct Saving {
    name: String,
    ratio: RatioFigure,
    share: String,
}

/// The sentences; `pivot` is that of a plan of several factors.
pub(crate) fn answer(run: &Run, estimates: &Estimates, pivot: Option<&Pivot>) -> Vec<String> {
    if !estimates.verdict.stands() {
        return verdict::withheld(run, estimates);
    }
    match pivot {
        None if run.header.plan.traffic.server().is_some() => {
            experiments::section(run, estimates).conclusion.into_iter().collect()
        }
        None => vec![paths(run, estimates)],
        Some(pivot) => {
            let conclusion = experiments::section(run, estimates).conclusion;
            conclusion
                .or_else(|| {
                    verdict_by_level::summary(estimates, pivot, &verdict::place(run, estimates))
                })
                .into_iter()
                .collect()
        }
    }
}

/// The verdict and the conclusion of the experiment. That about a server says all of the verdict,
/// per request.
pub(crate) fn in_full(run: &Run, estimates: &Estimates, conclusion: Option<String>) -> Vec<String> {
    let mut sentences = match (&conclusion, run.header.plan.traffic.server()) {
        (Some(_), Some(_)) => Vec::new(),
        _ => verdict::verdict(run, estimates),
    };
    sentences.extend(conclusion);
    sentences
}

/// The sentence for a plan of one factor.
fn paths(run: &Run, estimates: &Estimates) -> String {
    let reference = name(run, &estimates.reference);
    let place = place(run);
    let savings = savings(run, estimates);
    let Some((best, others)) = savings.split_first() else {
        let counts = counts(estimates);
        let counts = if counts.is_empty() { String::new() } else { format!(": {counts}") };
        return format!("No path was shown to need less CPU than {reference} {place}{counts}.");
    };
    // Paths that save the same share are named together.
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for saving in others {
        match groups.iter_mut().find(|(share, _)| *share == saving.share) {
            Some((_, names)) => names.push(saving.name.clone()),
            None => groups.push((&saving.share, vec![saving.name.clone()])),
        }
    }
    let more: usize = groups.iter().skip(NAMED).map(|(_, names)| names.len()).sum();
    // A single path is named in as many words as it takes to count it.
    let (named, more) = if more == 1 { (NAMED + 1, 0) } else { (NAMED, more) };
    let mut groups: Vec<String> = groups
        .iter()
        .take(named)
        .map(|(share, names)| format!("{} {share}", list(names)))
        .collect();
    groups.extend((more > 0).then(|| format!("{more} more by less")));
    let others = if groups.is_empty() { String::new() } else { format!("; {}", groups.join(", ")) };
    let interval = interval(estimates, best.ratio.interval);
    format!(
        "{} needs {} less CPU than {reference} {place}{interval}{others}.",
        best.name, best.share
    )
}

/// The paths that cost significantly less, the cheapest first, without zero-copy sends that were
/// copied.
fn savings(run: &Run, estimates: &Estimates) -> Vec<Saving> {
    let mut savings: Vec<Saving> = compared(estimates)
        .filter_map(|(cell, comparison)| match comparison {
            Comparison::Cheaper { by } => {
                let (name, share) = (name(run, &cell.label), percent(by));
                Some(Saving { name, ratio: cell.ratio.both?, share })
            }
            _ => None,
        })
        .collect();
    savings.sort_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value));
    savings
}

fn compared(estimates: &Estimates) -> impl Iterator<Item = (&CellEstimate, Comparison)> {
    let cells = estimates.cells.iter().filter(|cell| !cell.control && !cell.failed_zero_copy);
    cells.filter_map(|cell| {
        let verdict = estimates.verdict.for_cell(&cell.label)?;
        Some((cell, verdict.comparison))
    })
}

/// `2 need more, 1 the same, 3 undecided`.
fn counts(estimates: &Estimates) -> String {
    let count =
        |wanted: fn(&Comparison) -> bool| compared(estimates).filter(|(_, is)| wanted(is)).count();
    let counts = [
        (count(|is| matches!(is, Comparison::Dearer { .. })), "more"),
        (count(|is| matches!(is, Comparison::Same { .. })), "the same"),
        (count(|is| matches!(is, Comparison::Undecided)), "undecided"),
    ];
    let counts = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"));
    list(&counts.collect::<Vec<_>>())
}

/// ` (95 %: 32 to 34 %)`.
fn interval(estimates: &Estimates, bounds: Option<Bounds>) -> String {
    let Some((low, high)) = bounds.and_then(|bounds| Some((1.0 - bounds.high?, 1.0 - bounds.low)))
    else {
        return String::new();
    };
    // With a decimal if the ends would be equal without one.
    let places = if high - low < 0.02 { 1 } else { 0 };
    format!(
        " ({:.0} %: {:.places$} to {:.places$} %)",
        estimates.confidence * 100.0,
        low * 100.0,
        high * 100.0
    )
}

/// `over veth`.
fn place(run: &Run) -> String {
    match &run.header.remote {
        None => format!("over {}", run.header.plan.fixed.link),
        Some(remote) => format!("to {}", shown(&remote.address)),
    }
}

/// A path's name, or a level with its factor.
fn name(run: &Run, label: &str) -> String {
    let factor = run.header.plan.factors.first().copied().unwrap_or(Factor::Send);
    named(factor, &shown(label))
}
