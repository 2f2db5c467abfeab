//! Changes in the level of a series: their positions and sizes, with intervals.

mod limits;
#[cfg(test)]
mod tests;

use self::limits::limit;
use crate::StudentT;
use crate::dense::is_squarable;
use crate::interval::alpha;
use crate::normal::{normal_cdf, normal_quantile};

/// Fewest values of a series that is examined.
const LEAST: usize = 5;

/// Changes that are looked for at a time: a level that is left and taken up again is two.
pub(crate) const AT_A_TIME: usize = 3;

/// Largest correlation of neighbours that is believed.
const MOST_ALIKE: f64 = 0.8;

/// Most changes of a series.
const MOST: usize = 30;

/// The levels of a series.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ChangePoints {
    /// Its changes, in order.
    pub changes: Vec<LevelChange>,
    /// The level of each stretch between changes; one more than changes.
    pub levels: Vec<f64>,
    /// Standard deviation of values around their level beyond their errors, from neighbouring
    /// values.
    pub scatter: f64,
    /// Degrees of freedom of intervals.
    pub freedom: usize,
    /// The stretches: indices of first values, and the weights of their values added up.
    stretches: Vec<(usize, f64)>,
    /// Variance of a value of weight 1.
    variance: f64,
}

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelChange {
    /// Index of the first value of the new level.
    pub at: usize,
    /// The interval of that index.
    pub earliest: usize,
    /// See `earliest`.
    pub latest: usize,
    /// The new level less the old one.
    pub difference: f64,
    /// Its interval, over all positions in the interval of the index.
    pub low: f64,
    /// See `low`.
    pub high: f64,
}

/// Finds changes of level in a series of values with known standard errors, such as nightly means.
///
/// **Model.** Values are independent and normal around a level that changes some times, with their
/// errors and a further scatter from value to value that is estimated.
///
/// **Partitions.** For each number of changes, the partition with the least weighted sum of squares
/// is found exactly, by dynamic programming (Jackson et al., "An Algorithm for Optimal Partitioning
/// of Data on an Interval", IEEE Signal Processing Letters 12, 2005). A stretch has two values at
/// least, so that one disturbed value is not two changes; only the last one may have one. A value
/// that is four standard deviations away from each of the two on either side counts as if that were
/// its error. Weights
/// are one by the squared error plus that of the scatter. The scatter comes from differences of
/// neighbours, without the largest of them, so that changes are not in it.
///
/// **How many.** Changes are added as long as one, two or three more of them reduce the sum of
/// squares by more than a limit for each, in units of the variance that they leave (as the
/// sequential tests of Bai and Perron, Econometrica 66, 1998). The limit is that which a series of
/// as many values without a change exceeds with the probability `false_alarm`, by simulation for
/// series of 5 to 400 values. Where neighbouring values are alike beyond their levels, the limit is
/// raised as their correlation makes the variance of means larger. That is estimated, and only half
/// a remedy: with a correlation of 0.4, 40 values have a false change in 20 % instead of 44 %. If
/// several series are examined, divide `false_alarm` by their number: then it is at most the chance
/// that a change is found in any of them.
///
/// **Where, and by how much.** Positions between the neighbouring changes are as likely as
/// Student's density of what is left makes them, with levels integrated out; the interval is from
/// the first to the last of the likeliest ones that have `confidence` together. The difference is a
/// mixture of Student's distributions over positions. A change is found because it looks large, so
/// that a small one, if it is found at all, is overstated.
///
/// Fewer than five values have one level. `None` without a value, for values and errors beyond
/// 1e100 and errors below 0, and unless `false_alarm` and `confidence` are strictly between 0 and
/// 1. O(n^2) for each number of changes, of which there are at most a third of the values, and 30.
///
/// ```
/// let noise = [0.1, -0.2, 0.0, 0.2, -0.1, 0.1, 0.0, -0.2, 0.2, -0.1];
/// let values: Vec<(f64, f64)> =
///     (0..20).map(|at| (noise[at % 10] + if at < 12 { 5.0 } else { 6.0 }, 0.05)).collect();
/// let found = zc_stats::change_points(&values, 0.05, 0.95).unwrap();
/// let change = found.changes[0];
/// assert_eq!((found.changes.len(), change.at), (1, 12));
/// assert!(change.low < 1.0 && 1.0 < change.high);
/// ```
pub fn change_points(
    values: &[(f64, f64)],
    false_alarm: f64,
    confidence: f64,
) -> Option<ChangePoints> {
    alpha(false_alarm)?;
    alpha(confidence)?;
    let valid =
        |(value, error): &(f64, f64)| is_squarable(*value) && is_squarable(*error) && *error >= 0.0;
    if values.is_empty() || !values.iter().all(valid) {
        return None;
    }
    let n = values.len();
    let scatter = scatter(values);
    let series = Series::from_values(&without_disturbed(values, scatter), scatter);
    let starts = if n < LEAST { vec![0] } else { partition(&series, limit(n, false_alarm)) };
    let freedom = n.saturating_sub(starts.len()).max(1);
    let rest: f64 = series.stretches(&starts).map(|(from, to)| series.squares(from, to)).sum();
    let alike = inflation(&series, &starts);
    let changes = (1..starts.len())
        .filter_map(|place| change(&series, &starts, place, (rest, alike), confidence))
        .collect();
    Some(ChangePoints {
        changes,
        levels: series.stretches(&starts).map(|(from, to)| series.level(from, to)).collect(),
        scatter,
        freedom,
        stretches: series
            .stretches(&starts)
            .map(|(from, to)| (from, series.weight(from, to)))
            .collect(),
        variance: alike * rest / freedom as f64,
    })
}

