//! Wander: by how much the level of a series moves beyond what the scatter of its values explains,
//! and what that means for the interval of its location.

use crate::order_statistics::{quantile_of_sorted, sorted};
use crate::student_t::StudentT;

/// Numbers of parts that a series is cut into: parts of a half, a quarter and an eighth of it.
const PARTS: [usize; 3] = [2, 4, 8];

/// A part has at least this many values.
const LEAST_PART: usize = 3;

/// Values beyond these quantiles count as the quantile, so that one outlier does not move a part.
const CLIPPED: f64 = 0.05;

/// Movement of the level of a series beyond the scatter of its values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wander {
    /// Variance of the level over stretches as long as the series and shorter ones; 0 where scatter
    /// explains all.
    pub variance: f64,
    /// Degrees of freedom of `variance`.
    pub degrees_of_freedom: f64,
}

/// Two neighbouring parts of a series.
struct Contrast {
    /// Half of their squared difference: an Allan variance with one term.
    seen: f64,
    /// Its mean by scatter alone.
    by_scatter: f64,
}

/// Estimates the wander of several series of one measurement, each in the order in which it was
/// measured, as one figure.
///
/// Scatter is white noise: the variance of a mean of k values is that of one divided by k. It is
/// taken from the differences of neighbours. The level of many instruments moves as flicker noise
/// (1/f) on top: neighbouring stretches differ by as much whether they take seconds or minutes, and
/// a longer measurement does not average it out. This is the floor of the Allan variance (D. W.
/// Allan, "Statistics of atomic frequency standards", Proc. IEEE 54, 1966; Barnes et al., IEEE
/// Trans. IM-20, 1971). So each series is cut into halves, quarters and eighths. The differences of
/// neighbouring parts, less what scatter explains, estimate the floor; each difference is weighted
/// by the inverse of its variance, with the pooled floor in it.
///
/// Series of one measurement wander together, and twelve of them are not worth twelve. So the
/// degrees of freedom are those of one series: the number of its pairs of parts, 7, and 3 or 1
/// where it is too short for eighths or quarters. `None` if no series has six values. NaN is left
/// out. O(n log n) for each series.
///
/// ```
/// let still: Vec<f64> = (0..80).map(|at| f64::from(at * 37 % 80)).collect();
/// let stepped: Vec<f64> = (0..80).map(|at| f64::from(at * 37 % 80 + at / 40 * 400)).collect();
/// assert!(zc_stats::wander(&[still]).unwrap().variance < 10.0);
/// assert!(zc_stats::wander(&[stepped]).unwrap().variance > 1000.0);
/// ```
pub fn wander(series: &[Vec<f64>]) -> Option<Wander> {
    let of_each: Vec<Vec<Contrast>> =
        series.iter().filter_map(|values| contrasts(values)).collect();
    let degrees_of_freedom = of_each.iter().map(Vec::len).max()? as f64;
    let all: Vec<Contrast> = of_each.into_iter().flatten().collect();
    // Weights depend on the floor, and the floor on the weights.
    let mut variance = 0.0;
    for _ in 0..20 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for contrast in &all {
            let expected = contrast.by_scatter + variance;
            // A series without scatter says nothing of the weight of the others.
            let weight = if expected > 0.0 { expected.powi(-2) } else { 0.0 };
            sum += weight * (contrast.seen - contrast.by_scatter);
            weights += weight;
        }
        variance = if weights > 0.0 { (sum / weights).max(0.0) } else { 0.0 };
    }
    Some(Wander { variance, degrees_of_freedom })
}

fn contrasts(values: &[f64]) -> Option<Vec<Contrast>> {
    let mut values: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    let n = values.len();
    if n < PARTS[0] * LEAST_PART {
        return None;
    }
    let sorted = sorted(&values)?;
    let (low, high) =
        (quantile_of_sorted(&sorted, CLIPPED)?, quantile_of_sorted(&sorted, 1.0 - CLIPPED)?);
    if !low.is_finite() || !high.is_finite() {
        return None;
    }
    values.iter_mut().for_each(|value| *value = value.clamp(low, high));
    // Clipped values do not move: a shift of the level moves the clipped mean by 1 - 2 x CLIPPED
    // of itself.
    let scale = (1.0 - 2.0 * CLIPPED).powi(-2);
    let scatter = scale / 2.0 * mean(values.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)));
    let mut found = Vec::new();
    for parts in PARTS {
        let length = n / parts;
        if length < LEAST_PART {
            break;
        }
        let means: Vec<f64> = values
            .chunks_exact(length)
            .take(parts)
            .map(|part| mean(part.iter().copied()))
            .collect();
        found.extend(means.chunks_exact(2).map(|pair| Contrast {
            seen: scale / 2.0 * (pair[1] - pair[0]).powi(2),
            by_scatter: scatter / length as f64,
        }));
    }
    Some(found)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

