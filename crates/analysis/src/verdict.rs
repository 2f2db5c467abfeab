//! Verdicts about the cells: only what the intervals support, and none when the run itself is in
//! doubt.
//!
//! A table of ten cells makes nine comparisons, and one in twenty cells without a difference has an
//! interval that excludes 1. So verdicts control the family-wise error by Holm's procedure over all
//! comparisons, whatever their baselines (Scandinavian Journal of Statistics 1979): the smallest
//! p-value must be below alpha/m, the next one below alpha/(m-1), and so on until one is not. The
//! controls are not among the comparisons. Differences that the error they show could explain are
//! undecided, and so are those that they could not have seen ([`crate::controls`]). A positive
//! control that misses by more than half of what was added withholds all verdicts.

use crate::controls::{Controls, Limits};
use crate::costs::Side;
use crate::figures::finite;
use crate::kept::KeptBlocks;
use crate::machine;
use crate::model::cell::CellEstimate;
use crate::model::estimates::BlockAccount;
use crate::model::figure::{Bounds, RatioFigure};
use crate::model::verdict::{
    CellVerdict, Cheapest, Comparison, EQUIVALENCE_MARGIN, Verdict, Withheld,
};
use crate::parallel;
use crate::ratios::{self, Ratio, ratio};
use crate::unit::us_per_mb;
use zc_run::{EMULATED, Run, Severity};

pub(super) fn verdict(
    run: &Run,
    kept: &KeptBlocks,
    cells: &[CellEstimate],
    controls: &Controls,
    blocks: &BlockAccount,
) -> Verdict {
    let compared: Vec<usize> = (0..cells.len())
        .filter(|cell| cells[*cell].by.is_some() && !cells[*cell].control)
        .collect();
    let with_ratio = compared.iter().filter(|cell| cells[**cell].ratio.both.is_some()).count();
    let differs = significant(
        kept,
        &compared.iter().map(|cell| (*cell, kept.index.divisors(*cell))).collect::<Vec<_>>(),
    );
    let limits = controls.limits();
    let comparisons: Vec<Comparison> = std::iter::zip(&compared, differs)
        .map(|(cell, differs)| {
            let ratio = cells[*cell].ratio.both;
            ratio.map_or(Comparison::Undecided, |ratio| comparison(&ratio, differs, limits))
        })
        .collect();
    let cheapest_by = cheapest(kept, cells, std::iter::zip(&compared, &comparisons), limits);
    let cheapest = match &cheapest_by[..] {
        [all] => all.cells.clone(),
        _ => Vec::new(),
    };
    let reference = cells.iter().find(|cell| cell.reference);
    Verdict {
        withheld: withheld(run, kept, reference, controls, blocks),
        cells: std::iter::zip(&compared, &comparisons)
            .map(|(cell, comparison)| {
                let cell = &cells[*cell];
                CellVerdict {
                    label: cell.label.clone(),
                    comparison: *comparison,
                    interval_excludes_one: cell
                        .ratio
                        .both
                        .and_then(|ratio| ratio.interval)
                        .is_some_and(|interval| !interval.contains(1.0)),
                    failed_zero_copy: cell.failed_zero_copy,
                }
            })
            .collect(),
        cheapest,
        cheapest_by,
        comparisons: with_ratio,
        control_error: (limits.error > 1.0).then(|| finite(limits.error - 1.0)).flatten(),
        resolution: (limits.resolution > 1.0).then(|| finite(limits.resolution - 1.0)).flatten(),
        ..Verdict::default()
    }
}

/// The comparison of a cell with its baseline. An error of a control by a factor explains ratios up
/// to it.
fn comparison(ratio: &RatioFigure, differs: bool, limits: Limits) -> Comparison {
    let Some(Bounds { low, high, .. }) = ratio.interval else { return Comparison::Undecided };
    let error = limits.error;
    let explained = high.is_none_or(|high| high * error >= 1.0) && low / error <= 1.0;
    let stands = limits.resolve(ratio.value) && (error == 1.0 || !explained);
    if differs && ratio.value != 1.0 && stands {
        return if ratio.value < 1.0 {
            Comparison::Cheaper { by: 1.0 - ratio.value }
        } else {
            Comparison::Dearer { by: ratio.value - 1.0 }
        };
    }
    let within = high.map(|high| (high * error - 1.0).max(1.0 - low / error));
    match within.map(|within| within.max(limits.resolution - 1.0)) {
        Some(within) if within <= EQUIVALENCE_MARGIN => Comparison::Same { within },
        _ => Comparison::Undecided,
    }
}