impl ChangePoints {
    /// The difference of the levels of two stretches with its interval. `None` where one does not
    /// exist, and unless `confidence` is strictly between 0 and 1.
    pub fn difference(&self, of: usize, from: usize, confidence: f64) -> Option<(f64, f64, f64)> {
        let difference = self.levels.get(of)? - self.levels.get(from)?;
        let weights = (self.stretches.get(of)?.1, self.stretches.get(from)?.1);
        let variance = self.variance * (1.0 / weights.0 + 1.0 / weights.1);
        let critical = StudentT::new(self.freedom as f64)?.critical_value(confidence)?;
        let half = critical * variance.sqrt();
        half.is_finite().then_some((difference, difference - half, difference + half))
    }
}

/// Values and weights, as running sums.
#[derive(Debug)]
pub(crate) struct Series {
    /// Sums of weights, of weighted values and of weighted squares of all values before an index.
    sums: Vec<[f64; 3]>,
    centre: f64,
}

impl Series {
    fn from_values(values: &[(f64, f64)], scatter: f64) -> Self {
        let centre = values.iter().map(|(value, _)| value).sum::<f64>() / values.len() as f64;
        let own = |error: f64| error.powi(2) + scatter.powi(2);
        // Without errors and without scatter all values count alike.
        let some = values.iter().any(|(_, error)| own(*error) <= 0.0);
        let weight = |error: f64| if some { 1.0 } else { 1.0 / own(error) };
        Self::weighted(values.iter().map(|(value, error)| (value - centre, weight(*error))), centre)
    }

    /// Sums of values and weights.
    pub(crate) fn weighted(values: impl Iterator<Item = (f64, f64)>, centre: f64) -> Self {
        let mut sums = vec![[0.0; 3]];
        let mut sum = [0.0; 3];
        for (value, weight) in values {
            sum = [sum[0] + weight, sum[1] + weight * value, sum[2] + weight * value * value];
            sums.push(sum);
        }
        Self { sums, centre }
    }

    fn len(&self) -> usize {
        self.sums.len() - 1
    }

    fn weight(&self, from: usize, to: usize) -> f64 {
        self.sums[to][0] - self.sums[from][0]
    }