impl Wander {
    /// Wander in one of so many measurements: the mean of their variances; `None` without any.
    pub fn pooled(each: &[Self]) -> Option<Self> {
        let n = each.len() as f64;
        let of_all = |of: fn(&Self) -> f64| each.iter().map(of).sum::<f64>();
        (!each.is_empty()).then(|| Self {
            variance: of_all(|wander| wander.variance) / n,
            degrees_of_freedom: of_all(|wander| wander.degrees_of_freedom),
        })
    }

    /// Wander between two measurements whose beginnings are `times` their length apart: 1 for one
    /// after the other, for which it is the wander itself.
    ///
    /// Flicker noise grows with the logarithm of the time: by the autocovariance of its integral,
    /// t^2 ln t, the mean squared difference of two stretches is as (r+1)^2 ln(r+1) + (r-1)^2
    /// ln(r-1) - 2 r^2 ln r (Barnes et al. 1971, table of variances). It is 2.7 times as much at
    /// 10, and 6.3 times at 1,440: a day, for minutes. Less than 1 counts as 1.
    ///
    /// ```
    /// let wander = zc_stats::Wander { variance: 1.0, degrees_of_freedom: 7.0 };
    /// assert_eq!(wander.after(1.0).variance, 1.0);
    /// assert!((wander.after(10.0).variance - 2.742).abs() < 1e-3);
    /// ```
    pub fn after(self, times: f64) -> Self {
        let t2_ln_t = |x: f64| if x > 0.0 { x * x * x.ln() } else { 0.0 };
        let r = times.max(1.0);
        // The terms cancel more and more; for large r their sum is 2 ln r + 3.
        let seen = if r < 1e3 {
            t2_ln_t(r + 1.0) + t2_ln_t(r - 1.0) - 2.0 * t2_ln_t(r)
        } else {
            2.0 * r.ln() + 3.0
        };
        let growth = (seen / (4.0 * std::f64::consts::LN_2)).max(1.0);
        Self { variance: self.variance * growth, ..self }
    }

    /// Variance of the estimate of the variance.
    pub fn variance_of_estimate(&self) -> f64 {
        2.0 * self.variance.powi(2) / self.degrees_of_freedom
    }

    /// The factor by which the half-width of an interval over `n` values must grow for what another
    /// such measurement would give: `half_width` has `confidence` as long as only scatter counts.
    ///
    /// The variance of the estimate is that of scatter plus the wander, and Student's quantile has
    /// the degrees of freedom of the sum (Satterthwaite, Biometrics Bulletin 2, 1946). At least 1.
    /// `None` unless the half-width is above 0 and `confidence` strictly between 0 and 1.
    ///
    /// ```
    /// let wander = zc_stats::Wander { variance: 3.0, degrees_of_freedom: 1e9 };
    /// let factor = wander.inflation(1.959_964, 1_000_000, 0.95).unwrap(); // a standard error of 1
    /// assert!((factor - 2.0).abs() < 1e-3);
    /// ```
    pub fn inflation(&self, half_width: f64, n: usize, confidence: f64) -> Option<f64> {
        let spread = self.spread(half_width, n, confidence)?;
        // Scatter alone has the quantile of its own interval.
        let of_scatter = StudentT::new((n.max(2) - 1) as f64)?.critical_value(confidence)?;
        let critical = spread.student.critical_value(confidence)?;
        let factor = (spread.variance / spread.by_scatter).sqrt() * critical / of_scatter;
        factor.is_finite().then(|| factor.max(1.0))
    }

    /// The two-sided p-value of an estimate that lies `distance` from the hypothesis; the other
    /// parameters are those of [`inflation`](Self::inflation).
    ///
    /// It is not the p-value of a rank test, widened: ranks cannot say how far beyond the scatter
    /// an estimate lies, and what is many times the scatter may be few times the wander.
    ///
    /// ```
    /// let wander = zc_stats::Wander { variance: 3.0, degrees_of_freedom: 1e9 };
    /// let p = wander.p_value(2.0 * 1.959_964, 1.959_964, 1_000_000, 0.95).unwrap();
    /// assert!((p - 0.05).abs() < 1e-3);
    /// ```
    pub fn p_value(
        &self,
        distance: f64,
        half_width: f64,
        n: usize,
        confidence: f64,
    ) -> Option<f64> {
        let spread = self.spread(half_width, n, confidence)?;
        let p = 2.0 * spread.student.survival(distance.abs() / spread.variance.sqrt());
        (!p.is_nan()).then(|| p.min(1.0))
    }

    /// Spread of an estimate, from its interval if only scatter counts.
    fn spread(&self, half_width: f64, n: usize, confidence: f64) -> Option<Spread> {
        let normal = StudentT::new(1e9)?.critical_value(confidence)?;
        let by_scatter = (half_width / normal).powi(2);
        if by_scatter.is_nan() || by_scatter <= 0.0 {
            return None;
        }
        let variance = by_scatter + self.variance;
        let of_estimate =
            2.0 * by_scatter.powi(2) / (n.max(2) - 1) as f64 + self.variance_of_estimate();
        let freedom = (2.0 * variance.powi(2) / of_estimate).clamp(1.0, 1e9);
        Some(Spread { by_scatter, variance, student: StudentT::new(freedom)? })
    }
}

