//! The cost of a cell divided by that of its baseline, over blocks, with an interval.
//!
//! The logarithm of the ratio is taken per block. What slows a whole block cancels in it, and equal
//! noise in both costs makes its distribution symmetric, as the signed-rank interval assumes. The
//! cost is a difference, so by noise it may be 0 or less in a block. The log ratio of such a block
//! is minus infinity. The Hodges-Lehmann estimate and the signed ranks only use its place in the
//! order, so the block counts and is not dropped for a small cost. Where that is not enough, the
//! signed ranks of cost minus ratio times reference are used instead: when the reference itself is
//! at or below 0, or so many costs of the cell are that the estimate has no logarithm.
//!
//! These intervals hold for blocks that are independent. Blocks of one session have in common what
//! was drawn for it ([`zc_run::Block::session`]), so an interval is widened to that over sessions
//! ([`zc_stats::cluster_inflation`]) where that one is wider.

use zc_stats::{
    Interval, cluster_inflation, hodges_lehmann, inflated_p_value, signed_rank_ratio,
    wilcoxon_interval, wilcoxon_p_value,
};

use super::costs::{Side, TrialCost, block_costs};
use super::plan_index::PlanIndex;
use zc_run::{Block, Header};

/// Fewer sessions say too little about what they differ by: an interval over five would be 1.4
/// times as wide as over blocks where nothing differs.
const FEWEST_SESSIONS: usize = 6;

/// The costs of a cell and of its baseline in one block, in the same unit per byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Of the cell.
    pub cost: f64,
    /// Of its baseline.
    pub base: f64,
    /// The session of the block.
    pub session: usize,
}

