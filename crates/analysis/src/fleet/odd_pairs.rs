//! Pairs of hosts, by direction, that cost what their hosts do not tell: a wire, a switch, a port.
//!
//! The test is that of a shift of all runs of one pair: with d the indicator of these runs and P the
//! projection of the fit, the shift is d'P y / d'P d, and its variance 1 / d'P d (as for an outlier
//! in a linear model: Cook and Weisberg, "Residuals and Influence in Regression", 1982, section
//! 2.2). What effects of hosts have already taken of it is given back. Shifts of both ends count
//! together, as wholly correlated: the sessions are the same.

use std::collections::BTreeMap;

use zc_stats::{StudentT, false_discovery_q_values, mad};

use super::estimate::FALSE_DISCOVERY_RATE;
use super::model::OddPair;
use super::observations::Observed;
use super::odd_hosts::OnAverage;
use crate::interim::CONFIDENCE;

/// Median absolute deviation of a normal distribution, in standard deviations.
const MAD_OF_NORMAL: f64 = 0.674_49;

/// A pair whose effects take more than this share of a shift is not examined: hosts with hardly
/// another partner.
const MOST_TAKEN: f64 = 0.9;

/// Fewest pairs whose scatter is known.
const LEAST_PAIRS: usize = 12;

/// Robust standard deviations beyond which a pair has no part in the scatter.
const FAR: f64 = 3.5;

/// The standard deviation of a normal distribution that is cut at [`FAR`].
const CUT: f64 = 0.9968;

/// Sums over the runs of a pair at one end.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    runs: usize,
    /// Residuals by variances.
    residuals: f64,
    /// One by variances.
    weights: f64,
    /// Standard deviations of what was fitted, by variances.
    fitted: f64,
}

/// A shift of a pair in logarithms, and its variance.
#[derive(Debug, Clone, Copy, Default)]
struct Shift {
    ends: f64,
    runs: usize,
    shift: f64,
    variance: f64,
}

/// Odd pairs, and how many were examined.
pub(super) fn odd_pairs(
    observed: &Observed<'_>,
    on_average: &[OnAverage],
) -> (Vec<OddPair>, usize) {
    let shifts = shifts(observed, on_average);
    let standardised: Vec<f64> =
        shifts.values().map(|each| each.shift / each.variance.sqrt()).collect();
    if shifts.len() < LEAST_PAIRS {
        return (Vec::new(), 0);
    }
    let Some((scale, freedom)) = scale(&standardised) else { return (Vec::new(), 0) };
    let Some(student) = StudentT::new(freedom) else { return (Vec::new(), 0) };
    let p_values: Vec<f64> = standardised
        .iter()
        .map(|each| (2.0 * student.survival(each.abs() / scale)).clamp(0.0, 1.0))
        .collect();
    let q_values = false_discovery_q_values(&p_values).unwrap_or_default();
    let critical = student.critical_value(CONFIDENCE).unwrap_or(f64::INFINITY);
    let name = |host: usize| observed.grouped.hosts[host].clone();
    let mut found: Vec<(f64, OddPair)> = Vec::new();
    for (((near, far), each), (p_value, q_value)) in
        shifts.iter().zip(p_values.iter().zip(&q_values))
    {
        let half = critical * scale * each.variance.sqrt();
        let ends = [each.shift, each.shift - half, each.shift + half].map(f64::exp);
        if *q_value > FALSE_DISCOVERY_RATE || !ends.iter().all(|end| end.is_finite()) {
            continue;
        }
        let other = shifts.get(&(*far, *near)).map(|other| other.shift.exp());
        let odd = OddPair {
            near: name(*near),
            far: name(*far),
            runs: each.runs,
            by: ends[0],
            low: ends[1],
            high: ends[2],
            other_direction: other.filter(|other| other.is_finite()),
            q_value: *q_value,
        };
        found.push((*p_value, odd));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.near.cmp(&b.1.near)));
    (found.into_iter().map(|(_, odd)| odd).collect(), shifts.len())
}

/// The shift of each pair of hosts, the sender first.
fn shifts(observed: &Observed<'_>, on_average: &[OnAverage]) -> BTreeMap<(usize, usize), Shift> {
    let mut shifts: BTreeMap<(usize, usize), Shift> = BTreeMap::new();
    for OnAverage { fitted, .. } in on_average {
        let mut sums: BTreeMap<(usize, usize), Sums> = BTreeMap::new();
        for (at, run) in fitted.runs.iter().enumerate() {
            let Some(pair) = observed.grouped.pair(*run) else { continue };
            let effects = &fitted.effects;
            let own = effects.own_variances[at];
            let sum = sums.entry(pair).or_default();
            sum.runs += 1;
            sum.residuals += effects.residuals[at] / own;
            sum.weights += 1.0 / own;
            sum.fitted += effects.fitted_variances[at].max(0.0).sqrt() / own;
        }
        for (pair, sum) in sums {
            let left = sum.weights - sum.fitted.powi(2);
            if left < (1.0 - MOST_TAKEN) * sum.weights {
                continue;
            }
            let shift = shifts.entry(pair).or_default();
            shift.ends += 1.0;
            shift.runs = shift.runs.max(sum.runs);
            shift.shift += sum.residuals / left;
            shift.variance += 1.0 / left;
        }
    }
    for shift in shifts.values_mut() {
        shift.shift /= shift.ends;
        shift.variance /= shift.ends;
    }
    shifts
}

/// The standard deviation of what is standardised, without what lies far off, and its degrees of
/// freedom.
fn scale(standardised: &[f64]) -> Option<(f64, f64)> {
    let robust = mad(standardised)? / MAD_OF_NORMAL;
    let near: Vec<f64> =
        standardised.iter().copied().filter(|each| each.abs() <= FAR * robust).collect();
    let mean_square = near.iter().map(|each| each.powi(2)).sum::<f64>() / near.len() as f64;
    let scale = mean_square.sqrt() / CUT;
    (scale > 0.0 && scale.is_finite()).then(|| (scale, (near.len() as f64 - 1.0).max(1.0)))
}
