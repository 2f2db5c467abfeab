//! Cells that are in one of two states, block by block: their median lies where they never are.

use zc_stats::{median, unimodality_p_value};

use crate::figures::finite;
use crate::kept::KeptBlocks;
use crate::model::cell::TwoStates;
use crate::ratios::Pair;

/// Probability of finding two states in any cell of a run whose cells have one each.
const ALPHA: f64 = 0.01;

/// The two states of a cell by its ratios to its baseline in each block, if Hartigans' dip test
/// rejects one mode. Whatever slows a whole block down cancels in a ratio, so these are the cell's
/// own. The level is shared among all cells of the plan (Bonferroni).
pub(super) fn two_states(kept: &KeptBlocks, pairs: &[Pair]) -> Option<TwoStates> {
    let logs = pairs.iter().filter_map(Pair::log);
    let mut logs: Vec<f64> = logs.filter(|log| log.is_finite()).collect();
    logs.sort_unstable_by(f64::total_cmp);
    let is_one = |p_value: f64| p_value > ALPHA / kept.header.plan.cells.len() as f64;
    if unimodality_p_value(&logs).is_none_or(is_one) {
        return None;
    }
    let (low, high) = logs.split_at(best_split(&logs)?);
    let ratio = |logs: &[f64]| finite(median(logs)?.exp());
    Some(TwoStates {
        low: ratio(low)?,
        low_blocks: low.len(),
        high: ratio(high)?,
        high_blocks: high.len(),
    })
}

/// Index that best divides sorted values into two parts: the least sum of squared distances from
/// the means of the parts.
fn best_split(sorted: &[f64]) -> Option<usize> {
    let total: f64 = sorted.iter().sum();
    let mut below = 0.0;
    let mut best: Option<(f64, usize)> = None;
    for (split, value) in sorted.iter().enumerate().take(sorted.len().saturating_sub(1)) {
        below += value;
        let (n, rest) = ((split + 1) as f64, (sorted.len() - split - 1) as f64);
        // The sum of squares between the parts, which is the larger, the smaller that within them.
        let between = below * below / n + (total - below) * (total - below) / rest;
        if best.is_none_or(|(most, _)| between > most) {
            best = Some((between, split + 1));
        }
    }
    best.map(|(_, split)| split)
}
