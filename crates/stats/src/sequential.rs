//! A sequential test of the centre of symmetric values: it may be looked at after every value, and
//! stopped whenever it has decided.
//!
//! For a value x that is symmetric about c, every odd function y of x - c is symmetric about 0, and
//! then exp(l y - l^2 y^2 / 2) has a mean of at most 1 for every l (de la Peña, "A general class of
//! exponential inequalities for martingales and ratios", Annals of Probability 27, 1999, lemma
//! 6.1). The product over values is a nonnegative supermartingale, and so is its mean over l with a
//! half-normal density, which has a closed form (Robbins, "Statistical methods related to the law
//! of the iterated logarithm", Annals of Mathematical Statistics 41, 1970; Howard, Ramdas,
//! McAuliffe and Sekhon, "Time-uniform Chernoff bounds via nonnegative supermartingales",
//! Probability Surveys 17, 2020, and "Time-uniform, nonparametric, nonasymptotic confidence
//! sequences", Annals of Statistics 49, 2021). By Ville's inequality it *ever* exceeds 1/a with a
//! probability of at most a. This needs symmetry alone: no variance, and no tails of a certain
//! weight.
//!
//! The function is the distance from c in units of the scatter of the values before, cut off at
//! [`CUT`]. Which values come later does not change it, so what is symmetric stays so. The unit
//! makes the density fit whatever the scatter is, and a value that is far off counts no more than
//! others.

use crate::interval::Interval;
use crate::normal::normal_cdf;
use crate::order_statistics::mad;

/// Values beyond so many units of scatter count as that.
const CUT: f64 = 3.0;

/// With fewer values before it, a value counts by its sign alone.
const LEAST_FOR_SCATTER: usize = 4;

/// Inverse of the variance of the density of l. The l that gathers evidence fastest for a centre
/// that lies d units off is d / (1 + d^2): 0.3 to 0.5 for d between 0.3 and 3.
const PRECISION: f64 = 6.0;

/// Cells of the grid in which an interval's ends are looked for, and halvings of a cell.
const GRID: usize = 512;
const HALVINGS: usize = 40;

/// Infinite values count as this, which is beyond every other.
const LARGEST: f64 = 1e9;

/// Evidence about the centre of values that are symmetric about it, gathered value by value.
///
/// Let e be the evidence that the centre is above (or below) a bound. If it is not, the probability
/// that e *ever* reaches 1/a is at most a, at whichever value one looks, and for whatever reason
/// one stops.
///
/// ```
/// let mut values = zc_stats::Sequential::default();
/// values.extend((0..40).map(|at| 1.0 + f64::from(at * 23 % 40) / 40.0));
/// assert!(values.evidence_above(1.0) > 1000.0);
/// assert!(values.evidence_above(1.6) < 1.0);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Sequential {
    values: Vec<f64>,
    /// For each value the scatter of those before it; `None` with too few of them.
    scatters: Vec<Option<f64>>,
}

