//! The ratio of two cells' costs as an effect with its uncertainty.
//!
//! **In one run** both cells are in the same blocks: [`crate::ratios`] computes the ratio, like
//! every ratio of a run.
//!
//! **In two runs** blocks are independent of one another. The estimator is the median of all
//! differences of logarithms (Hodges and Lehmann), which one stalled trial does not move. Its
//! standard error comes from the width of the Mann-Whitney interval, which has the right size if
//! blocks are independent. They are not quite: neighbours of a machine come and go in seconds, and
//! blocks take tenths of seconds. So the variance is multiplied by the blocks' autocorrelation time
//! ([`zc_stats::autocorrelation_time`]). The variation between two runs of one state is added as a
//! variance component (`spread`). The result has Student's t distribution.

use zc_stats::{
    MannWhitney, StudentT, Wander, hodges_lehmann, mann_whitney, welch_interval, wilcoxon_interval,
};

use super::model::{Change, Method, WelchFigure};
use super::spread::Spread;
use crate::controls::Limits;
use crate::figures;
use crate::model::figure::RatioMethod;
use crate::ratios::{self, Pair, Ratio, ratio};

/// Simultaneous confidence level of the verdicts of a comparison, and that of each interval between
/// two runs.
pub(super) const CONFIDENCE: f64 = 0.95;

/// Half-width of the Mann-Whitney interval divided by its standard error: the normal quantile of
/// 0.975.
const NORMAL_QUANTILE_975: f64 = 1.959_963_985;

/// A cell with a larger share of costs without a logarithm is at the noise floor and not compared.
pub(super) const NON_FINITE_LIMIT: f64 = 0.25;

/// Bound of logarithms: that of a cost at or below 0 becomes -40, below all others.
const LOG_LIMIT: f64 = 40.0;

/// With fewer blocks on a side there is an estimate and no interval.
pub(super) const MIN_BLOCKS: usize = 6;

/// The estimate of one ratio, with what its tests need.
#[derive(Debug, Clone)]
pub(super) enum Effect {
    /// The new cell over the old one, of one run. No test says what the error of the run's controls
    /// could explain, or what they could not have seen.
    Paired { pairs: Vec<Pair>, level: f64, wander: Option<Wander>, ratio: Ratio, limits: Limits },
    /// A shift of logarithms between two runs.
    Independent { shift: f64, error: Option<(f64, StudentT)>, method: Method },
}

impl Effect {
    /// The effect between two cells of one run: the new one over the old one in each block. `level`
    /// and `wander` as in [`ratio`], `limits` as in [`Effect::Paired`].
    pub(super) fn paired(
        pairs: Vec<Pair>,
        level: f64,
        wander: Option<Wander>,
        limits: Limits,
    ) -> Option<Self> {
        let ratio = ratio(&pairs, level, wander)?;
        Some(Self::Paired { pairs, level, wander, ratio, limits })
    }

    fn limits(&self) -> Limits {
        match self {
            Self::Paired { limits, .. } => *limits,
            Self::Independent { .. } => Limits::NONE,
        }
    }

    /// Whether the controls could have seen a difference of its size.
    pub(super) fn is_resolved(&self) -> bool {
        self.change().is_some_and(|change| self.limits().resolve(change.ratio))
    }

    /// Whether the controls support that it is not above a margin: it is a saving that they could
    /// have seen, or they could have seen a difference of the margin.
    pub(super) fn resolves(&self, margin: f64) -> bool {
        let saves = self.change().is_some_and(|change| change.ratio < 1.0);
        (saves && self.is_resolved()) || self.limits().resolution <= 1.0 + margin
    }

    /// The effect between two runs: logarithms of costs, or of ratios to a reference, by block.
    /// `between` is what a logarithm differs by between runs of one state; without it there is no
    /// interval.
    pub(super) fn independent(old: &[f64], new: &[f64], between: Option<Spread>) -> Option<Self> {
        let non_finite = |logs: &[f64]| logs.iter().filter(|log| !log.is_finite()).count() as f64;
        if old.is_empty() || new.is_empty() {
            return None;
        }
        if non_finite(old) > NON_FINITE_LIMIT * old.len() as f64
            || non_finite(new) > NON_FINITE_LIMIT * new.len() as f64
        {
            return None;
        }
        let (of_old, of_new) = (bounded(old), bounded(new));
        let MannWhitney { shift, interval, p_value, .. } =
            mann_whitney(&of_new, &of_old, CONFIDENCE)?;
        let inflation = (zc_stats::autocorrelation_time(&of_old)?
            + zc_stats::autocorrelation_time(&of_new)?)
            / 2.0;
        let enough = old.len().min(new.len()) >= MIN_BLOCKS;
        let within = interval.filter(|_| enough).map(|interval| {
            (interval.high - interval.low) / 2.0 / NORMAL_QUANTILE_975 * inflation.sqrt()
        });
        let degrees_of_freedom = (old.len() + new.len()) as f64 / inflation - 2.0;
        let error = within.and_then(|within| standard_error(within, degrees_of_freedom, between?));
        let method = Method::Independent {
            old_blocks: old.len(),
            new_blocks: new.len(),
            correlation_inflation: inflation,
            between_runs: between.map(Spread::deviation),
            mann_whitney_p: figures::finite(p_value),
            welch: (non_finite(old) + non_finite(new) == 0.0).then(|| welch(new, old)).flatten(),
        };
        Some(Self::Independent { shift, error, method })
    }