    fn level(&self, from: usize, to: usize) -> f64 {
        (self.sums[to][1] - self.sums[from][1]) / self.weight(from, to) + self.centre
    }

    /// Weighted sum of squares around the level of the values `from..to`.
    fn squares(&self, from: usize, to: usize) -> f64 {
        let (first, last) = (&self.sums[from], &self.sums[to]);
        let sum = last[1] - first[1];
        (last[2] - first[2] - sum * sum / (last[0] - first[0])).max(0.0)
    }

    /// Stretches that begin at these indices, as ranges.
    fn stretches(&self, starts: &[usize]) -> impl Iterator<Item = (usize, usize)> {
        let ends = starts.iter().skip(1).copied().chain([self.len()]);
        starts.iter().copied().zip(ends).collect::<Vec<_>>().into_iter()
    }
}

/// The best partitions with 0, 1, 2 ... changes, up to `most`: the sum of squares of each, and for
/// each end the beginning of its last stretch.
pub(crate) fn partitions(series: &Series, most: usize) -> (Vec<f64>, Vec<Vec<usize>>) {
    let n = series.len();
    let mut best: Vec<f64> =
        (0..=n).map(|end| if end == 0 { 0.0 } else { series.squares(0, end) }).collect();
    let (mut sums, mut begins) = (vec![best[n]], vec![vec![0; n + 1]]);
    for changes in 1..=most {
        let mut next = vec![f64::INFINITY; n + 1];
        let mut begin = vec![0; n + 1];
        for end in 2 * changes + 1..=n {
            // The last stretch of all may have one value.
            let latest = if end == n { n - 1 } else { end - 2 };
            for (from, before) in best.iter().enumerate().take(latest + 1).skip(2 * changes) {
                let sum = before + series.squares(from, end);
                if sum < next[end] {
                    (next[end], begin[end]) = (sum, from);
                }
            }
        }
        if !next[n].is_finite() {
            break;
        }
        sums.push(next[n]);
        begins.push(begin);
        best = next;
    }
    (sums, begins)
}

/// Reduction of the sum of squares by `more` further changes, for each of them, in units of the
/// variance that they leave.
pub(crate) fn gain(sums: &[f64], n: usize, from: usize, more: usize) -> Option<f64> {
    let left = *sums.get(from + more)?;
    let freedom = n.checked_sub(from + more + 1).filter(|freedom| *freedom > 0)? as f64;
    let reduced = sums[from] - left;
    let each = reduced / more as f64;
    // Where nothing is left, anything is infinitely much.
    if reduced <= 0.0 { Some(0.0) } else { Some(each * freedom / left) }
}

/// Most changes of so many values.
pub(crate) fn most(n: usize) -> usize {
    MOST.min((n / 3).max(1))
}

/// The beginnings of stretches, with as many changes as the limit allows.
fn partition(series: &Series, limit: f64) -> Vec<usize> {
    let n = series.len();
    let (mut sums, begins) = partitions(series, most(n));
    // A sum of this size is a rounding error of 0.
    let rounding = 1e-12 * sums[0];
    sums.iter_mut().for_each(|sum| *sum = if *sum <= rounding { 0.0 } else { *sum });
    let mut changes = 0;
    loop {
        let by_limit = |more: &usize| gain(&sums, n, changes, *more).filter(|gain| *gain > limit);
        let is_sure = |more: usize| {
            by_limit(&more).is_some_and(|gain| {
                gain > limit * inflation(series, &starts_of(&begins, changes + more, n))
            })
        };
        // By chance the neighbours of one more partition may be less alike: that there are changes
        // may be told by two, and one of them be all of it.
        let more = (1..=AT_A_TIME)
            .find(|more| by_limit(more).is_some())
            .filter(|_| (1..=AT_A_TIME).any(is_sure));
        match more {
            Some(more) => changes += more,
            None => break,
        }
    }
    starts_of(&begins, changes, n)
}