impl Extend<f64> for Sequential {
    fn extend<T: IntoIterator<Item = f64>>(&mut self, values: T) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

impl Sequential {
    /// Adds a value; NaN is left out. O(n log n).
    pub fn push(&mut self, value: f64) {
        if value.is_nan() {
            return;
        }
        let value = value.clamp(-LARGEST, LARGEST);
        let scatter = (self.len() >= LEAST_FOR_SCATTER).then(|| mad(&self.values)).flatten();
        self.values.push(value);
        self.scatters.push(scatter);
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Evidence that the centre is above `bound`, against all centres at it or below. O(n).
    pub fn evidence_above(&self, bound: f64) -> f64 {
        self.evidence(bound, 1.0)
    }

    /// Evidence that the centre is below `bound`, against all centres at it or above. O(n).
    pub fn evidence_below(&self, bound: f64) -> f64 {
        self.evidence(bound, -1.0)
    }

    /// The mean over l > 0 of exp(l S - l^2 V / 2) with a half-normal density, where S is the sum
    /// of the scores and V that of their squares.
    ///
    /// It holds against the centres further away too: a shift away from the bound takes from the
    /// scores above it and from those below it, and what a score of more than 1/l gains by that is
    /// no more than what its mirror image loses.
    fn evidence(&self, bound: f64, sign: f64) -> f64 {
        let (mut sum, mut squares) = (0.0, 0.0);
        for (value, scatter) in self.values.iter().zip(&self.scatters) {
            let score = sign * score(value - bound, *scatter);
            sum += score;
            squares += score * score;
        }
        let weight = squares + PRECISION;
        let exponent = sum * sum / (2.0 * weight);
        2.0 * (PRECISION / weight).sqrt() * exponent.exp() * normal_cdf(sum / weight.sqrt())
    }

    /// A confidence sequence of the centre: the probability that one of the intervals, at whatever
    /// value one looks, does not hold the centre, is at most 1 - `confidence`.
    ///
    /// Its ends are the outermost centres that neither side's evidence rejects at half of the
    /// error. An end is infinite while there are too few values to reject any on its side. `None`
    /// where both are, and unless `confidence` is strictly between 0 and 1. O(n).
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        let error = crate::interval::alpha(confidence)?;
        let (low, high) = (
            self.values.iter().copied().fold(f64::INFINITY, f64::min),
            self.values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        );
        // Further out every score is cut off.
        let reach = (high - low).max(1e-9 * high.abs().max(low.abs())).max(1e-12);
        let end = |from: f64, to: f64, rejects: &dyn Fn(f64) -> bool| {
            let at = |cell: usize| from + (to - from) * cell as f64 / GRID as f64;
            // From the outside, as evidence may rise again behind a gap.
            let first = (0..=GRID).find(|cell| !rejects(at(*cell)))?;
            let (mut outside, mut inside) = (at(first.checked_sub(1)?), at(first));
            for _ in 0..HALVINGS {
                let middle = outside.midpoint(inside);
                if rejects(middle) { outside = middle } else { inside = middle }
            }
            Some(inside)
        };
        let (from, to) = (low - reach, high + reach);
        let rejected = |evidence: f64| evidence >= 2.0 / error;
        let low = end(from, to, &|centre| rejected(self.evidence_above(centre)));
        let high = end(to, from, &|centre| rejected(self.evidence_below(centre)));
        (low.is_some() || high.is_some()).then(|| Interval {
            low: low.unwrap_or(f64::NEG_INFINITY),
            high: high.unwrap_or(f64::INFINITY),
            achieved_confidence: confidence,
        })
    }
}

/// An odd function of a distance.
fn score(distance: f64, scatter: Option<f64>) -> f64 {
    match scatter {
        _ if distance == 0.0 => 0.0,
        Some(scatter) if scatter > 0.0 => (distance / scatter).clamp(-CUT, CUT),
        _ => distance.signum(),
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand_pcg::Pcg64;

    use super::*;
    use crate::testing::normal;

    fn of(values: impl IntoIterator<Item = f64>) -> Sequential {
        let mut found = Sequential::default();
        found.extend(values);
        found
    }

    /// A draw of a symmetric distribution.
    type Draw = fn(&mut Pcg64) -> f64;

    /// Normal, Student's t with two degrees of freedom, and a fifth of values ten times as far off.
    const SYMMETRIC: [Draw; 3] = [
        normal,
        |random| {
            let (a, b) = (normal(random), normal(random));
            normal(random) / ((a * a + b * b) / 2.0).sqrt()
        },
        |random| {
            let far = normal(random) > 0.84;
            normal(random) * if far { 10.0 } else { 1.0 }
        },
    ];

    /// In how many of 400 sequences of 80 values evidence for a centre above 0 ever reaches 20,
    /// where it is `centre`, and the mean number of values after which it did.
    fn reached(draw: Draw, centre: f64) -> (usize, f64) {
        let (mut found, mut after) = (0, 0);
        for seed in 0..400 {
            let mut random = Pcg64::seed_from_u64(seed);
            let mut values = Sequential::default();
            let decided = (1..=80).find(|_| {
                values.push(centre + draw(&mut random));
                values.evidence_above(0.0) >= 20.0
            });
            found += usize::from(decided.is_some());
            after += decided.unwrap_or_default();
        }
        (found, after as f64 / found.max(1) as f64)
    }

    #[test]
    fn a_look_after_every_value_is_wrong_no_more_often_than_said() {
        for draw in SYMMETRIC {
            for centre in [0.0, -0.1, -1.0, -5.0] {
                let (wrong, _) = reached(draw, centre);
                assert!(wrong <= 20, "{centre}: {wrong}");
            }
        }
    }

    #[test]
    fn a_centre_that_is_off_by_the_scatter_is_found_within_some_twenty_values() {
        for draw in SYMMETRIC {
            let (found, after) = reached(draw, 1.0);
            assert!(found > 350 && after < 40.0, "{found} {after}");
        }
        let (found, after) = reached(normal, 1.0);
        assert!(found == 400 && after < 22.0, "{found} {after}");
    }

    #[test]
    fn the_sequence_of_intervals_holds_the_centre_all_the_way() {
        let mut missed = 0;
        for seed in 0..200 {
            let mut random = Pcg64::seed_from_u64(seed);
            let mut values = Sequential::default();
            missed += usize::from((0..60).any(|_| {
                values.push(0.3 + normal(&mut random));
                values.interval(0.9).is_some_and(|interval| !interval.contains(0.3))
            }));
        }
        assert!(missed <= 20, "{missed}");
    }

    #[test]
    fn the_ends_of_an_interval_are_where_evidence_reaches_its_limit() {
        let mut random = Pcg64::seed_from_u64(7);
        let values = of((0..40).map(|_| 5.0 + 0.1 * normal(&mut random)));
        let interval = values.interval(0.95).unwrap();
        assert!(interval.contains(5.0) && interval.high - interval.low < 0.2, "{interval:?}");
        for evidence in [values.evidence_above(interval.low), values.evidence_below(interval.high)]
        {
            assert!((evidence / 40.0 - 1.0).abs() < 1e-6, "{evidence}");
        }
    }

    #[test]
    fn one_value_that_is_far_off_does_not_hide_the_others() {
        let mut values: Vec<f64> = (0..30).map(|at| f64::from(at * 7 % 30) / 30.0).collect();
        let before = of(values.clone()).evidence_above(0.0);
        values[12] = -1e6;
        values[20] = f64::NEG_INFINITY;
        let after = of(values).evidence_above(0.0);
        assert!(before > 1e3 && after > 20.0, "{before} {after}");
    }

    #[test]
    fn the_unit_of_the_values_does_not_matter() {
        let values: Vec<f64> = (0..30).map(|at| f64::from(at * 7 % 30) / 30.0 - 0.2).collect();
        let evidence = of(values.clone()).evidence_above(0.1);
        let larger = of(values.iter().map(|value| 1e-3 * value)).evidence_above(1e-4);
        let mirrored = of(values.iter().map(|value| -value)).evidence_below(-0.1);
        assert!((evidence / larger - 1.0).abs() < 1e-9);
        assert!((evidence / mirrored - 1.0).abs() < 1e-9);
    }

    #[test]
    fn few_values_equal_values_and_nan_are_no_fault() {
        let none = Sequential::default();
        assert!(none.is_empty() && none.interval(0.95).is_none());
        assert!((none.evidence_above(0.0) - 1.0).abs() < 1e-12);
        let equal = of([0.5; 30].into_iter().chain([f64::NAN]));
        assert_eq!(equal.len(), 30);
        assert!(equal.evidence_above(0.4) > 1000.0 && equal.evidence_above(0.5) <= 1.0);
        assert!(of([1.0, 2.0]).interval(0.95).is_none());
        assert!(equal.interval(1.0).is_none());
    }
}