/// The ratios of cells to their counterparts.
fn ratios_of(kept: &KeptBlocks, pairs: &[(usize, Vec<usize>)]) -> Vec<Option<Ratio>> {
    parallel::each(pairs.len(), |place| {
        let (cell, divisors) = &pairs[place];
        let pairs = ratios::pairs(&kept.costs, *cell, divisors, Side::Both);
        let together = |divisor: &usize| kept.index.wander_together(*cell, *divisor);
        let wander = kept.wanders.ratios(Side::Both).filter(|_| !divisors.iter().all(together));
        ratio(&pairs, kept.level, wander)
    })
}

/// Which cells differ significantly from their counterparts, by Holm's procedure over all pairs.
fn significant(kept: &KeptBlocks, pairs: &[(usize, Vec<usize>)]) -> Vec<bool> {
    let alpha = 1.0 - kept.level;
    let p_values = ratios_of(kept, pairs).into_iter().map(|ratio| ratio?.p_value);
    let mut ordered: Vec<(f64, usize)> =
        p_values.enumerate().filter_map(|(place, p)| Some((p?, place))).collect();
    let m = ordered.len();
    ordered.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut differs = vec![false; pairs.len()];
    for (rank, (p, place)) in ordered.into_iter().enumerate() {
        if p > alpha / (m - rank) as f64 {
            break;
        }
        differs[place] = true;
    }
    differs
}

