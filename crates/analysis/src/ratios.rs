//! The cost of a cell divided by that of its baseline, over blocks, with an interval.
//!
//! The logarithm of the ratio is taken per block. Whatever slows a whole block cancels in it, and
//! equal noise in both costs makes its distribution symmetric, as the signed-rank interval assumes.
//! The cost is a difference, so by noise it may be 0 or less in a block. The log ratio of such a
//! block is minus infinity. The Hodges-Lehmann estimate and the signed ranks only use its place in
//! the order, so the block counts and is not dropped for a small cost. Where that is not enough,
//! the signed ranks of cost minus ratio times reference are used instead: when the reference itself
//! is at or below 0, or so many costs of the cell are that the estimate has no logarithm.
//!
//! These intervals hold for blocks that are independent, and for what happened in them. Ratios also
//! wander in seconds and minutes, so an interval is widened by what they wander in its run
//! ([`zc_stats::wander`]): it then holds for what another such run would find.

use zc_stats::{
    Interval, Wander, hodges_lehmann, signed_rank_ratio, wilcoxon_interval, wilcoxon_p_value,
};

use super::costs::{Side, TrialCost};

/// The costs of a cell and of its baseline in one block, in the same unit per byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Cost of the cell.
    pub cost: f64,
    /// Cost of its baseline.
    pub base: f64,
}

impl From<(f64, f64)> for Pair {
    fn from((cost, base): (f64, f64)) -> Self {
        Self { cost, base }
    }
}

impl Pair {
    /// The logarithm of the ratio. A cost below 0 is noise and counts as 0: 0 divided by a positive
    /// cost is the smallest of all ratios, a positive cost divided by 0 the largest, and 0 divided
    /// by 0 is `None`. Ranks tolerate a few such blocks. Sums do not: one such block can outweigh
    /// all others.
    pub fn log(&self) -> Option<f64> {
        Some((self.cost.max(0.0) / self.base.max(0.0)).ln()).filter(|log| !log.is_nan())
    }
}

/// Method by which a ratio was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Hodges-Lehmann over log ratios, signed-rank interval.
    HodgesLehmann,
    /// The ratio at which the signed ranks of cost - ratio x reference balance; its interval
    /// contains the ratios that their test does not reject.
    RankedDifferences,
}

/// A ratio of two costs over blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Below 1 if the cell is cheaper than its baseline. Finite, not negative.
    pub value: f64,
    /// `None` with too few blocks for the level. `low` is not negative; `high` may be infinite.
    pub interval: Option<Interval>,
    /// The estimator.
    pub method: Method,
    /// Two-sided p-value of the hypothesis that the ratio is 1: of the signed-rank test, and at
    /// least that of the wander.
    pub p_value: Option<f64>,
    /// Number of blocks with both costs.
    pub blocks: usize,
    /// Factor by which the interval is wider than one over independent blocks, because ratios
    /// wander: 1 or more.
    pub wander_inflation: f64,
}

impl Ratio {
    /// The larger of high/value - 1 and 1 - low/value: 0.025 is ±2.5 %. `None` without an interval
    /// or without an upper end.
    pub fn half_width(&self) -> Option<f64> {
        let interval = self.interval?;
        let half = (interval.high / self.value - 1.0).max(1.0 - interval.low / self.value);
        half.is_finite().then_some(half)
    }
}

/// The ratio of pairs, one per block.
///
/// `level` is the confidence level of the interval (see [`super::interim`]), `wander` what such
/// ratios wander: `None` where both costs are of one path, which wander together. `None` without a
/// pair, when the estimate of the baseline's cost is not positive, or when that of the cell's is
/// not and the ratio has no upper end.
pub fn ratio(pairs: &[Pair], level: f64, wander: Option<Wander>) -> Option<Ratio> {
    let is_finite = |pair: &Pair| pair.cost.is_finite() && pair.base.is_finite();
    let pairs: Vec<Pair> = pairs.iter().copied().filter(is_finite).collect();
    let found = log_ratio(&pairs, level, wander).or_else(|| ranked(&pairs, level, wander));
    // 0 is an answer where the interval has an end above it.
    let has_end = |ratio: &Ratio| ratio.interval.is_some_and(|ends| ends.high.is_finite());
    found.filter(|ratio| ratio.value > 0.0 || has_end(ratio))
}

