//! Boots as units: what each round says of a cell, and the verdicts.
//!
//! A boot draws anew what is drawn once: the layout of the kernel, pages, hashes. So the blocks of
//! a boot say how well its own cost is known, and only boots say by how much two kernels differ. In
//! a round both kernels are booted within minutes, in random order, so what the host does in an hour
//! is in none of its ratios.

use zc_stats::{StudentT, mean_interval};

use super::model::{BootRatio, KernelCell};
use crate::compare::effect::CONFIDENCE;
use crate::compare::model::{ChangeVerdict, JudgedBy};
use crate::figures::finite;
use crate::model::verdict::EQUIVALENCE_MARGIN;

/// Family-wise error of all controls, and that of all verdicts: half of it for costs, and half for
/// relative costs.
pub(super) const ALPHA: f64 = 1.0 - CONFIDENCE;

/// Fewer cells have no others of which most can be taken to be as they were.
const MIN_CELLS: usize = 3;

/// A logarithm of a cell in the boots of a round, each `None` where the boot has no figure.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Round {
    pub(super) old: Option<f64>,
    pub(super) old_again: Option<f64>,
    pub(super) new: Option<f64>,
}

impl Round {
    /// The second kernel minus the mean of the first one's boots.
    pub(super) fn difference(&self) -> Option<f64> {
        let (sum, count) = [self.old, self.old_again]
            .into_iter()
            .flatten()
            .fold((0.0, 0.0), |(sum, count), log| (sum + log, count + 1.0));
        (count > 0.0).then(|| self.new.map(|new| new - sum / count)).flatten()
    }

    fn control(&self) -> Option<f64> {
        Some(self.old_again? - self.old?)
    }
}

/// The ratio between the kernels.
pub(super) fn ratio(rounds: &[Round]) -> Option<BootRatio> {
    of_logs(&rounds.iter().filter_map(Round::difference).collect::<Vec<_>>())
}

/// The ratio of the first kernel to itself.
pub(super) fn control(rounds: &[Round]) -> Option<BootRatio> {
    of_logs(&rounds.iter().filter_map(Round::control).collect::<Vec<_>>())
}

fn of_logs(logs: &[f64]) -> Option<BootRatio> {
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let interval = mean_interval(logs, CONFIDENCE);
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    let p_value = StudentT::new(count - 1.0)
        .map(|student| 2.0 * student.survival((mean / error).abs()))
        .filter(|p| p.is_finite());
    let end = |log: f64| finite(log.exp());
    Some(BootRatio {
        ratio: end(mean)?,
        low: interval.and_then(|interval| end(interval.low)),
        high: interval.and_then(|interval| end(interval.high)),
        p_value,
        rounds: logs.len(),
    })
}

/// The places of p-values that are significant by Holm's procedure over all of them, at a
/// family-wise error of `alpha`.
pub(super) fn holm(p_values: &[Option<f64>], alpha: f64) -> Vec<usize> {
    let mut ordered: Vec<(f64, usize)> =
        p_values.iter().enumerate().filter_map(|(place, p)| Some(((*p)?, place))).collect();
    ordered.sort_by(|one, other| one.0.total_cmp(&other.0));
    let tested = ordered.len();
    let holds = |(rank, (p, _)): &(usize, (f64, usize))| *p <= alpha / (tested - rank) as f64;
    ordered.into_iter().enumerate().take_while(holds).map(|(_, (_, place))| place).collect()
}

/// Ratios of each cell to the others, and the places of those that differ from them.
pub(super) struct Relative {
    pub(super) ratios: Vec<Option<BootRatio>>,
    pub(super) differing: Vec<usize>,
}

