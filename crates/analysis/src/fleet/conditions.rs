//! Facts that hosts of one group differ in and that go with their costs: a sysctl, a firmware, the
//! size of a ring.
//!
//! Mean costs of hosts, net of the hosts at the other end, are classed by the values of each fact
//! within groups ([`zc_stats::blocked_anova`]). Distances from the group's median count up to three
//! robust standard deviations, so that one odd host makes no condition. A value that fewer than
//! three hosts have is left out; so a fact in which all hosts differ, such as a serial number, is
//! not examined. That a fact goes with a cost does not make it the cause. Facts that divide hosts
//! alike are one, and each fact is tested on its own.

use std::collections::{BTreeMap, BTreeSet};

use zc_stats::{
    BlockedAnova, Classed, StudentT, blocked_anova, false_discovery_q_values, median,
    robust_deviation,
};

use super::fits::{FALSE_DISCOVERY_RATE, OnAverage};
use super::grouping::Grouping;
use super::model::{Condition, ConditionValue, End, HostFacts};
use super::observations::{Fitted, Observed};
use crate::interim::CONFIDENCE;

/// Fewest hosts of a value that is compared.
const LEAST_HOSTS: usize = 3;

/// Robust standard deviations up to which a host's distance from its group counts.
const MOST_AWAY: f64 = 3.0;

/// Most values of a fact that are compared; one with more is a measurement or a name.
const MOST_VALUES: usize = 12;

/// A fact whose values divide hosts, and others that divide them alike.
struct Division {
    fact: String,
    same_as: Vec<String>,
    /// Values, the most common first, and their hosts.
    values: Vec<String>,
    /// For each unit the index of its value.
    of_units: Vec<Option<usize>>,
}

/// Conditions, and how many facts were examined.
pub(super) fn conditions(
    observed: &Observed<'_>,
    grouping: &Grouping,
    on_average: &[OnAverage],
) -> (Vec<Condition>, usize) {
    let divisions = divisions(observed, grouping);
    let mut tested: Vec<(&Division, End, Vec<usize>, BlockedAnova)> = Vec::new();
    let mut examined = BTreeSet::new();
    for OnAverage { end, fitted, .. } in on_average {
        let units = effects_of_units(observed, fitted);
        for division in &divisions {
            let Some((order, found)) = test(observed, division, &units) else { continue };
            examined.insert(&division.fact);
            tested.push((division, *end, order, found));
        }
    }
    let examined: usize = divisions
        .iter()
        .filter(|division| examined.contains(&division.fact))
        .map(|division| 1 + division.same_as.len())
        .sum();
    let p_values: Vec<f64> = tested.iter().map(|(.., found)| found.p_value).collect();
    let q_values = false_discovery_q_values(&p_values).unwrap_or_default();
    let mut conditions: Vec<(f64, Condition)> = tested
        .into_iter()
        .zip(q_values)
        .filter(|(_, q_value)| *q_value <= FALSE_DISCOVERY_RATE)
        .map(|((division, end, order, found), q_value)| {
            (found.p_value, condition(division, end, &order, &found, q_value))
        })
        .collect();
    conditions.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.fact.cmp(&b.1.fact)));
    (conditions.into_iter().map(|(_, condition)| condition).collect(), examined)
}

/// The facts that divide units, without those that units are grouped by.
fn divisions(observed: &Observed<'_>, grouping: &Grouping) -> Vec<Division> {
    let facts = facts_of_units(observed);
    let names: BTreeSet<&str> = facts.iter().flat_map(BTreeMap::keys).copied().collect();
    let mut by_division: BTreeMap<Vec<Option<usize>>, Division> = BTreeMap::new();
    for name in names {
        if grouping.by.iter().any(|by| by == name) {
            continue;
        }
        let values: Vec<Option<&str>> =
            facts.iter().map(|facts| facts.get(name).copied().flatten()).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        values.iter().flatten().for_each(|value| *counts.entry(value).or_default() += 1);
        let mut common: Vec<&str> = counts.keys().copied().collect();
        common.sort_by_key(|value| (std::cmp::Reverse(counts[value]), *value));
        if common.len() < 2 {
            continue;
        }
        let place = |value: &Option<&str>| common.iter().position(|it| Some(*it) == *value);
        let of_units: Vec<Option<usize>> = values.iter().map(place).collect();
        by_division
            .entry(numbered(&of_units))
            .and_modify(|division| division.same_as.push(name.to_owned()))
            .or_insert_with(|| Division {
                fact: name.to_owned(),
                same_as: Vec::new(),
                values: common.iter().map(|value| (*value).to_owned()).collect(),
                of_units,
            });
    }
    let mut divisions: Vec<Division> = by_division.into_values().collect();
    divisions.sort_by(|a, b| a.fact.cmp(&b.fact));
    divisions
}

/// The same division with values numbered in the order in which units have them.
fn numbered(of_units: &[Option<usize>]) -> Vec<Option<usize>> {
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    let number = |value: &Option<usize>| {
        let next = numbers.len();
        value.map(|value| *numbers.entry(value).or_insert(next))
    };
    of_units.iter().map(number).collect()
}