/// The beginnings of the stretches of the best partition with so many changes.
fn starts_of(begins: &[Vec<usize>], changes: usize, n: usize) -> Vec<usize> {
    let (mut starts, mut end) = (Vec::new(), n);
    for changes in (0..=changes).rev() {
        end = begins[changes][end];
        starts.push(end);
    }
    starts.reverse();
    starts
}

/// Factor by which the variance of a mean exceeds that of independent values, because neighbours
/// are alike: (1 + r) / (1 - r), with r the correlation of neighbours around their levels. Levels
/// that were fitted make r too small by one in so many values for each. At least 1; for r up to
/// 0.8.
fn inflation(series: &Series, starts: &[usize]) -> f64 {
    let mut residuals = Vec::with_capacity(series.len());
    for (from, to) in series.stretches(starts) {
        let level = series.level(from, to);
        residuals.extend(
            (from..to)
                .map(|at| series.weight(at, at + 1).sqrt() * (series.level(at, at + 1) - level)),
        );
    }
    let squares: f64 = residuals.iter().map(|each| each.powi(2)).sum();
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let correlation = products / squares + starts.len() as f64 / series.len() as f64;
    if correlation.is_nan() {
        return 1.0; // nothing is left
    }
    let correlation = correlation.clamp(0.0, MOST_ALIKE);
    (1.0 + correlation) / (1.0 - correlation)
}

/// Standard deviation of values around their level beyond their errors, from the differences of
/// neighbours without the largest ones.
fn scatter(values: &[(f64, f64)]) -> f64 {
    let differences: Vec<(f64, f64)> = values
        .windows(2)
        .map(|pair| ((pair[1].0 - pair[0].0).powi(2), pair[0].1.powi(2) + pair[1].1.powi(2)))
        .collect();
    let count = differences.len();
    if count < 3 {
        return 0.0;
    }
    let kept = count - 1 - count / 10;
    // Mean square of a normal value whose largest share is cut off.
    let cut = normal_quantile(0.5 + 0.5 * kept as f64 / count as f64);
    let density = (-cut * cut / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let expected = 1.0 - 2.0 * cut * density / (2.0 * normal_cdf(cut) - 1.0);
    let seen = |variance: f64| {
        let mut squares: Vec<f64> = differences
            .iter()
            .map(|(square, errors)| {
                let expected = 2.0 * variance + errors;
                if *square <= 0.0 { 0.0 } else { square / expected }
            })
            .collect();
        squares.sort_unstable_by(f64::total_cmp);
        squares[..kept].iter().sum::<f64>() / kept as f64
    };
    if seen(0.0) <= expected {
        return 0.0;
    }
    let largest = differences.iter().map(|(square, _)| *square).fold(0.0, f64::max);
    let (mut low, mut high) = (0.0, largest / expected);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if seen(middle) > expected { low = middle } else { high = middle }
    }
    (0.5 * (low + high)).sqrt()
}

/// Standard deviations by which a disturbed value differs from each of its neighbours.
const DISTURBED: f64 = 4.0;

/// The values, with errors as large as the distance for those that are far from the two on either
/// side of them. The last value has none behind it, and is never disturbed.
fn without_disturbed(values: &[(f64, f64)], scatter: f64) -> Vec<(f64, f64)> {
    let variance = |error: f64| error.powi(2) + scatter.powi(2);
    let away = |at: usize| {
        let around = (at.saturating_sub(2)..values.len().min(at + 3)).filter(|other| *other != at);
        let nearest = around.map(|other| {
            let distance = (values[at].0 - values[other].0).abs();
            let expected = (variance(values[at].1) + variance(values[other].1)).sqrt();
            (distance, distance > DISTURBED * expected && expected > 0.0)
        });
        let all: Vec<(f64, bool)> = nearest.collect();
        let is_far = all.iter().all(|(_, is_far)| *is_far) && !all.is_empty();
        is_far.then(|| all.iter().map(|(distance, _)| *distance).fold(f64::INFINITY, f64::min))
    };
    let last = values.len() - 1;
    let widened = |(at, (value, error)): (usize, &(f64, f64))| {
        let away = if at < last { away(at) } else { None };
        (*value, away.map_or(*error, |away| error.max(away)))
    };
    values.iter().enumerate().map(widened).collect()
}

