//! Verdicts about the cells: only what the intervals support, and none when the run itself is in
//! doubt.
//!
//! A table of ten cells makes nine comparisons, and one in twenty cells without a difference has an
//! interval that excludes 1. So verdicts control the family-wise error by Holm's procedure over all
//! comparisons, whatever their baselines (Scandinavian Journal of Statistics 1979): the smallest
//! p-value must be below alpha/m, the next one below alpha/(m-1), and so on until one is not. The
//! controls are not among the comparisons. What the error that they show could explain is undecided.
//! A positive control that misses by more than half of what was added withholds all verdicts.

use crate::costs::Side;
use crate::figures::finite;
use crate::kept::KeptBlocks;
use crate::machine;
use crate::model::cell::CellEstimate;
use crate::model::estimates::{BlockAccount, Control, PositiveControl};
use crate::model::figure::{Bounds, RatioFigure};
use crate::model::verdict::{CellVerdict, Cheapest, Comparison, Verdict, Withheld};
use crate::parallel;
use crate::ratios::{self, Ratio, ratio};
use zc_run::{EMULATED, Run, Severity};

/// Equivalence margin: two cells cost the same when the interval of their ratio is within this
/// distance of 1.
pub(super) const EQUIVALENCE_MARGIN: f64 = 0.05;

pub(super) fn verdict(
    run: &Run,
    kept: &KeptBlocks,
    cells: &[CellEstimate],
    control: Option<&Control>,
    positive: Option<&PositiveControl>,
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
    let missed = missed(control, positive);
    let error = missed.iter().filter_map(Withheld::error).fold(1.0, f64::max);
    let cheapest_by = cheapest(kept, cells, &compared, error);
    let cheapest = match &cheapest_by[..] {
        [all] => all.cells.clone(),
        _ => Vec::new(),
    };
    Verdict {
        withheld: withheld(run, kept, cells, control, &missed, blocks),
        cells: compared
            .iter()
            .zip(differs)
            .map(|(cell, differs)| {
                let cell = &cells[*cell];
                CellVerdict {
                    label: cell.label.clone(),
                    comparison: cell
                        .ratio
                        .both
                        .map_or(Comparison::Undecided, |ratio| comparison(&ratio, differs, error)),
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
        control_error: (error > 1.0).then(|| finite(error - 1.0)).flatten(),
        ..Verdict::default()
    }
}

/// The controls whose intervals exclude the truth.
pub(super) fn missed(
    control: Option<&Control>,
    positive: Option<&PositiveControl>,
) -> Vec<Withheld> {
    let differs = || {
        let ratio = control.filter(|control| control.fits == Some(false))?.ratio.both?;
        let Bounds { low, high, .. } = ratio.interval?;
        Some(Withheld::ControlDiffers { ratio: ratio.value, low, high })
    };
    let missed = || {
        let positive = positive.filter(|positive| positive.fits == Some(false))?;
        let (expected, found) = (positive.expected?, positive.found?);
        let Bounds { low, high, .. } = found.interval?;
        Some(Withheld::PositiveControlMissed { expected, found: found.value, low, high })
    };
    differs().into_iter().chain(missed()).collect()
}

/// What is said of a cell. An error of a control by the factor `error` explains ratios up to it.
fn comparison(ratio: &RatioFigure, differs: bool, error: f64) -> Comparison {
    let Some(Bounds { low, high, .. }) = ratio.interval else { return Comparison::Undecided };
    let explained = high.is_none_or(|high| high * error >= 1.0) && low / error <= 1.0;
    if differs && ratio.value != 1.0 && (error == 1.0 || !explained) {
        return if ratio.value < 1.0 {
            Comparison::Cheaper { by: 1.0 - ratio.value }
        } else {
            Comparison::Dearer { by: ratio.value - 1.0 }
        };
    }
    match high.map(|high| (high * error - 1.0).max(1.0 - low / error)) {
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
/// list, too.
fn cheapest(
    kept: &KeptBlocks,
    cells: &[CellEstimate],
    compared: &[usize],
    error: f64,
) -> Vec<Cheapest> {
    let index = &kept.index;
    let mut referring: Vec<Vec<usize>> = vec![Vec::new(); cells.len()];
    for cell in compared {
        if let Some(base) = index.baseline(*cell) {
            referring[base].push(*cell);
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
                ratio.value <= 1.0
                    || ratio.p_value.is_none_or(|p_value| p_value / 2.0 > alpha)
                    || ratio.interval.is_none_or(|interval| interval.low < error)
            };
            let others =
                group[1..].iter().filter(|_| to_leader.next().flatten().is_some_and(may_be_best));
            let alike = others.map(|cell| label(*cell));
            Cheapest {
                by: label(by),
                cells: std::iter::once(label(group[0])).chain(alike).collect(),
            }
        })
        .collect()
}

/// Why a run's own verdicts are withheld. Of the controls that `missed`, those whose error has no
/// bound on what it could explain.
pub(super) fn withheld(
    run: &Run,
    kept: &KeptBlocks,
    cells: &[CellEstimate],
    control: Option<&Control>,
    missed: &[Withheld],
    blocks: &BlockAccount,
) -> Vec<Withheld> {
    if machine::is_emulated(&run.header) {
        let (name, severity) = (EMULATED.to_owned(), Severity::Withhold);
        return vec![Withheld::Warning { name, severity }];
    }
    let mut reasons = Vec::new();
    let needed = zc_stats::wilcoxon_min_n(kept.level).unwrap_or(usize::MAX);
    let reference = cells.iter().find(|cell| cell.reference);
    if blocks.kept < needed {
        reasons.push(Withheld::TooFewBlocks { kept: blocks.kept, needed });
    } else if !reference
        .is_some_and(|cell| cell.cost_ns_per_kib.both.is_some_and(|cost| cost.value > 0.0))
    {
        reasons.push(Withheld::NoReference);
    } else {
        let judged = control.and_then(|control| control.ratio.both?.interval);
        reasons.extend(judged.is_none().then_some(Withheld::NoControl));
    }
    reasons.extend(missed.iter().filter(|why| why.error().is_none()).cloned());
    let saturated =
        reference.map(|cell| cell.perturbation).filter(|perturbation| perturbation.saturated);
    if let Some(reached) = saturated.and_then(|perturbation| perturbation.soaked_by_nominal) {
        reasons.push(Withheld::ReferenceSaturated { reached });
    }
    let finished = blocks.measured - blocks.dropped.unfinished;
    let dropped = finished - blocks.kept;
    if dropped * 2 > finished {
        reasons.push(Withheld::BusyMachine { dropped, measured: finished });
    }
    let warnings = run.header.warnings.iter().chain(run.end.iter().flat_map(|end| &end.warnings));
    reasons.extend(warnings.filter(|warning| warning.severity == Severity::Withhold).map(
        |warning| Withheld::Warning { name: warning.name.clone(), severity: warning.severity },
    ));
    reasons
}