/// Facts of each unit by name; `None` for one that changed from run to run.
fn facts_of_units<'a>(observed: &Observed<'a>) -> Vec<BTreeMap<&'a str, Option<&'a str>>> {
    let grouped = &observed.grouped;
    let mut facts = vec![BTreeMap::new(); grouped.units.len()];
    let mut seen: BTreeSet<(usize, *const HostFacts)> = BTreeSet::new();
    let mut add = |unit: usize, host: &'a std::sync::Arc<HostFacts>| {
        if !seen.insert((unit, std::sync::Arc::as_ptr(host))) {
            return;
        }
        for (name, value) in &host.facts {
            let known = facts[unit].entry(name.as_str()).or_insert(Some(value.as_str()));
            if *known != Some(value.as_str()) {
                *known = None;
            }
        }
    };
    for (places, run) in grouped.places.iter().zip(&observed.runs) {
        add(places.near, &run.near);
        if let (Some(unit), Some(far)) = (places.far, &run.far) {
            add(unit, far);
        }
    }
    facts
}

/// For each unit with a cost, its mean net of the other ends, and its weight.
fn effects_of_units(observed: &Observed<'_>, fitted: &Fitted) -> Vec<Option<(f64, f64)>> {
    let effects = &fitted.effects;
    let mut sums = vec![(0.0, 0.0); observed.grouped.units.len()];
    for (value, own) in fitted.values.iter().zip(&effects.own_variances) {
        let partner = value.partner.and_then(|partner| *effects.partners.get(partner)?);
        let net = value.value - partner.map_or(0.0, |partner| partner.predicted);
        sums[value.unit].0 += net / own;
        sums[value.unit].1 += 1.0 / own;
    }
    let mut units: Vec<Option<(f64, f64)>> = sums
        .into_iter()
        .map(|(sum, weight)| {
            let variance = effects.unit_variance + 1.0 / weight;
            (weight > 0.0).then(|| (sum / weight, 1.0 / variance))
        })
        .collect();
    clip(observed, &mut units);
    units
}

/// Draws values that lie far from their group's median to the limit.
fn clip(observed: &Observed<'_>, units: &mut [Option<(f64, f64)>]) {
    let groups = observed.grouped.groups.len();
    let group = |unit: usize| observed.grouped.units[unit].group;
    let mut by_group: Vec<Vec<f64>> = vec![Vec::new(); groups];
    for (unit, value) in units.iter().enumerate() {
        by_group[group(unit)].extend(value.map(|(value, _)| value));
    }
    let medians: Vec<f64> = by_group.iter().map(|values| median(values).unwrap_or(0.0)).collect();
    let all: Vec<f64> = by_group
        .iter()
        .zip(&medians)
        .flat_map(|(values, median)| values.iter().map(move |value| value - median))
        .collect();
    let Some(deviation) = robust_deviation(&all).filter(|deviation| *deviation > 0.0) else {
        return;
    };
    let most = MOST_AWAY * deviation;
    for (unit, value) in units.iter_mut().enumerate() {
        let median = medians[group(unit)];
        if let Some((value, _)) = value {
            *value = value.clamp(median - most, median + most);
        }
    }
}

/// The test of a division, and the values that it compares, in their order.
fn test(
    observed: &Observed<'_>,
    division: &Division,
    units: &[Option<(f64, f64)>],
) -> Option<(Vec<usize>, BlockedAnova)> {
    let mut hosts = vec![0; division.values.len()];
    for (value, unit) in division.of_units.iter().zip(units) {
        if let (Some(value), Some(_)) = (value, unit) {
            hosts[*value] += 1;
        }
    }
    let mut order: Vec<usize> =
        (0..hosts.len()).filter(|value| hosts[*value] >= LEAST_HOSTS).collect();
    order.sort_by_key(|value| std::cmp::Reverse(hosts[*value]));
    if order.len() < 2 || order.len() > MOST_VALUES {
        return None;
    }
    let values: Vec<Classed> = units
        .iter()
        .enumerate()
        .filter_map(|(unit, found)| {
            let (value, weight) = (*found)?;
            let class = order.iter().position(|it| Some(*it) == division.of_units[unit])?;
            Some(Classed { value, weight, block: observed.grouped.units[unit].group, class })
        })
        .collect();
    Some((order, blocked_anova(&values)?))
}

fn condition(
    division: &Division,
    end: End,
    order: &[usize],
    found: &BlockedAnova,
    q_value: f64,
) -> Condition {
    let critical =
        StudentT::new(found.freedom as f64).and_then(|student| student.critical_value(CONFIDENCE));
    let finite = |ln: f64| Some(ln.exp()).filter(|by| by.is_finite());
    let value = |(class, place): (usize, &usize)| {
        let difference = found.differences.get(class).copied().flatten().filter(|_| class > 0);
        let end = |times: f64| {
            let (difference, error) = difference?;
            finite(difference + times * critical? * error)
        };
        ConditionValue {
            value: division.values[*place].clone(),
            hosts: division.of_units.iter().filter(|it| **it == Some(*place)).count(),
            by: difference.and_then(|(difference, _)| finite(difference)),
            low: end(-1.0),
            high: end(1.0),
        }
    };
    Condition {
        fact: division.fact.clone(),
        same_as: division.same_as.clone(),
        end,
        values: order.iter().enumerate().map(value).collect(),
        explains: found.explained,
        q_value,
    }
}
