//! Pairs of hosts, by direction, whose costs their hosts do not explain: an effect of a wire, a
//! switch, a port.
//!
//! The test is that of a shift of all runs of one pair: with d the indicator of these runs and P
//! the projection of the fit, the shift is d'P y / d'P d, and its variance 1 / d'P d (as for an
//! outlier in a linear model: Cook and Weisberg, "Residuals and Influence in Regression", 1982,
//! section 2.2). The part of it that effects of hosts absorb is added back. Shifts of both ends
//! count together, as wholly correlated: the sessions are the same.
//!
//! A pair that is far off moves the effects of its hosts, and makes their other pairs look odd, in
//! the other direction. So the pairs that lie farthest off, one for each host, are left out and the
//! others fitted again, until none is far off. The pairs left out are compared with the predictions
//! of the others' fit.
//!
//! On some machines sessions are not normal: a host that is in one state for a while, and in a
//! dearer one for another, has sessions far off, none of which says anything of a wire. Where
//! shifts have heavier tails than normal values, they are compared with a Student's t distribution
//! of such tails.

use std::collections::{BTreeMap, BTreeSet};

use zc_stats::{Crossed, StudentT, false_discovery_q_values, heavy_tails, mad};

use super::fits::{FALSE_DISCOVERY_RATE, OnAverage};
use super::model::{End, OddPair};
use super::observations::{Fitted, Observed};
use crate::interim::CONFIDENCE;
use crate::parallel;

/// Median absolute deviation of a normal distribution, in standard deviations.
const MAD_OF_NORMAL: f64 = 0.674_49;

/// A pair whose effects take more than this share of a shift is not examined: hosts with hardly
/// another partner.
const MOST_TAKEN: f64 = 0.9;

/// Fewest pairs whose scatter is estimated.
const LEAST_PAIRS: usize = 12;

/// Standard deviations of normal values beyond which a pair has no part in the scatter, and the
/// probability of values nearer than that.
const FAR: f64 = 3.5;
const NEAR: f64 = 0.999_534_7;

/// The standard deviation of a normal distribution that is cut at [`FAR`].
const CUT: f64 = 0.9968;

/// Most times that pairs are left out.
const ROUNDS: usize = 6;

/// A pair of hosts, the sender first.
type Pair = (usize, usize);

/// Sums over the runs of a pair at one end.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    runs: usize,
    /// Sum of residuals divided by variances.
    residuals: f64,
    /// Sum of inverse variances.
    weights: f64,
    /// Sum of standard deviations of the fitted values, divided by variances.
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

