//! Hosts whose costs are unlike those of their group.
//!
//! A host is judged as sender and as receiver, by what it costs in all its cells on average. Its
//! mean is compared with that of its group without it, and the distance with what hosts of the
//! group differ by. Odd hosts must not hide in the spread that they make themselves: those that lie
//! more than two and a half robust standard deviations from their group are excluded, with a mean
//! of their own, and the others are fitted again, until no further one is found. What is left is
//! the spread of hosts that are alike, cut at that distance, and its variance is divided by that of
//! a normal distribution that is cut there. Where sessions have heavy tails ([`odd_pairs`]), means
//! of hosts have them too, and distances are compared with a Student's t distribution: of n
//! sessions with n^0.5 times the degrees of freedom, whose tail is about that of a mean of n at six
//! standard deviations. Pairs that lie far off are left out before: a pair is two hosts, and no
//! host is odd for one wire.

use std::collections::BTreeSet;

use zc_stats::{Crossed, StudentT, false_discovery_q_values, robust_deviation};

use super::fits::{CellFit, FALSE_DISCOVERY_RATE, OnAverage};
use super::model::{End, OddHost};
use super::observations::{Fitted, Observed};
use super::odd_pairs;
use crate::interim::CONFIDENCE;
use crate::parallel;

/// Robust standard deviations beyond which a host is excluded, and the probability that a normal
/// value is nearer.
const SET_APART: f64 = 2.5;
const NEAR: f64 = 0.987_581;

/// Fewest hosts of a group that has a spread of its own; smaller ones have that of all hosts.
const LEAST_HOSTS: usize = 8;

/// Fewest others of a group that a host is judged by: of two hosts, nobody knows which is the odd
/// one.
const LEAST_OTHERS: usize = 2;

/// Largest share of a group that is excluded: more hosts than that are not odd.
const MOST_APART: f64 = 1.0 / 3.0;

/// Most rounds in which hosts are excluded.
const ROUNDS: usize = 5;

/// Variance of a normal distribution that is cut at [`SET_APART`], divided by that of the whole.
const CUT: f64 = 0.9112;

/// A host within a group, against the rest of the group.
#[derive(Debug, Clone, Copy)]
struct Judged {
    unit: usize,
    end: End,
    /// Its distance from its group, in logarithms.
    distance: f64,
    /// Variance of that, if it is like the others, and the part that is not between hosts.
    variance: f64,
    sampling: f64,
    is_apart: bool,
    runs: usize,
    /// Degrees of freedom of the tails of its mean, where those of sessions are heavy.
    tails: Option<f64>,
    freedom: f64,
    p_value: f64,
}

/// Odd hosts, how many hosts were examined, and the fits.
pub(super) fn odd_hosts(
    observed: &Observed<'_>,
    fits: &[CellFit],
) -> (Vec<OddHost>, usize, Vec<OnAverage>) {
    let averages: Vec<(End, Vec<(usize, Crossed)>)> = [End::Sender, End::Receiver, End::Both]
        .into_iter()
        .map(|end| {
            let cells: Vec<(usize, &Fitted)> = fits
                .iter()
                .filter(|fit| fit.end == end)
                .filter_map(|fit| Some((fit.label, fit.cost.as_ref()?)))
                .collect();
            (end, observed.average_over_cells(end, &cells))
        })
        .filter(|(_, values)| !values.is_empty())
        .collect();
    let (far_off, tails) = odd_pairs::find_far_pairs(observed, &averages);
    let judged = parallel::each(averages.len(), |at| {
        let (end, values) = &averages[at];
        let is_apart = |(run, _): &(usize, Crossed)| {
            observed.grouped.pair(*run).is_some_and(|pair| far_off.contains(&pair))
        };
        let (apart, values): (Vec<_>, Vec<_>) = values.iter().copied().partition(is_apart);
        let (runs, values): (Vec<usize>, Vec<Crossed>) = values.into_iter().unzip();
        let (fitted, judged) = judge(observed, *end, &runs, &values, tails)?;
        Some((OnAverage { end: *end, fitted, apart }, judged))
    });
    let (on_average, judged): (Vec<OnAverage>, Vec<Vec<Judged>>) =
        judged.into_iter().flatten().unzip();
    let all: Vec<Judged> = judged.into_iter().flatten().collect();
    let examined: BTreeSet<&str> =
        all.iter().map(|each| observed.grouped.units[each.unit].host.as_str()).collect();
    let p_values: Vec<f64> = all.iter().map(|each| each.p_value).collect();
    let q_values = false_discovery_q_values(&p_values).unwrap_or_default();
    let mut found: Vec<(f64, OddHost)> = all
        .iter()
        .zip(q_values)
        .filter(|(_, q_value)| *q_value <= FALSE_DISCOVERY_RATE)
        .filter_map(|(each, q_value)| {
            Some((each.p_value, odd_host(observed, fits, each, q_value)?))
        })
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.host.cmp(&b.1.host)));
    (found.into_iter().map(|(_, odd)| odd).collect(), examined.len(), on_average)
}