impl From<(f64, f64)> for Pair {
    /// Cost and baseline, in the first session.
    fn from((cost, base): (f64, f64)) -> Self {
        Self { cost, base, session: 0 }
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

/// How a ratio was computed.
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
    /// Two-sided signed-rank p-value of the hypothesis that the ratio is 1.
    pub p_value: Option<f64>,
    /// Number of blocks with both costs.
    pub blocks: usize,
    /// How many times as wide the interval is as one over independent blocks: 1 or more, and 1 with
    /// fewer than six sessions.
    pub session_inflation: f64,
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
/// `level` is the confidence level of the interval (see [`super::interim`]). `None` without a pair,
/// or when the estimate of the baseline's cost is not positive.
pub fn ratio(pairs: &[Pair], level: f64) -> Option<Ratio> {
    let is_finite = |pair: &Pair| pair.cost.is_finite() && pair.base.is_finite();
    let pairs: Vec<Pair> = pairs.iter().copied().filter(is_finite).collect();
    log_ratio(&pairs, level).or_else(|| ranked(&pairs, level))
}

fn log_ratio(pairs: &[Pair], level: f64) -> Option<Ratio> {
    let (logs, sessions): (Vec<f64>, Vec<usize>) =
        pairs.iter().filter_map(|pair| Some((pair.log()?, pair.session))).unzip();
    let value = hodges_lehmann(&logs)?.exp();
    if !value.is_finite() || value <= 0.0 {
        return None;
    }
    let inflation = session_inflation(&logs, &sessions, level);
    // Distances from the estimate grow in logarithms, in which the interval was computed.
    let widened = |log: f64| value * (log.exp() / value).powf(inflation);
    let interval = wilcoxon_interval(&logs, level).map(|interval| Interval {
        low: widened(interval.low),
        high: widened(interval.high),
        achieved_confidence: interval.achieved_confidence,
    });
    Some(Ratio {
        value,
        interval,
        method: Method::HodgesLehmann,
        p_value: wilcoxon_p_value(&logs).and_then(|p| inflated_p_value(p, inflation)),
        blocks: logs.len(),
        session_inflation: inflation,
    })
}

fn ranked(pairs: &[Pair], level: f64) -> Option<Ratio> {
    let costs: Vec<(f64, f64)> = pairs.iter().map(|pair| (pair.cost, pair.base)).collect();
    let found = signed_rank_ratio(&costs, level)?;
    let value = found.estimate;
    let from =
        |ratio: f64| -> Vec<f64> { costs.iter().map(|(cost, base)| cost - ratio * base).collect() };
    let sessions: Vec<usize> = pairs.iter().map(|pair| pair.session).collect();
    let inflation = session_inflation(&from(value), &sessions, level);
    Some(Ratio {
        value,
        interval: found.interval.map(|interval| Interval {
            low: (value - inflation * (value - interval.low)).max(0.0),
            high: value + inflation * (interval.high - value),
            achieved_confidence: interval.achieved_confidence,
        }),
        method: Method::RankedDifferences,
        p_value: wilcoxon_p_value(&from(1.0)).and_then(|p| inflated_p_value(p, inflation)),
        blocks: pairs.len(),
        session_inflation: inflation,
    })
}

/// How many times as wide an interval must be, in the scale of `values`, to hold over sessions.
fn session_inflation(values: &[f64], sessions: &[usize], level: f64) -> f64 {
    let mut different = sessions.to_vec();
    different.sort_unstable();
    different.dedup();
    if different.len() < FEWEST_SESSIONS {
        return 1.0;
    }
    cluster_inflation(values, sessions, level).unwrap_or(1.0)
}

/// The cost of a cell and the geometric mean of the costs of its divisors
/// ([`PlanIndex::divisors`]) in one block, per KiB; `None` unless the block has them all.
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
    let (cost, base) = (above.ns_per_kib(side)?, geometric_mean(&below));
    Some(Pair { cost, base, session: above.session })
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

/// The progress of a run: the ratio of each cell of the plan (of both sides together) over the
/// blocks kept so far; `None` for cells without a baseline, and for those without a cost yet.
pub fn progress(blocks: &[Block], header: &Header, level: f64) -> Vec<Option<Ratio>> {
    let index = PlanIndex::of(&header.plan);
    let costs: Vec<_> = blocks
        .iter()
        .filter(|block| block.dropped.is_none())
        .map(|block| block_costs(block, header, &index))
        .collect();
    let of = |cell| ratio(&pairs(&costs, cell, &index.divisors(cell), Side::Both), level);
    (0..header.plan.cells.len()).map(of).collect()
}

/// Whether every cell with a baseline has a ratio whose half-width is within `target`.
pub fn all_within(progress: &[Option<Ratio>], header: &Header) -> bool {
    let (plan, index) = (&header.plan, PlanIndex::of(&header.plan));
    let referring: Vec<usize> =
        (0..plan.cells.len()).filter(|cell| index.baseline(*cell).is_some()).collect();
    let half_width = |cell: usize| progress.get(cell)?.as_ref()?.half_width();
    !referring.is_empty()
        && referring
            .into_iter()
            .all(|cell| half_width(cell).is_some_and(|half| half <= plan.target))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{Plan, SendPath};
    use zc_testkit::synthetic::{Synthetic, size_sweep};

    #[test]
    fn a_cell_is_divided_by_its_baseline() {
        let paths = [(SendPath::ReadSend, 300.0, 400.0), (SendPath::Sendfile, 400.0, 100.0)];
        let world = Synthetic {
            cells: size_sweep(&paths, &[1024, 65_536]),
            blocks: 30,
            ..Synthetic::default()
        };
        let run = world.run();
        let mut plan = run.header.plan.clone();
        // read+send 1024 with its control in the fifth place, sendfile 1024, read+send 65536,
        // sendfile 65536
        let of = |plan: &Plan| {
            let index = PlanIndex::of(plan);
            (0..5).map(|cell| index.divisors(cell)).collect::<Vec<_>>()
        };
        assert_eq!(of(&plan), [vec![], vec![0, 4], vec![], vec![2], vec![0]]);
        plan.cells[2].by = None;
        plan.cells[1].by = None;
        assert_eq!(
            of(&plan),
            [vec![], vec![0, 4], vec![0, 4], vec![2], vec![0]],
            "a baseline may have a baseline"
        );
        plan.cells[3].by = Some("nobody".to_owned());
        let index = PlanIndex::of(&plan);
        assert_eq!(index.baseline(3), None);
        assert_eq!((index.baseline(99), index.divisors(99)), (None, vec![]));

        let found = progress(&run.blocks, &run.header, 0.95);
        let has: Vec<bool> = found.iter().map(Option::is_some).collect();
        assert_eq!(has, [false, true, false, true, true]);
        let mut header = run.header.clone();
        header.plan.target = 0.5;
        assert!(all_within(&found, &header), "cells without a ratio do not count");
        header.plan.target = 1e-6;
        assert!(!all_within(&found, &header) && !all_within(&[], &header));
    }

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
        let found = ratio(&pairs, 0.95).unwrap();
        assert!((found.value - 1.0).abs() < 1e-9, "{found:?}");
    }

    fn pairs_of(ratios: &[f64]) -> Vec<Pair> {
        let pair = |(ratio, n): (&f64, i32)| Pair::from((ratio * f64::from(n), f64::from(n)));
        ratios.iter().zip(1..).map(pair).collect()
    }

    #[test]
    fn a_factor_common_to_a_block_cancels() {
        let found = ratio(&pairs_of(&[0.5; 10]), 0.95).unwrap();
        assert!((found.value - 0.5).abs() < 1e-12);
        assert!(found.half_width().unwrap() < 1e-12);
        assert_eq!(found.method, Method::HodgesLehmann);
        assert!(found.p_value.unwrap() < 0.01);
    }

    #[test]
    fn too_few_blocks_have_an_estimate_and_no_interval() {
        let found = ratio(&pairs_of(&[0.5, 0.6, 0.7]), 0.95).unwrap();
        assert!((found.value - 0.6).abs() < 0.01);
        assert_eq!((found.interval, found.half_width()), (None, None));
        assert_eq!(ratio(&[], 0.95), None);
    }

    #[test]
    fn a_cost_below_zero_in_one_block_counts_as_the_smallest() {
        let mut pairs =
            pairs_of(&[0.10, 0.11, 0.12, 0.09, 0.10, 0.13, 0.12, 0.11, 0.10, 0.12, 0.11, 0.10]);
        let without = ratio(&pairs, 0.95).unwrap();
        pairs[3].cost = -0.5;
        let with = ratio(&pairs, 0.95).unwrap();
        assert_eq!(with.method, Method::HodgesLehmann);
        assert_eq!(with.blocks, 12, "the block is not dropped");
        assert!(with.value <= without.value && with.value > 0.09);
        assert!(with.interval.unwrap().low <= without.interval.unwrap().low);
    }

    #[test]
    fn costs_that_are_mostly_noise_are_ranked_as_differences() {
        let cells = [-0.2, 0.1, -0.1, 0.3, -0.3, 0.2, 0.1, -0.1, 0.15, -0.05, 0.2, -0.2];
        let pairs: Vec<Pair> = cells.iter().map(|cell| (*cell, 1.0).into()).collect();
        let found = ratio(&pairs, 0.95).unwrap();
        assert_eq!(found.method, Method::RankedDifferences);
        assert_eq!(found.interval.unwrap().low, 0.0);
        assert!(found.interval.unwrap().high < 0.3);
        assert_eq!(found, ratio(&pairs, 0.95).unwrap());
    }

    #[test]
    fn one_block_without_a_reference_cost_and_one_stalled_block_do_not_matter() {
        let mut pairs = pairs_of(
            &[0.50, 0.51, 0.52, 0.49, 0.50, 0.53, 0.52, 0.51, 0.50, 0.52, 0.51, 0.50].repeat(4),
        );
        (pairs[3].base, pairs[7].cost) = (-0.1, 1e6);
        let found = ratio(&pairs, 0.95).unwrap();
        assert_eq!(found.method, Method::HodgesLehmann);
        assert!((found.value - 0.51).abs() < 0.01, "{found:?}");
        assert!(found.half_width().is_some_and(|half| half < 0.05), "{found:?}");
    }

    #[test]
    fn a_reference_whose_cost_is_not_positive_gives_no_ratio() {
        let pairs =
            |costs: &[(f64, f64)]| -> Vec<Pair> { costs.iter().copied().map(Pair::from).collect() };
        assert_eq!(ratio(&pairs(&[(1.0, -1.0), (1.0, -1.0), (1.0, -1.0)]), 0.95), None);
        assert_eq!(ratio(&pairs(&[(f64::NAN, 1.0), (1.0, f64::INFINITY)]), 0.95), None);
    }

    /// Ratios near 0.5 in blocks of `sessions` sessions, which differ by so much.
    fn in_sessions(sessions: usize, by: f64) -> Vec<Pair> {
        let noise = |block: usize| (block * 23 % 40) as f64 / 40.0 - 0.5;
        let of = |block: usize| {
            let session = block * sessions / 40;
            let log = 0.02 * noise(block) + by * (session as f64 - (sessions - 1) as f64 / 2.0);
            Pair { cost: 0.5 * log.exp(), base: 1.0, session }
        };
        (0..40).map(of).collect()
    }

    #[test]
    fn blocks_that_are_alike_within_sessions_make_the_interval_wider() {
        let (apart, alike) = (in_sessions(10, 0.0), in_sessions(10, 0.01));
        let bare = |pairs: &[Pair]| {
            let pairs: Vec<Pair> = pairs.iter().map(|pair| Pair { session: 0, ..*pair }).collect();
            ratio(&pairs, 0.95).unwrap()
        };
        assert_eq!(bare(&alike).session_inflation, 1.0);
        assert!(ratio(&apart, 0.95).unwrap().session_inflation < 1.4);
        let (found, bare) = (ratio(&alike, 0.95).unwrap(), bare(&alike));
        assert!(found.session_inflation > 1.8, "{found:?}");
        assert_eq!(found.value, bare.value);
        let logs = |ratio: &Ratio| {
            let interval = ratio.interval.unwrap();
            ((ratio.value / interval.low).ln(), (interval.high / ratio.value).ln())
        };
        let factor = found.session_inflation;
        assert!((logs(&found).0 - factor * logs(&bare).0).abs() < 1e-12);
        assert!((logs(&found).1 - factor * logs(&bare).1).abs() < 1e-12);
        assert!(found.p_value > bare.p_value);
    }

    #[test]
    fn few_sessions_say_nothing_about_what_they_differ_by() {
        assert_eq!(ratio(&in_sessions(5, 0.01), 0.95).unwrap().session_inflation, 1.0);
        assert!(ratio(&in_sessions(6, 0.01), 0.95).unwrap().session_inflation > 1.5);
    }

    #[test]
    fn ranked_differences_are_widened_too_and_stay_above_zero() {
        let noise = |block: usize| (block * 23 % 40) as f64 / 40.0 - 0.5;
        let of = |block: usize| {
            let session = block / 4;
            let cost = 0.2 * noise(block) + 0.05 * (session as f64 - 4.5);
            Pair { cost, base: 1.0, session }
        };
        let found = ratio(&(0..40).map(of).collect::<Vec<_>>(), 0.95).unwrap();
        assert_eq!(found.method, Method::RankedDifferences);
        assert!(found.session_inflation > 1.5, "{found:?}");
        assert_eq!(found.interval.unwrap().low, 0.0);
    }
}