fn log_ratio(pairs: &[Pair], level: f64, wander: Option<Wander>) -> Option<Ratio> {
    let logs: Vec<f64> = pairs.iter().filter_map(Pair::log).collect();
    let value = hodges_lehmann(&logs)?.exp();
    if !value.is_finite() || value <= 0.0 {
        return None;
    }
    let interval = wilcoxon_interval(&logs, level);
    let half = interval.map(|interval| (interval.high - interval.low) / 2.0);
    let inflation = inflation(half, logs.len(), level, wander);
    // Distances from the estimate grow in logarithms, in which the interval was computed.
    let widened = |log: f64| value * (log.exp() / value).powf(inflation);
    let interval = interval.map(|interval| Interval {
        low: widened(interval.low),
        high: widened(interval.high),
        achieved_confidence: interval.achieved_confidence,
    });
    Some(Ratio {
        value,
        interval,
        method: Method::HodgesLehmann,
        p_value: p_value(&logs, value, half, level, wander),
        blocks: logs.len(),
        wander_inflation: inflation,
    })
}

fn ranked(pairs: &[Pair], level: f64, wander: Option<Wander>) -> Option<Ratio> {
    let costs: Vec<(f64, f64)> = pairs.iter().map(|pair| (pair.cost, pair.base)).collect();
    let found = signed_rank_ratio(&costs, level)?;
    let value = found.estimate;
    let from =
        |ratio: f64| -> Vec<f64> { costs.iter().map(|(cost, base)| cost - ratio * base).collect() };
    // A small part of a ratio is as large in its logarithm, of which the wander is.
    let half = found.interval.map(|interval| (interval.high - interval.low) / 2.0 / value);
    let inflation = inflation(half, pairs.len(), level, wander);
    Some(Ratio {
        value,
        interval: found.interval.map(|interval| Interval {
            low: (value - inflation * (value - interval.low)).max(0.0),
            high: value + inflation * (interval.high - value),
            achieved_confidence: interval.achieved_confidence,
        }),
        method: Method::RankedDifferences,
        p_value: p_value(&from(1.0), value, half, level, wander),
        blocks: pairs.len(),
        wander_inflation: inflation,
    })
}

/// Factor by which an interval over blocks must be widened for the wander of ratios. `half` is its
/// half-width in logarithms.
fn inflation(half: Option<f64>, blocks: usize, level: f64, wander: Option<Wander>) -> f64 {
    wander.and_then(|wander| wander.inflation(half?, blocks, level)).unwrap_or(1.0)
}

/// The p-value of a ratio `value`, whose interval over blocks has the half-width `half` in
/// logarithms: that of the signed ranks of `values`, or of the distance from 1 in wander, whichever
/// is larger.
fn p_value(
    values: &[f64],
    value: f64,
    half: Option<f64>,
    level: f64,
    wander: Option<Wander>,
) -> Option<f64> {
    let wander = wander.filter(|wander| wander.variance > 0.0);
    let by_wander = wander.and_then(|it| it.p_value(value.ln(), half?, values.len(), level));
    wilcoxon_p_value(values).map(|p| p.max(by_wander.unwrap_or(0.0)))
}

/// The cost of a cell and the geometric mean of the costs of its divisors
/// ([`crate::PlanIndex::divisors`]) in one block, per KiB; `None` unless the block has them all.
///
/// The ratio is estimated from logarithms, whose mean is the logarithm of the geometric mean. The
/// arithmetic mean lies above it, and made ratios 0.1 to 1.0 % too small here. Where noise took a
/// cost to 0 or below there is no geometric mean, and the arithmetic one stands for it.
pub fn pair(
    costs: &[Option<TrialCost>],
    cell: usize,
    divisors: &[usize],
    side: Side,
) -> Option<Pair> {
    let trial = |cell: usize| costs.get(cell)?.as_ref();
    let below: Option<Vec<f64>> =
        divisors.iter().map(|&divisor| trial(divisor)?.ns_per_kib(side)).collect();
    let below = below.filter(|below| !below.is_empty())?;
    let above = trial(cell)?;
    Some(Pair { cost: above.ns_per_kib(side)?, base: geometric_mean(&below) })
}