/// The change before the stretch number `place`: its position among those between the neighbouring
/// changes, and its size. `rest` is the sum of squares of the whole partition, `alike` its
/// [`inflation`].
fn change(
    series: &Series,
    starts: &[usize],
    place: usize,
    (rest, alike): (f64, f64),
    confidence: f64,
) -> Option<LevelChange> {
    let n = series.len();
    let (from, at) = (starts[place - 1], starts[place]);
    let to = starts.get(place + 1).copied().unwrap_or(n);
    let freedom = n.saturating_sub(starts.len()).max(1) as f64;
    let others = rest - series.squares(from, at) - series.squares(at, to);
    let of_position = |at: usize| {
        let left = others.max(0.0) + series.squares(from, at) + series.squares(at, to);
        let (old, new) = (series.weight(from, at), series.weight(at, to));
        Position {
            at,
            ln_density: -0.5 * (old.ln() + new.ln() + freedom * left.max(f64::MIN_POSITIVE).ln()),
            share: 0.0,
            difference: series.level(at, to) - series.level(from, at),
            error: (alike * left / freedom * (1.0 / old + 1.0 / new)).sqrt(),
        }
    };
    let mut positions: Vec<Position> = (from + 1..to).map(of_position).collect();
    let most = positions.iter().map(|it| it.ln_density).fold(f64::NEG_INFINITY, f64::max);
    let all: f64 = positions.iter().map(|it| (it.ln_density - most).exp()).sum();
    positions.iter_mut().for_each(|it| it.share = (it.ln_density - most).exp() / all);
    positions.sort_by(|a, b| b.share.total_cmp(&a.share));
    let mut sum = 0.0;
    let likely = positions.iter().take_while(|it| {
        let before = sum;
        sum += it.share;
        before < confidence
    });
    let (earliest, latest) =
        likely.fold((at, at), |ends, it| (ends.0.min(it.at), ends.1.max(it.at)));
    let tail = (1.0 - confidence) / 2.0;
    let student = StudentT::new(freedom)?;
    let end = |tail: f64| quantile(&positions, &student, tail);
    Some(LevelChange {
        at,
        earliest,
        latest,
        difference: series.level(at, to) - series.level(from, at),
        low: end(tail)?,
        high: end(1.0 - tail)?,
    })
}

/// A position of a change.
struct Position {
    at: usize,
    ln_density: f64,
    /// Its probability.
    share: f64,
    /// The difference of the levels, if it is the true one, and its standard error.
    difference: f64,
    error: f64,
}

/// A quantile of the mixture of the differences at all positions.
fn quantile(positions: &[Position], student: &StudentT, p: f64) -> Option<f64> {
    let likely: Vec<&Position> = positions.iter().filter(|it| it.share > 1e-6).collect();
    let below = |x: f64| -> f64 {
        let of_each = likely.iter().map(|it| {
            let at = match x.total_cmp(&it.difference) {
                _ if it.error > 0.0 => 1.0 - student.survival((x - it.difference) / it.error),
                std::cmp::Ordering::Less => 0.0,
                _ => 1.0,
            };
            it.share * at
        });
        of_each.sum()
    };
    // At these ends each of the distributions has less, or more, below it.
    let reach = student.critical_value(1.0 - p.min(1.0 - p))?;
    let ends = likely
        .iter()
        .map(|it| (it.difference - reach * it.error, it.difference + reach * it.error));
    let (mut low, mut high) =
        ends.fold((f64::INFINITY, f64::NEG_INFINITY), |all, it| (all.0.min(it.0), all.1.max(it.1)));
    if !low.is_finite() || !high.is_finite() {
        return None;
    }
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if below(middle) < p { low = middle } else { high = middle }
    }
    Some(0.5 * (low + high))
}
