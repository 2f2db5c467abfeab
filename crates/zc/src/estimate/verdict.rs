//! What may be said about the cells: words only for what the intervals bear, and none when the run itself is in doubt.
//!
//! A table of ten cells makes nine comparisons, and one in twenty true nothings excludes 1 by itself. So the words
//! are given by Holm's procedure over all of them (Scandinavian Journal of Statistics 1979): the cell with the least
//! p-value must be below alpha/m, the next below alpha/(m-1), and so on until one is not. The control is not among them;
//! it is what decides whether there are words at all.

use super::Kept;
use super::model::{BlockAccount, CellEstimate, CellVerdict, Comparison, Control, RatioFigure, Verdict, Withheld};
use crate::plan::costs::Side;
use crate::plan::ratios::{Ratio, divisors, pairs, ratio};
use crate::record::{Run, Severity};

/// Two cells are called the same when the interval of their ratio lies within this of 1.
const SAME_WITHIN: f64 = 0.05;

pub(super) fn verdict(
    run: &Run,
    kept: &Kept,
    cells: &[CellEstimate],
    control: Option<&Control>,
    blocks: &BlockAccount,
) -> Verdict {
    let compared: Vec<usize> =
        (0..cells.len()).filter(|cell| !cells[*cell].reference && !cells[*cell].control).collect();
    let with_ratio = compared.iter().filter(|cell| cells[**cell].ratio.both.is_some()).count();
    let differs =
        kept.reference.map_or_else(|| vec![false; compared.len()], |reference| differing(kept, &compared, reference));
    Verdict {
        withheld: withheld(run, kept, cells, control, blocks),
        cells: compared
            .iter()
            .zip(differs)
            .map(|(cell, differs)| {
                let cell = &cells[*cell];
                CellVerdict {
                    label: cell.label.clone(),
                    comparison: cell.ratio.both.map_or(Comparison::Undecided, |ratio| word(&ratio, differs)),
                    interval_excludes_one: cell
                        .ratio
                        .both
                        .and_then(|ratio| ratio.interval)
                        .is_some_and(|interval| !interval.contains(1.0)),
                    failed_zero_copy: cell.failed_zero_copy,
                }
            })
            .collect(),
        cheapest: cheapest(kept, cells, &compared),
        comparisons: with_ratio,
    }
}

fn word(ratio: &RatioFigure, differs: bool) -> Comparison {
    if differs && ratio.value != 1.0 {
        return if ratio.value < 1.0 {
            Comparison::Cheaper { by: 1.0 - ratio.value }
        } else {
            Comparison::Dearer { by: ratio.value - 1.0 }
        };
    }
    let within = ratio.interval.and_then(|interval| Some((interval.high? - 1.0).max(1.0 - interval.low)));
    match within {
        Some(within) if within <= SAME_WITHIN => Comparison::Same { within },
        _ => Comparison::Undecided,
    }
}

/// Which of `cells` differ from cell `base`, by Holm's procedure.
fn differing(kept: &Kept, cells: &[usize], base: usize) -> Vec<bool> {
    let alpha = 1.0 - kept.level;
    let plan = &kept.header.plan;
    let by = |cell: usize| {
        // Among themselves, cells are compared trial by trial.
        if plan.cells[base].label == plan.reference { divisors(plan, cell) } else { vec![base] }
    };
    let of = |cell: usize, level: f64| ratio(&pairs(&kept.costs, cell, &by(cell), Side::Both), level, plan.seed);
    let m = cells.iter().filter(|cell| of(**cell, kept.level).is_some()).count();
    let mut ordered: Vec<(f64, usize)> = (0..cells.len())
        .filter_map(|place| {
            let at_level = of(cells[place], kept.level)?;
            let p = at_level.p_value.unwrap_or_else(|| {
                // A ratio of sums has no p-value, only intervals: held against the strictest limit at once.
                let strict = of(cells[place], 1.0 - alpha / m as f64);
                if strict.is_some_and(|ratio| excludes_one(&ratio)) { 0.0 } else { 1.0 }
            });
            Some((p, place))
        })
        .collect();
    ordered.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut differs = vec![false; cells.len()];
    for (rank, (p, place)) in ordered.into_iter().enumerate() {
        if p > alpha / (m - rank) as f64 {
            break;
        }
        differs[place] = true;
    }
    differs
}

fn excludes_one(ratio: &Ratio) -> bool {
    ratio.interval.is_some_and(|interval| !interval.contains(1.0))
}

/// The cell of the lowest cost, then those that cannot be told from it, by rising ratio.
fn cheapest(kept: &Kept, cells: &[CellEstimate], compared: &[usize]) -> Vec<String> {
    let Some(reference) = kept.reference else { return Vec::new() };
    let mut ranked: Vec<(f64, usize)> =
        compared.iter().filter_map(|cell| Some((cells[*cell].ratio.both?.value, *cell))).collect();
    if ranked.is_empty() {
        return Vec::new();
    }
    ranked.push((1.0, reference));
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let leader = ranked[0].1;
    let rest: Vec<usize> = ranked[1..].iter().map(|(_, cell)| *cell).collect();
    let told_apart = differing(kept, &rest, leader);
    let alike = rest.iter().zip(told_apart).filter(|(_, told)| !told).map(|(cell, _)| *cell);
    std::iter::once(leader).chain(alike).map(|cell| cells[cell].label.clone()).collect()
}

fn withheld(
    run: &Run,
    kept: &Kept,
    cells: &[CellEstimate],
    control: Option<&Control>,
    blocks: &BlockAccount,
) -> Vec<Withheld> {
    let mut reasons = Vec::new();
    let needed = zc_stats::wilcoxon_least_n(kept.level).unwrap_or(usize::MAX);
    let reference = cells.iter().find(|cell| cell.reference);
    if blocks.kept < needed {
        reasons.push(Withheld::TooFewBlocks { kept: blocks.kept, needed });
    } else if !reference.is_some_and(|cell| cell.cost_ns_per_kib.both.is_some_and(|cost| cost.value > 0.0)) {
        reasons.push(Withheld::NoReference);
    } else {
        match control.and_then(|control| control.ratio.both) {
            Some(RatioFigure { value: ratio, interval: Some(interval), .. }) if !interval.contains(1.0) => {
                reasons.push(Withheld::ControlDiffers { ratio, low: interval.low, high: interval.high });
            }
            Some(RatioFigure { interval: Some(_), .. }) => {}
            _ => reasons.push(Withheld::NoControl),
        }
    }
    let finished = blocks.measured - blocks.dropped.unfinished;
    let dropped = finished - blocks.kept;
    if dropped * 2 > finished {
        reasons.push(Withheld::BusyMachine { dropped, measured: finished });
    }
    let warnings = run.header.warnings.iter().chain(run.end.iter().flat_map(|end| &end.warnings));
    reasons.extend(
        warnings
            .filter(|warning| warning.severity == Severity::Withhold)
            .map(|warning| Withheld::Warning { name: warning.name.clone(), severity: warning.severity }),
    );
    reasons
}