/// Compares each cell with the mean of the others. `own` has the logarithms of each cell's cost by
/// the mean of all cells in the same blocks.
///
/// A cell that has changed moves that mean the other way, and would have the others called. So a cell
/// has to differ from the others whichever one of them is left out. The cell that differs most is
/// tested first, at the level of Holm's procedure, and if it differs it is no longer one of the
/// others, and so on, until half of the cells differ: then it is unknown which half has changed.
pub(super) fn relative(own: &[Vec<Round>]) -> Relative {
    let mut others: Vec<usize> = (0..own.len()).collect();
    let mut differing = Vec::new();
    while others.len() >= MIN_CELLS && differing.len() * 2 < own.len() {
        let tested = others.iter().filter_map(|cell| Some((p_value(own, *cell, &others)?, *cell)));
        let first = tested.min_by(|one, other| one.0.total_cmp(&other.0));
        match first.filter(|(p, _)| *p <= ALPHA / 2.0 / others.len() as f64) {
            Some((_, cell)) => {
                differing.push(cell);
                others.retain(|other| *other != cell);
            }
            None => break,
        }
    }
    let mut ratios: Vec<Option<BootRatio>> =
        (0..own.len()).map(|cell| ratio(&by_others(own, cell, &others))).collect();
    if let [reference, other] = ratios.as_mut_slice() {
        // Of two, the first is what the other is divided by.
        *reference = None;
        let p_value = other.and_then(|other| other.p_value);
        differing.extend(p_value.filter(|p| *p <= ALPHA / 2.0).map(|_| 1));
    }
    Relative { ratios, differing }
}

/// The p-value of the hypothesis that a cell does not differ from the others, whichever one of them
/// is left out: the largest of all; 1 if it does not always differ the same way.
fn p_value(own: &[Vec<Round>], cell: usize, others: &[usize]) -> Option<f64> {
    let others: Vec<usize> = others.iter().copied().filter(|other| *other != cell).collect();
    let without = |left_out: usize| -> Vec<usize> {
        others.iter().copied().filter(|other| *other != left_out).collect()
    };
    let all = ratio(&by_others(own, cell, &others))?;
    let mut p_value = all.p_value?;
    for left_out in &others {
        let found = ratio(&by_others(own, cell, &without(*left_out)))?;
        if (found.ratio > 1.0) != (all.ratio > 1.0) {
            return Some(1.0);
        }
        p_value = p_value.max(found.p_value?);
    }
    Some(p_value)
}

/// The logarithms of a cell's cost by the mean of those of `others` but itself.
fn by_others(own: &[Vec<Round>], cell: usize, others: &[usize]) -> Vec<Round> {
    let others: Vec<usize> = others.iter().copied().filter(|other| *other != cell).collect();
    if others.is_empty() {
        return Vec::new();
    }
    let value = |round: usize, of: fn(&Round) -> Option<f64>| -> Option<f64> {
        let logs = others.iter().map(|other| of(own[*other].get(round)?));
        let sum: f64 = logs.collect::<Option<Vec<f64>>>()?.iter().sum();
        Some(of(own[cell].get(round)?)? - sum / others.len() as f64)
    };
    (0..own[cell].len())
        .map(|round| Round {
            old: value(round, |round| round.old),
            old_again: value(round, |round| round.old_again),
            new: value(round, |round| round.new),
        })
        .collect()
}

/// Gives each cell its verdict. A cell is judged by its cost if that differs, else by its relative
/// cost if that does.
pub(super) fn judge(cells: &mut [KernelCell], relative: &Relative) {
    for (cell, ratio) in cells.iter_mut().zip(&relative.ratios) {
        cell.relative = *ratio;
    }
    let p_values: Vec<Option<f64>> = cells.iter().map(|cell| cell.cost?.p_value).collect();
    let by_cost = holm(&p_values, ALPHA / 2.0);
    for (place, cell) in cells.iter_mut().enumerate() {
        let by = match () {
            () if by_cost.contains(&place) => Some(JudgedBy::Cost),
            () if relative.differing.contains(&place) => Some(JudgedBy::Relative),
            () => None,
        };
        cell.judged_by = by.or(cell.cost.map(|_| JudgedBy::Cost));
        cell.verdict = match (by, cell.judged()) {
            (Some(_), Some(judged)) if judged.ratio < 1.0 => {
                ChangeVerdict::Better { by: 1.0 - judged.ratio }
            }
            (Some(_), Some(judged)) => ChangeVerdict::Worse { by: judged.ratio - 1.0 },
            (_, Some(judged)) => match judged.within() {
                Some(within) if within <= EQUIVALENCE_MARGIN => ChangeVerdict::Same { within },
                _ => ChangeVerdict::Undecided,
            },
            _ => ChangeVerdict::Undecided,
        };
    }
}

/// The cells in which the first kernel differs from itself.
pub(super) fn differing_controls(cells: &[KernelCell]) -> Vec<String> {
    let p_values: Vec<Option<f64>> = cells.iter().map(|cell| cell.same?.p_value).collect();
    let mut places = holm(&p_values, ALPHA);
    places.sort_unstable();
    places.into_iter().map(|place| cells[place].label.clone()).collect()
}