    /// The effect as data; `None` for a ratio that is not finite.
    pub(super) fn change(&self) -> Option<Change> {
        match self {
            Self::Paired { ratio, .. } => Some(Change {
                ratio: ratio.value,
                low: ratio.interval.and_then(|interval| figures::finite(interval.low)),
                high: ratio.interval.and_then(|interval| figures::finite(interval.high)),
                p_value: ratio.p_value,
                method: Method::Paired {
                    of: match ratio.method {
                        ratios::Method::HodgesLehmann => RatioMethod::HodgesLehmann,
                        ratios::Method::RankedDifferences => RatioMethod::RankedDifferences,
                    },
                    blocks: ratio.blocks,
                },
            }),
            Self::Independent { shift, error, method } => {
                let half_width_of = |(error, student): &(f64, StudentT)| {
                    Some(error * student.critical_value(CONFIDENCE)?)
                };
                let half = error.as_ref().and_then(half_width_of);
                let end = |log: f64| figures::finite(log.exp());
                Some(Change {
                    ratio: end(*shift)?,
                    low: half.and_then(|half| end(shift - half)),
                    high: half.and_then(|half| end(shift + half)),
                    p_value: error
                        .as_ref()
                        .map(|(error, student)| 2.0 * student.survival((shift / error).abs()))
                        .filter(|p| p.is_finite()),
                    method: *method,
                })
            }
        }
    }

    /// The largest distance from 1 that the effect may have, as a share: [`Change::within`] with
    /// the error of the controls on top, and no less than they could have seen.
    pub(super) fn within(&self) -> Option<f64> {
        let Limits { error, resolution } = self.limits();
        let factor = (1.0 + self.change()?.within()?) * error;
        figures::finite(factor.max(resolution) - 1.0)
    }

    /// One-sided p-values of the hypotheses that the ratio is not above, and not below, 1 +
    /// `margin`; `None` with too few blocks.
    pub(super) fn one_sided_p_values(&self, margin: f64) -> Option<(f64, f64)> {
        match self {
            Self::Paired { pairs, level, wander, limits: Limits { error, .. }, .. } => {
                // The p-values of a ratio not above, and not below, `bound`.
                let at = |bound: f64| {
                    let moved: Vec<Pair> = pairs
                        .iter()
                        .map(|pair| Pair { base: pair.base * bound, ..*pair })
                        .collect();
                    let found = ratio(&moved, *level, *wander)?;
                    found.interval?;
                    let p = found.p_value? / 2.0;
                    Some(if found.value >= 1.0 { (p, 1.0 - p) } else { (1.0 - p, p) })
                };
                let (above, below) = at((1.0 + margin) * error)?;
                let below = if *error == 1.0 { below } else { at((1.0 + margin) / error)?.1 };
                Some((above, below))
            }
            Self::Independent { shift, error, .. } => {
                let (error, student) = error.as_ref()?;
                let off = (shift - margin.ln_1p()) / error;
                off.is_finite().then(|| (student.survival(off), student.survival(-off)))
            }
        }
    }

    /// One-sided upper confidence bound of the ratio at level 1 - `alpha`; `None` with too few
    /// blocks.
    pub(super) fn upper_bound(&self, alpha: f64) -> Option<f64> {
        let high = match self {
            Self::Paired { pairs, wander, limits: Limits { error, resolution }, .. } => {
                let found = ratio(pairs, 1.0 - 2.0 * alpha, *wander)?;
                let unseen = if found.value * resolution < 1.0 { 0.0 } else { *resolution };
                (found.interval?.high * error).max(unseen)
            }
            Self::Independent { shift, error, .. } => {
                let (error, student) = error.as_ref()?;
                (shift + error * student.critical_value(1.0 - 2.0 * alpha)?).exp()
            }
        };
        figures::finite(high)
    }
}

/// Standard error of the difference of two runs' logarithms, and its distribution: `within` is its
/// standard error by their blocks, with `degrees_of_freedom`; each run adds `between`. Degrees of
/// freedom of the sum by Satterthwaite's approximation.
pub(super) fn standard_error(
    within: f64,
    degrees_of_freedom: f64,
    between: Spread,
) -> Option<(f64, StudentT)> {
    let between = between.times(2.0);
    let variance = within.powi(2) + between.variance;
    let of_estimate = 2.0 * within.powi(4) / degrees_of_freedom + between.variance_of_estimate;
    let freedom = if of_estimate > 0.0 { 2.0 * variance.powi(2) / of_estimate } else { f64::MAX };
    Some((variance.sqrt(), StudentT::new(freedom.clamp(1.0, 1e9))?))
}

/// The location of one run's logarithms and its standard error, by the one-sample counterpart of
/// [`Effect::independent`]. `None` with too few blocks.
pub(super) fn level(logs: &[f64]) -> Option<(f64, f64)> {
    if logs.len() < MIN_BLOCKS {
        return None;
    }
    let logs = bounded(logs);
    let interval = wilcoxon_interval(&logs, CONFIDENCE)?;
    let inflation = zc_stats::autocorrelation_time(&logs)?;
    let error = (interval.high - interval.low) / 2.0 / NORMAL_QUANTILE_975 * inflation.sqrt();
    Some((hodges_lehmann(&logs)?, error))
}

/// Logarithms with those of costs at or below 0 at the end of the order.
fn bounded(logs: &[f64]) -> Vec<f64> {
    logs.iter().map(|log| log.clamp(-LOG_LIMIT, LOG_LIMIT)).collect()
}

fn welch(new: &[f64], old: &[f64]) -> Option<WelchFigure> {
    let welch = welch_interval(new, old, CONFIDENCE)?;
    let (ratio, low, high) =
        (welch.difference.exp(), welch.interval.low.exp(), welch.interval.high.exp());
    let all = [ratio, low, high, welch.degrees_of_freedom];
    all.iter().all(|value| value.is_finite()).then_some(WelchFigure {
        ratio,
        low,
        high,
        degrees_of_freedom: welch.degrees_of_freedom,
    })
}
