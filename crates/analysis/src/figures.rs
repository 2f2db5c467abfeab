//! Medians with intervals over blocks. Neighbouring blocks are alike, so intervals take their
//! correlation into account.

use zc_stats::{Interval, Wander, median, median_interval_of_series};

use crate::model::figure::{Bounds, Figure, RatioFigure, RatioMethod};
use crate::ratios::{Method, Ratio};

pub(super) use crate::division::{finite, per};

/// The median of a series in the order of measurement, with its interval.
pub(super) fn figure(values: &[f64], level: f64) -> Option<Figure> {
    let values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let value = finite(median(&values)?)?;
    Some(with_interval(
        value,
        median_interval_of_series(&values, level).and_then(bounds),
        values.len(),
    ))
}

/// The [`figure`] of a series of costs, its interval widened for what costs of the run wander. The
/// common part of neighbouring blocks is partly counted twice. Counted once, intervals of recorded
/// runs held too little of what later runs gave (docs/performance.md, "Wander").
pub(super) fn cost_figure(values: &[f64], wander: Option<Wander>, level: f64) -> Option<Figure> {
    let figure = figure(values, level)?;
    let half = figure.half_width.and_then(|half| per(half, figure.value));
    let factor =
        wander.zip(half).and_then(|(wander, half)| wander.inflation(half, figure.blocks, level));
    let Some(factor) = factor else { return Some(figure) };
    let away = |end: f64| figure.value + factor * (end - figure.value);
    let interval = figure.interval.map(|interval| Bounds {
        low: away(interval.low),
        high: interval.high.map(away),
        ..interval
    });
    Some(with_interval(figure.value, interval, figure.blocks))
}

/// A figure with the half-width of its interval.
pub(super) fn with_interval(value: f64, interval: Option<Bounds>, blocks: usize) -> Figure {
    let half_width = interval
        .and_then(|interval| interval.high.map(|high| (high - value).max(value - interval.low)))
        .and_then(finite);
    Figure { value, interval, half_width, blocks }
}

/// A figure in another unit: all its numbers multiplied by `by`, which is above 0.
pub(super) fn scaled(figure: &Figure, by: f64) -> Figure {
    Figure {
        value: figure.value * by,
        interval: figure.interval.map(|interval| scaled_bounds(interval, by)),
        half_width: figure.half_width.map(|half| half * by),
        blocks: figure.blocks,
    }
}

/// An interval with both ends multiplied by `by`, which is above 0.
pub(super) fn scaled_bounds(interval: Bounds, by: f64) -> Bounds {
    Bounds { low: interval.low * by, high: interval.high.map(|high| high * by), ..interval }
}

/// Gbit/s that one CPU carries (bits per nanosecond), from a cost in ns per KiB. `None` for a cost
/// that is not above 0.
pub(super) fn gbit_per_core(cost: &Figure) -> Option<Figure> {
    let gbit = |ns_per_kib: f64| per(8.0 * 1024.0, ns_per_kib);
    let interval = cost.interval.and_then(|interval| {
        Some(Bounds {
            low: gbit(interval.high?)?,
            high: gbit(interval.low),
            confidence: interval.confidence,
        })
    });
    Some(with_interval(gbit(cost.value)?, interval, cost.blocks))
}

/// An interval with `None` for an infinite upper end; `None` when the lower end is infinite.
pub(super) fn bounds(interval: Interval) -> Option<Bounds> {
    Some(Bounds {
        low: finite(interval.low)?,
        high: finite(interval.high),
        confidence: interval.achieved_confidence,
    })
}

pub(super) fn ratio_figure(ratio: &Ratio, target: f64) -> RatioFigure {
    let interval = ratio.interval.and_then(bounds);
    let half_width = ratio.half_width().filter(|_| interval.is_some());
    RatioFigure {
        value: ratio.value,
        interval,
        half_width,
        converged: half_width.is_some_and(|half| half <= target),
        method: match ratio.method {
            Method::HodgesLehmann => RatioMethod::HodgesLehmann,
            Method::RankedDifferences => RatioMethod::RankedDifferences,
        },
        p_value: ratio.p_value,
        blocks: ratio.blocks,
        wander_inflation: ratio.wander_inflation,
        not_enough_blocks: interval.is_none(),
    }
}