/// Fits what runs cost on average, and judges each host that has others beside it.
fn judge(
    observed: &Observed<'_>,
    end: End,
    runs: &[usize],
    values: &[Crossed],
    tails: Option<f64>,
) -> Option<(Fitted, Vec<Judged>)> {
    let groups = observed.grouped.groups.len();
    let mut apart: Vec<usize> = Vec::new();
    for _ in 0..ROUNDS {
        let fitted = fit(runs, values, &apart, groups)?;
        let judged = against_groups(observed, end, &fitted, &apart, tails);
        let more = beyond(observed, &judged);
        if more.is_empty() {
            let tested = tested(observed, judged);
            return Some((fitted, tested));
        }
        apart.extend(more);
    }
    let fitted = fit(runs, values, &apart, groups)?;
    let judged = against_groups(observed, end, &fitted, &apart, tails);
    let tested = tested(observed, judged);
    Some((fitted, tested))
}

/// The fit in which these units have means of their own, as levels behind those of groups.
fn fit(runs: &[usize], values: &[Crossed], apart: &[usize], groups: usize) -> Option<Fitted> {
    let level = |value: &Crossed| {
        let own = apart.iter().position(|unit| *unit == value.unit);
        Crossed { level: own.map_or(value.level, |own| groups + own), ..*value }
    };
    Fitted::fit(runs.to_vec(), values.iter().map(level).collect())
}

/// The distance of each unit from its group without it; `None` for one that is alone.
fn against_groups(
    observed: &Observed<'_>,
    end: End,
    fitted: &Fitted,
    apart: &[usize],
    tails: Option<f64>,
) -> Vec<Judged> {
    let (grouped, effects) = (&observed.grouped, &fitted.effects);
    let groups = grouped.groups.len();
    let between = effects.unit_variance;
    let mut runs = vec![0_usize; effects.units.len()];
    fitted.values.iter().for_each(|value| runs[value.unit] += 1);
    let mut judged = Vec::new();
    for (unit, effect) in effects.units.iter().enumerate() {
        let (Some(effect), group) = (effect, grouped.units[unit].group) else { continue };
        let others = effects.means.get(group).copied().flatten().map_or(0, |mean| mean.units);
        let own = apart.iter().position(|each| *each == unit);
        let (distance, variance) = match own {
            Some(own) if others >= LEAST_OTHERS => match effects.difference(groups + own, group) {
                Some((distance, error)) => (distance, error.powi(2)),
                None => continue,
            },
            None if others > LEAST_OTHERS => (effect.seen, effect.variance),
            _ => continue,
        };
        judged.push(Judged {
            unit,
            end,
            distance,
            variance,
            sampling: (variance - between).max(0.0),
            is_apart: own.is_some(),
            runs: runs[unit],
            tails: tails.map(|tails| tails * (runs[unit] as f64).sqrt()),
            freedom: 1.0,
            p_value: 1.0,
        });
    }
    judged
}

impl Judged {
    /// Robust standard deviations beyond which it is excluded.
    fn far(&self) -> f64 {
        let student = self.tails.and_then(StudentT::new);
        student.and_then(|student| student.critical_value(NEAR)).unwrap_or(SET_APART)
    }

    fn standardised(&self) -> f64 {
        if self.variance > 0.0 { self.distance / self.variance.sqrt() } else { 0.0 }
    }
}