/// For each baseline, in the plan's order: the cheapest cell among it and those compared with it,
/// then the cells that may be cheaper still, by rising ratio.
///
/// The cheapest is known only after looking, so an ordinary test against it errs too often. Hsu's
/// multiple comparisons with the best (Annals of Statistics 12, 1984) turns the question round: a
/// cell is left out if, taken for the best in advance, it is dearer than the observed one by more
/// than `k - 1` one-sided comparisons permit. So the cell that is truly the cheapest is in the list
/// with the level's confidence, whichever it is. Bonferroni's bound stands for Dunnett's, which is
/// for normal values. Where a control shows an error, cells that it could make as cheap are in the
/// list, too, and so are those that differ by less than the controls resolve. A cell that has a
/// verdict against it is not: one that is dearer than the baseline, and a baseline than which one
/// is cheaper.
fn cheapest<'v>(
    kept: &KeptBlocks,
    cells: &[CellEstimate],
    compared: impl Iterator<Item = (&'v usize, &'v Comparison)>,
    limits: Limits,
) -> Vec<Cheapest> {
    let index = &kept.index;
    let mut referring: Vec<Vec<usize>> = vec![Vec::new(); cells.len()];
    let mut beaten = vec![false; cells.len()];
    for (cell, comparison) in compared {
        if let Some(base) = index.baseline(*cell) {
            referring[base].push(*cell);
            beaten[*cell] |= matches!(comparison, Comparison::Dearer { .. });
            beaten[base] |= matches!(comparison, Comparison::Cheaper { .. });
        }
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut bases = Vec::new();
    for (place, referring) in referring.into_iter().enumerate() {
        let ratio_of = |cell: usize| Some((cells[cell].ratio.both?.value, cell));
        let mut ranked: Vec<(f64, usize)> = referring.into_iter().filter_map(ratio_of).collect();
        if ranked.is_empty() {
            continue;
        }
        ranked.push((1.0, place));
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        bases.push(place);
        groups.push(ranked.into_iter().map(|(_, cell)| cell).collect());
    }
    let against_leaders: Vec<(usize, Vec<usize>)> = groups
        .iter()
        .flat_map(|group| {
            let leader = group[0];
            // Compared with their baseline including the control, with each other trial by trial.
            group[1..].iter().map(move |cell| match index.baseline(*cell) == Some(leader) {
                true => (*cell, index.divisors(*cell)),
                false => (*cell, vec![leader]),
            })
        })
        .collect();
    let mut to_leader = ratios_of(kept, &against_leaders).into_iter();
    let label = |cell: usize| cells[cell].label.clone();
    std::iter::zip(bases, groups)
        .map(|(by, group)| {
            let alpha = (1.0 - kept.level) / (group.len() - 1) as f64;
            let may_be_best = |ratio: Ratio| {
                !limits.resolve(ratio.value.max(1.0))
                    || ratio.p_value.is_none_or(|p_value| p_value / 2.0 > alpha)
                    || ratio.interval.is_none_or(|interval| interval.low < limits.error)
            };
            let others = group[1..].iter().filter(|cell| {
                to_leader.next().flatten().is_some_and(may_be_best) && !beaten[**cell]
            });
            let alike = others.map(|cell| label(*cell));
            Cheapest {
                by: label(by),
                cells: std::iter::once(label(group[0])).chain(alike).collect(),
            }
        })
        .collect()
}

/// Why a run's own verdicts are withheld. Of its controls, only shortcomings with no bound on what
/// they could explain count.
pub(super) fn withheld(
    run: &Run,
    kept: &KeptBlocks,
    reference: Option<&CellEstimate>,
    controls: &Controls,
    blocks: &BlockAccount,
) -> Vec<Withheld> {
    if machine::is_emulated(&run.header) {
        let (name, severity) = (EMULATED.to_owned(), Severity::Withhold);
        return vec![Withheld::Warning { name, severity }];
    }
    let mut reasons = Vec::new();
    let needed = zc_stats::wilcoxon_min_n(kept.level).unwrap_or(usize::MAX);
    if blocks.kept < needed {
        reasons.push(Withheld::TooFewBlocks { kept: blocks.kept, needed });
    } else if !reference
        .is_some_and(|cell| cell.cost_ns_per_kib.both.is_some_and(|cost| cost.value > 0.0))
    {
        reasons.push(Withheld::NoReference);
    } else {
        reasons.extend((!controls.are_measured()).then_some(Withheld::NoControl));
    }
    reasons.extend(below_zero(kept));
    reasons.extend(controls.shortcomings().into_iter().filter(|why| why.error().is_none()));
    let saturated =
        reference.map(|cell| cell.perturbation).filter(|perturbation| perturbation.saturated);
    if let Some(reached) = saturated.and_then(|perturbation| perturbation.soaked_by_nominal) {
        reasons.push(Withheld::ReferenceSaturated { reached });
    }
    let finished = blocks.measured - blocks.dropped.unfinished;
    let dropped = finished - blocks.kept;
    // By own clocks no block is dropped for what others do, and none of that is in a cost.
    let by_rule = run.header.plan.strict || !kept.account.leaves_others_out();
    if by_rule && dropped * 2 > finished {
        reasons.push(Withheld::BusyMachine { dropped, measured: finished });
    }
    let warnings = run.header.warnings.iter().chain(run.end.iter().flat_map(|end| &end.warnings));
    reasons.extend(warnings.filter(|warning| warning.severity == Severity::Withhold).map(
        |warning| Withheld::Warning { name: warning.name.clone(), severity: warning.severity },
    ));
    reasons
}

/// The first cost that is below 0 by more than its noise: no traffic gives CPU time back, and
/// neither does zc's harness.
fn below_zero(kept: &KeptBlocks) -> Option<Withheld> {
    let of_cell = |(place, cell): (usize, &zc_run::Cell)| {
        let costs = kept.costs.iter().filter_map(|block| block.get(place)?.as_ref());
        let costs: Vec<f64> = costs.filter_map(|cost| cost.ns_per_kib(Side::Both)).collect();
        Some((cell.label.clone(), kept.below_zero(&costs)?))
    };
    let harness = || {
        let (label, cost) = kept.harness_below_zero.clone()?;
        Some((format!("the harness of {label}"), cost))
    };
    let of_cell = kept.header.plan.cells.iter().enumerate().find_map(of_cell);
    let (of, cost) = of_cell.or_else(harness)?;
    let bounds = cost.interval?;
    Some(Withheld::BelowZero {
        of,
        us_per_mb: us_per_mb(cost.value),
        low: us_per_mb(bounds.low),
        high: us_per_mb(bounds.high?),
    })
}
