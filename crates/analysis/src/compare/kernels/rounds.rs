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

/// Family-wise error of all verdicts, and that of all controls.
const ALPHA: f64 = 1.0 - CONFIDENCE;

/// A logarithm of a cell in the boots of a round, each `None` where the boot has no figure.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Round {
    pub(super) old: Option<f64>,
    pub(super) old_again: Option<f64>,
    pub(super) new: Option<f64>,
}

impl Round {
    /// The second kernel minus the mean of the first one's boots.
    fn difference(&self) -> Option<f64> {
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

/// The places of p-values that are significant by Holm's procedure over all of them.
pub(super) fn holm(p_values: &[Option<f64>]) -> Vec<usize> {
    let mut ordered: Vec<(f64, usize)> =
        p_values.iter().enumerate().filter_map(|(place, p)| Some(((*p)?, place))).collect();
    ordered.sort_by(|one, other| one.0.total_cmp(&other.0));
    let tested = ordered.len();
    let holds =
        |(rank, (p, _)): &(usize, (f64, usize))| *p <= ALPHA / (tested - rank) as f64;
    ordered.into_iter().enumerate().take_while(holds).map(|(_, (_, place))| place).collect()
}

/// Gives each cell its verdict. A cell is judged by its cost if that differs, else by its relative
/// cost if that does: both are tested of all cells together.
pub(super) fn judge(cells: &mut [KernelCell]) {
    let of = |by: JudgedBy| {
        cells.iter().map(move |cell| match by {
            JudgedBy::Cost => cell.cost,
            JudgedBy::Relative => cell.relative,
        })
    };
    let p_values: Vec<Option<f64>> =
        of(JudgedBy::Cost).chain(of(JudgedBy::Relative)).map(|ratio| ratio?.p_value).collect();
    let significant = holm(&p_values);
    let count = cells.len();
    for (place, cell) in cells.iter_mut().enumerate() {
        let differs = |by: JudgedBy| match by {
            JudgedBy::Cost => significant.contains(&place),
            JudgedBy::Relative => significant.contains(&(count + place)),
        };
        let by = [JudgedBy::Cost, JudgedBy::Relative].into_iter().find(|by| differs(*by));
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
    let mut places = holm(&p_values);
    places.sort_unstable();
    places.into_iter().map(|place| cells[place].label.clone()).collect()
}