/// Units that are not excluded yet and lie far from their group, by its robust spread.
fn beyond(observed: &Observed<'_>, judged: &[Judged]) -> Vec<usize> {
    let of_all = robust_scale(judged.iter());
    let scales: Vec<Option<f64>> = (0..observed.grouped.groups.len())
        .map(|group| {
            let own = || judged.iter().filter(|each| group_of(observed, each) == group);
            if own().count() >= LEAST_HOSTS { robust_scale(own()) } else { of_all }
        })
        .collect();
    let mut found: Vec<&Judged> = judged
        .iter()
        .filter(|each| {
            let scale = scales[group_of(observed, each)].unwrap_or(1.0);
            !each.is_apart && each.standardised().abs() > each.far() * scale
        })
        .collect();
    found.sort_by(|a, b| b.standardised().abs().total_cmp(&a.standardised().abs()));
    let count = |group: usize, is_apart: bool| {
        let own = judged.iter().filter(|each| group_of(observed, each) == group);
        own.filter(|each| each.is_apart || !is_apart).count()
    };
    let mut left: Vec<usize> = (0..observed.grouped.groups.len())
        .map(|group| {
            let most = (count(group, false) as f64 * MOST_APART) as usize;
            most.saturating_sub(count(group, true))
        })
        .collect();
    let mut beyond = Vec::new();
    for each in found {
        let left = &mut left[group_of(observed, each)];
        if *left > 0 {
            *left -= 1;
            beyond.push(each.unit);
        }
    }
    beyond
}

fn group_of(observed: &Observed<'_>, each: &Judged) -> usize {
    observed.grouped.units[each.unit].group
}

/// The standard deviation of standardised distances. `None` with too few of them, or if most are 0.
fn robust_scale<'a>(judged: impl Iterator<Item = &'a Judged>) -> Option<f64> {
    let all: Vec<f64> = judged.map(Judged::standardised).collect();
    let found = robust_deviation(&all).filter(|_| all.len() >= LEAST_HOSTS)?;
    (found > 0.1).then_some(found)
}

/// Adds p-values: Student's t by the spread of the other hosts that are not excluded, of the group
/// if it is large enough.
fn tested(observed: &Observed<'_>, mut judged: Vec<Judged>) -> Vec<Judged> {
    let squares: Vec<(usize, f64)> = judged
        .iter()
        .filter(|each| !each.is_apart)
        .map(|each| (group_of(observed, each), each.standardised().powi(2)))
        .collect();
    let groups = observed.grouped.groups.len();
    let mut of_groups = vec![(0.0, 0_usize); groups];
    for (group, square) in &squares {
        of_groups[*group].0 += square;
        of_groups[*group].1 += 1;
    }
    let all = of_groups.iter().fold((0.0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    let means = of_groups.iter().filter(|of| of.1 > 0).count();
    for each in &mut judged {
        let (of_group, own) = (of_groups[group_of(observed, each)], each.standardised().powi(2));
        let (sum, n, means) = if of_group.1 >= LEAST_HOSTS {
            (of_group.0, of_group.1, 1)
        } else {
            (all.0, all.1, means)
        };
        let (sum, n) = if each.is_apart { (sum, n) } else { (sum - own, n.saturating_sub(1)) };
        each.freedom =
            (n.saturating_sub(means).max(1) as f64).min(each.tails.unwrap_or(f64::INFINITY));
        let cut = if each.tails.is_some() { 1.0 } else { CUT };
        let scale = if n > 0 { sum / n as f64 / cut } else { 1.0 };
        let t = each.standardised() / scale.max(f64::MIN_POSITIVE).sqrt();
        let p_value = StudentT::new(each.freedom).map(|student| 2.0 * student.survival(t.abs()));
        each.p_value = p_value.filter(|p| p.is_finite()).unwrap_or(1.0).min(1.0);
    }
    judged
}

fn odd_host(
    observed: &Observed<'_>,
    fits: &[CellFit],
    judged: &Judged,
    q_value: f64,
) -> Option<OddHost> {
    let unit = &observed.grouped.units[judged.unit];
    let critical = StudentT::new(judged.freedom)?.critical_value(CONFIDENCE)?;
    let half = critical * judged.sampling.sqrt();
    let finite = |ln: f64| Some(ln.exp()).filter(|value| value.is_finite());
    Some(OddHost {
        host: unit.host.clone(),
        group: unit.group,
        end: judged.end,
        runs: judged.runs,
        by: finite(judged.distance)?,
        low: finite(judged.distance - half)?,
        high: finite(judged.distance + half)?,
        most: most(observed, fits, judged),
        q_value,
    })
}

/// The cell in which a unit differs most from its group, and by what ratio.
fn most(observed: &Observed<'_>, fits: &[CellFit], judged: &Judged) -> Option<(String, f64)> {
    let of_cell = |fit: &CellFit| {
        let fitted = fit.cost.as_ref()?;
        let effect = (*fitted.effects.units.get(judged.unit)?)?;
        Some((fit.label, effect.seen))
    };
    let cells = fits.iter().filter(|fit| fit.end == judged.end).filter_map(of_cell);
    let (label, by) = cells.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let by = Some(by.exp()).filter(|by| by.is_finite())?;
    Some((observed.labels[label].clone(), by))
}