/// Spread of an estimate.
struct Spread {
    /// Variance by scatter alone.
    by_scatter: f64,
    /// Variance by scatter and wander.
    variance: f64,
    /// Student's distribution with the degrees of freedom of that.
    student: StudentT,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scattered(n: usize) -> Vec<f64> {
        (0..n).map(|at| (at * 37 % n) as f64 / n as f64).collect()
    }

    #[test]
    fn halves_that_differ_are_wander_by_hand() {
        // Six values: one pair of parts of three. Clipped at quantiles that are the extremes,
        // nearly.
        let found = wander(&[vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0]]).unwrap();
        assert_eq!(found.degrees_of_freedom, 1.0);
        let by_hand = (0.5 - 0.5 / 5.0 / 3.0) / 0.81;
        assert!((found.variance - by_hand).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_long_series_has_seven_pairs_of_parts_and_a_short_one_fewer() {
        let freedom = |n| wander(&[scattered(n)]).map(|found| found.degrees_of_freedom);
        assert_eq!(freedom(5), None);
        assert_eq!(freedom(6), Some(1.0));
        assert_eq!(freedom(12), Some(3.0));
        assert_eq!(freedom(24), Some(7.0));
        assert_eq!(freedom(1000), Some(7.0));
    }

    #[test]
    fn an_outlier_is_no_wander() {
        let mut values = scattered(80);
        let before = wander(&[values.clone()]).unwrap();
        values[3] = f64::INFINITY;
        values[70] = f64::NAN;
        let after = wander(&[values]).unwrap();
        assert!((after.variance - before.variance).abs() < 1e-3, "{before:?} {after:?}");
    }

    #[test]
    fn a_constant_series_and_one_without_numbers_do_not_wander() {
        assert_eq!(wander(&[vec![3.0; 50]]).unwrap().variance, 0.0);
        assert_eq!(wander(&[vec![f64::NAN; 50]]), None);
        assert_eq!(wander(&[vec![f64::INFINITY; 50]]), None);
        assert_eq!(wander(&[]), None);
        let mixed = wander(&[vec![3.0; 50], scattered(50)]).unwrap();
        assert!(mixed.variance.is_finite());
    }

    #[test]
    fn no_wander_leaves_an_interval_as_it_is_and_more_of_it_widens_more() {
        let factor = |variance| {
            Wander { variance, degrees_of_freedom: 7.0 }.inflation(1.0, 100, 0.95).unwrap()
        };
        assert_eq!(factor(0.0), 1.0);
        assert!(1.0 < factor(0.1) && factor(0.1) < factor(1.0), "{}", factor(0.1));
        // By wander alone, the quantile has its seven degrees of freedom.
        let alone = factor(1e6) / (1e6_f64.sqrt() * 1.959_964) * 1.984_217;
        assert!((alone - 2.364_624).abs() < 1e-3, "{alone}");
        let wander = Wander { variance: 1.0, degrees_of_freedom: 7.0 };
        assert_eq!(wander.inflation(0.0, 100, 0.95), None);
        assert_eq!(wander.inflation(f64::INFINITY, 100, 0.95), None);
        assert_eq!(wander.inflation(1.0, 100, 1.0), None);
    }

    #[test]
    fn measurements_far_apart_differ_by_more_and_a_time_that_is_none_by_as_much() {
        let at = |times| Wander { variance: 2.0, degrees_of_freedom: 7.0 }.after(times).variance;
        assert_eq!((at(0.0), at(-5.0), at(f64::NAN)), (2.0, 2.0, 2.0));
        assert!((at(999.999) - at(1000.001)).abs() < 1e-3, "{} {}", at(999.999), at(1000.001));
        assert!(at(f64::INFINITY).is_infinite() && at(1e9).is_finite());
    }

    #[test]
    fn wander_of_several_measurements_is_their_mean() {
        let with_variance = |variance| Wander { variance, degrees_of_freedom: 7.0 };
        let pooled = Wander::pooled(&[with_variance(1.0), with_variance(3.0)]).unwrap();
        assert_eq!((pooled.variance, pooled.degrees_of_freedom), (2.0, 14.0));
        assert_eq!(Wander::pooled(&[]), None);
    }

    #[test]
    fn a_p_value_is_one_less_the_confidence_at_which_the_interval_ends_at_the_hypothesis() {
        let wander = Wander { variance: 4.0, degrees_of_freedom: 7.0 };
        for (confidence, half) in [(0.95, 1.959_964), (0.9999, 3.890_592)] {
            let factor = wander.inflation(half, 1_000_000, confidence).unwrap();
            let p = wander.p_value(half * factor, half, 1_000_000, confidence).unwrap();
            assert!((p / (1.0 - confidence) - 1.0).abs() < 0.01, "{p} at {confidence}");
        }
        let p = |distance| wander.p_value(distance, 1.0, 100, 0.95);
        assert_eq!(p(0.0), Some(1.0));
        assert_eq!(p(-3.0), p(3.0));
        assert_eq!((p(f64::NAN), wander.p_value(1.0, 0.0, 100, 0.95)), (None, None));
    }
}