/// The geometric mean; the arithmetic one if a value is not above 0.
fn geometric_mean(values: &[f64]) -> f64 {
    let mean = |values: &mut dyn Iterator<Item = f64>, n: usize| values.sum::<f64>() / n as f64;
    if values.iter().all(|value| *value > 0.0) {
        mean(&mut values.iter().map(|value| value.ln()), values.len()).exp()
    } else {
        mean(&mut values.iter().copied(), values.len())
    }
}

/// The [`pair`]s of all blocks that have one.
pub fn pairs(
    costs: &[Vec<Option<TrialCost>>],
    cell: usize,
    divisors: &[usize],
    side: Side,
) -> Vec<Pair> {
    costs.iter().filter_map(|block| pair(block, cell, divisors, side)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_divisors_with_noise_of_the_same_size_do_not_bias_the_ratio() {
        assert!((geometric_mean(&[0.8, 1.25]) - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[-0.5, 1.5]), 0.5);
        // Costs that are twice or half of 1 in turn, against twins that are the other.
        let noisy = |block: usize| if block.is_multiple_of(2) { 2.0 } else { 0.5 };
        let pairs: Vec<Pair> = (0..40)
            .map(|block| (noisy(block / 2), geometric_mean(&[noisy(block), noisy(block + 1)])))
            .map(Pair::from)
            .collect();
        let found = ratio(&pairs, 0.95, None).unwrap();
        assert!((found.value - 1.0).abs() < 1e-9, "{found:?}");
    }

    fn pairs_of(ratios: &[f64]) -> Vec<Pair> {
        let pair = |(ratio, n): (&f64, i32)| Pair::from((ratio * f64::from(n), f64::from(n)));
        ratios.iter().zip(1..).map(pair).collect()
    }

    #[test]
    fn a_factor_common_to_a_block_cancels() {
        let found = ratio(&pairs_of(&[0.5; 10]), 0.95, None).unwrap();
        assert!((found.value - 0.5).abs() < 1e-12);
        assert!(found.half_width().unwrap() < 1e-12);
        assert_eq!(found.method, Method::HodgesLehmann);
        assert!(found.p_value.unwrap() < 0.01);
    }

    #[test]
    fn too_few_blocks_have_an_estimate_and_no_interval() {
        let found = ratio(&pairs_of(&[0.5, 0.6, 0.7]), 0.95, None).unwrap();
        assert!((found.value - 0.6).abs() < 0.01);
        assert_eq!((found.interval, found.half_width()), (None, None));
        assert_eq!(ratio(&[], 0.95, None), None);
    }

    #[test]
    fn a_cost_below_zero_in_one_block_counts_as_the_smallest() {
        let mut pairs =
            pairs_of(&[0.10, 0.11, 0.12, 0.09, 0.10, 0.13, 0.12, 0.11, 0.10, 0.12, 0.11, 0.10]);
        let without = ratio(&pairs, 0.95, None).unwrap();
        pairs[3].cost = -0.5;
        let with = ratio(&pairs, 0.95, None).unwrap();
        assert_eq!(with.method, Method::HodgesLehmann);
        assert_eq!(with.blocks, 12, "the block is not dropped");
        assert!(with.value <= without.value && with.value > 0.09);
        assert!(with.interval.unwrap().low <= without.interval.unwrap().low);
    }

    #[test]
    fn costs_that_are_mostly_noise_are_ranked_as_differences() {
        let cells = [-0.2, 0.1, -0.1, 0.3, -0.3, 0.2, 0.1, -0.1, 0.15, -0.05, 0.2, -0.2];
        let pairs: Vec<Pair> = cells.iter().map(|cell| (*cell, 1.0).into()).collect();
        let found = ratio(&pairs, 0.95, None).unwrap();
        assert_eq!(found.method, Method::RankedDifferences);
        assert_eq!(found.interval.unwrap().low, 0.0);
        assert!(found.interval.unwrap().high < 0.3);
        assert_eq!(found, ratio(&pairs, 0.95, None).unwrap());
    }

    #[test]
    fn a_ratio_of_0_that_could_be_any_is_none() {
        let noise = [-9.0, 5.0, -7.0, 8.0, -6.0, 9.0, -8.0, 7.0, -5.0, 6.0, -4.0, 3.0];
        let bases = [9.0, -8.0, 7.0, -6.0, 8.0, -7.0, 9.0, -6.0, 5.0, -4.0, 6.0, -3.0];
        let pairs: Vec<Pair> =
            noise.iter().zip(bases).map(|(cost, base)| (*cost, base).into()).collect();
        assert_eq!(ratio(&pairs, 0.95, None), None);
    }

    #[test]
    fn one_block_without_a_reference_cost_and_one_stalled_block_do_not_matter() {
        let mut pairs = pairs_of(
            &[0.50, 0.51, 0.52, 0.49, 0.50, 0.53, 0.52, 0.51, 0.50, 0.52, 0.51, 0.50].repeat(4),
        );
        (pairs[3].base, pairs[7].cost) = (-0.1, 1e6);
        let found = ratio(&pairs, 0.95, None).unwrap();
        assert_eq!(found.method, Method::HodgesLehmann);
        assert!((found.value - 0.51).abs() < 0.01, "{found:?}");
        assert!(found.half_width().is_some_and(|half| half < 0.05), "{found:?}");
    }

    #[test]
    fn a_reference_whose_cost_is_not_positive_gives_no_ratio() {
        let pairs =
            |costs: &[(f64, f64)]| -> Vec<Pair> { costs.iter().copied().map(Pair::from).collect() };
        assert_eq!(ratio(&pairs(&[(1.0, -1.0), (1.0, -1.0), (1.0, -1.0)]), 0.95, None), None);
        assert_eq!(ratio(&pairs(&[(f64::NAN, 1.0), (1.0, f64::INFINITY)]), 0.95, None), None);
    }

    /// Ratios near 0.5, or costs near 0, in the order of blocks.
    fn scattered(at: impl Fn(f64) -> f64) -> Vec<Pair> {
        let noise = |block: usize| (block * 23 % 40) as f64 / 40.0 - 0.5;
        (0..40).map(|block| Pair::from((at(noise(block)), 1.0))).collect()
    }

    #[test]
    fn ratios_that_wander_have_a_wider_interval_and_a_larger_p_value() {
        let pairs = scattered(|noise| 0.5 * (0.02 * noise).exp());
        let wander = Wander { variance: 0.02_f64.powi(2), degrees_of_freedom: 7.0 };
        let (still, wandering) =
            (ratio(&pairs, 0.95, None).unwrap(), ratio(&pairs, 0.95, Some(wander)).unwrap());
        assert_eq!((still.wander_inflation, still.value), (1.0, wandering.value));
        let factor = wandering.wander_inflation;
        assert!(factor > 5.0, "{factor}");
        let logs = |ratio: &Ratio| {
            let interval = ratio.interval.unwrap();
            ((ratio.value / interval.low).ln(), (interval.high / ratio.value).ln())
        };
        assert!((logs(&wandering).0 - factor * logs(&still).0).abs() < 1e-12);
        assert!((logs(&wandering).1 - factor * logs(&still).1).abs() < 1e-12);
        assert!(wandering.p_value > still.p_value);
        // Thirty times the wander is no matter of chance, which ranks alone cannot say.
        assert!(wandering.p_value.unwrap() < 1e-6, "{wandering:?}");
    }

    #[test]
    fn a_p_value_is_one_less_the_confidence_of_the_interval_that_ends_at_1() {
        let wander = Wander { variance: 0.02_f64.powi(2), degrees_of_freedom: 7.0 };
        for value in [0.96, 1.05, 0.92] {
            let pairs = scattered(|noise| value * (0.02 * noise).exp());
            let p = ratio(&pairs, 0.95, Some(wander)).unwrap().p_value.unwrap();
            let holds_one = |p: f64| {
                let found = ratio(&pairs, 1.0 - p, Some(wander)).unwrap();
                (found.interval.unwrap().low..found.interval.unwrap().high).contains(&1.0)
            };
            // Far out, quantiles of forty ranks are not those of the normal distribution.
            assert!(holds_one(0.5 * p) && !holds_one(2.0 * p), "{p} of {value}");
        }
    }

    #[test]
    fn ranked_differences_are_widened_too_and_stay_above_zero() {
        let pairs = scattered(|noise| 0.2 * noise + 0.01);
        let wander = Wander { variance: 4.0, degrees_of_freedom: 7.0 };
        let found = ratio(&pairs, 0.95, Some(wander)).unwrap();
        assert_eq!(found.method, Method::RankedDifferences);
        assert!(found.wander_inflation > 1.5, "{found:?}");
        assert_eq!(found.interval.unwrap().low, 0.0);
    }
}