/// Odd pairs, and the number that were examined.
pub(super) fn odd_pairs(
    observed: &Observed<'_>,
    on_average: &[OnAverage],
) -> (Vec<OddPair>, usize) {
    let shifts = pair_shifts(observed, on_average);
    let standardised: Vec<f64> = shifts.values().map(Shift::standardised).collect();
    if shifts.len() < LEAST_PAIRS {
        return (Vec::new(), 0);
    }
    let Some(Scatter { scale, student, .. }) = Scatter::estimate(&standardised) else {
        return (Vec::new(), 0);
    };
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

/// Pairs that lie so far off that they are left out of the fits, and degrees of freedom of the
/// tails of sessions where these are heavy. `averages` are what runs cost at each end.
pub(super) fn find_far_pairs(
    observed: &Observed<'_>,
    averages: &[(End, Vec<(usize, Crossed)>)],
) -> (BTreeSet<Pair>, Option<f64>) {
    let mut apart = BTreeSet::new();
    let mut tails = None;
    for _ in 0..ROUNDS {
        let mut sums = Shifts::default();
        let fits = parallel::each(averages.len(), |at| {
            let is_kept = |(run, _): &(usize, Crossed)| {
                observed.grouped.pair(*run).is_none_or(|pair| !apart.contains(&pair))
            };
            let (runs, values) = averages[at].1.iter().copied().filter(is_kept).unzip();
            Fitted::fit(runs, values)
        });
        fits.iter().flatten().for_each(|fitted| sums.add(observed, fitted));
        let shifts = sums.means();
        let standardised: Vec<f64> = shifts.values().map(Shift::standardised).collect();
        if shifts.len() < LEAST_PAIRS {
            break;
        }
        let Some(scatter) = Scatter::estimate(&standardised) else { break };
        if apart.is_empty() {
            tails = scatter.tails;
        }
        let mut far: Vec<(Pair, f64)> = shifts
            .keys()
            .copied()
            .zip(standardised.iter().map(|each| each.abs()))
            .filter(|(_, each)| *each > scatter.far)
            .collect();
        if far.is_empty() {
            break;
        }
        far.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (mut senders, mut receivers) = (BTreeSet::new(), BTreeSet::new());
        for ((near, other), _) in far {
            // The first one of a host is the farthest off.
            if senders.insert(near) & receivers.insert(other) {
                apart.insert((near, other));
            }
        }
    }
    (apart, tails)
}

/// The shift of each pair of hosts.
fn pair_shifts(observed: &Observed<'_>, on_average: &[OnAverage]) -> BTreeMap<Pair, Shift> {
    let mut shifts = Shifts::default();
    for OnAverage { fitted, apart, .. } in on_average {
        shifts.add(observed, fitted);
        shifts.add_unfitted(observed, fitted, apart);
    }
    shifts.means()
}

/// Shifts of pairs, added up over ends.
#[derive(Default)]
struct Shifts(BTreeMap<Pair, Shift>);

impl Shifts {
    /// Adds the pairs that are in the fit.
    fn add(&mut self, observed: &Observed<'_>, fitted: &Fitted) {
        let mut sums: BTreeMap<Pair, Sums> = BTreeMap::new();
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
            if left >= (1.0 - MOST_TAKEN) * sum.weights {
                self.add_pair(pair, sum.runs, sum.residuals / left, 1.0 / left);
            }
        }
    }

    /// Adds the pairs that are not in the fit: against what their hosts' effects predict.
    fn add_unfitted(
        &mut self,
        observed: &Observed<'_>,
        fitted: &Fitted,
        apart: &[(usize, Crossed)],
    ) {
        let effects = &fitted.effects;
        let mut sums: BTreeMap<Pair, (usize, f64, f64, f64)> = BTreeMap::new();
        for (run, value) in apart {
            let same = fitted.values.iter().find(|other| other.unit == value.unit);
            let (Some(same), Some(pair)) = (same, observed.grouped.pair(*run)) else { continue };
            let unit = effects.units.get(value.unit).copied().flatten();
            let mean = effects.means.get(same.level).copied().flatten();
            let (Some(unit), Some(mean)) = (unit, mean) else { continue };
            let partner = value.partner.and_then(|partner| *effects.partners.get(partner)?);
            let of_partner = partner.map_or((0.0, 0.0), |it| (it.predicted, it.error.powi(2)));
            let sum = sums.entry(pair).or_default();
            sum.0 += 1;
            sum.1 += value.value - mean.value - unit.predicted - of_partner.0;
            sum.2 += effects.session_variance.unwrap_or(0.0) + value.error.powi(2);
            sum.3 = unit.error.powi(2) + of_partner.1;
        }
        for (pair, (runs, distance, own, predicted)) in sums {
            let n = runs as f64;
            self.add_pair(pair, runs, distance / n, own / n.powi(2) + predicted);
        }
    }

    fn add_pair(&mut self, pair: Pair, runs: usize, shift: f64, variance: f64) {
        let sum = self.0.entry(pair).or_default();
        sum.ends += 1.0;
        sum.runs = sum.runs.max(runs);
        sum.shift += shift;
        sum.variance += variance;
    }

    /// Means over ends.
    fn means(mut self) -> BTreeMap<Pair, Shift> {
        for shift in self.0.values_mut() {
            shift.shift /= shift.ends;
            shift.variance /= shift.ends;
        }
        self.0
    }
}

impl Shift {
    fn standardised(&self) -> f64 {
        if self.variance > 0.0 { self.shift / self.variance.sqrt() } else { 0.0 }
    }
}

/// Scatter of the standardised shifts of pairs that are not odd.
struct Scatter {
    scale: f64,
    /// Distribution of a shift divided by the scale.
    student: StudentT,
    /// The distance beyond which a pair has no part in it.
    far: f64,
    /// Degrees of freedom of the tails, where they are heavy.
    tails: Option<f64>,
}

impl Scatter {
    fn estimate(standardised: &[f64]) -> Option<Self> {
        let middle = mad(standardised)?;
        let tails = heavy_tails(standardised);
        let (scale, far, freedom) = match tails {
            Some(freedom) => {
                let student = StudentT::new(freedom)?;
                let scale = middle / student.critical_value(0.5)?;
                (scale, scale * student.critical_value(NEAR)?, freedom)
            }
            None => {
                let robust = middle / MAD_OF_NORMAL;
                let near = || standardised.iter().filter(|each| each.abs() <= FAR * robust);
                let count = near().count() as f64;
                let mean_square = near().map(|each| each.powi(2)).sum::<f64>() / count;
                let scale = mean_square.sqrt() / CUT;
                (scale, FAR * scale, (count - 1.0).max(1.0))
            }
        };
        let student = StudentT::new(freedom)?;
        (scale > 0.0 && scale.is_finite()).then_some(Self { scale, student, far, tails })
    }
}
