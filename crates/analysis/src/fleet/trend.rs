//! The same plan over nights: a line for each cell, end and group, and where its level changes.
//!
//! A night is a day of UTC, by when a run began. Runs of an evening that lasts beyond midnight are
//! of two nights: start them after midnight, UTC. The cost of a night is corrected for which hosts
//! were measured in it: effects of nights are fitted beside those of pairs of hosts (of hosts,
//! where pairs change from night to night), so that a night without the cheapest host is not
//! dearer. Changes are those of [`zc_stats::change_points`], at a chance of a false one that holds
//! for all lines together.

use std::collections::BTreeMap;

use zc_stats::{Crossed, StudentT, change_points, crossed_effects};

use super::changed_facts::ChangedFacts;
use super::fits::Line;
use super::grouping::{Grouped, Grouping};
use super::judgement;
use super::model::{ChangePoint, End, Event, LeftOut, Point, RunFigures, Trend, TrendLine};
use super::observations::{Observed, Quantity};
use super::selection::{NoFleet, select};
use crate::interim::CONFIDENCE;
use crate::parallel;

/// Chance that a change is found anywhere among the lines of a trend without one.
pub const FALSE_ALARM: f64 = 0.05;

/// Nights in which a pair is measured, on average, from which on pairs have effects of their own.
const NIGHTS_OF_A_PAIR: usize = 3;

/// Nights and partners that are fitted together at most, where pairs change.
const MOST_TOGETHER: usize = 600;

/// Most facts that are named beside a change.
const MOST_FACTS: usize = 10;

/// Analyses runs of one experiment over one link over nights.
///
/// Lines are for the groups that the caller asks for; with `kernel` among their names, a new kernel
/// begins a new line instead of changing one. `margin` is the share by which a line must be dearer
/// to be worse, for [`Trend::judgement`].
///
/// # Errors
///
/// [`NoFleet`]: no run can be used, or they are of several experiments or links.
pub fn trend(
    runs: &[RunFigures],
    grouping: &Grouping,
    events: &[Event],
    margin: Option<f64>,
) -> Result<Trend, NoFleet> {
    let (selected, mut left_out) = select(runs)?;
    let mut used = Vec::new();
    let mut days = Vec::new();
    for run in selected {
        match day(&run.started_at) {
            Some(day) => {
                used.push(run);
                days.push(day);
            }
            None => left_out.push(LeftOut {
                name: run.name.clone(),
                why: format!("its beginning cannot be read: \"{}\"", run.started_at),
            }),
        }
    }
    let Some(first) = used.first().copied() else { return Err(NoFleet::NoRun { left_out }) };
    let mut nights = days.clone();
    nights.sort();
    nights.dedup();
    let night_of_run: Vec<usize> =
        days.iter().map(|day| nights.binary_search(day).unwrap_or(0)).collect();
    let grouped = Grouped::group(&used, grouping);
    let observed = Observed::new(used, grouped);
    let context = Context { observed, night_of_run, nights, events };
    let wanted = context.wanted();
    let lines: Vec<Line> =
        parallel::each(wanted.len(), |at| context.line(wanted[at], wanted.len()))
            .into_iter()
            .flatten()
            .collect();
    let groups = &context.observed.grouped.groups;
    let judgement = margin.map(|margin| judgement::judge(margin, &lines, groups));
    Ok(Trend {
        experiment: first.experiment.clone(),
        link: first.link.clone(),
        reference: first.reference.clone(),
        confidence: CONFIDENCE,
        false_alarm: FALSE_ALARM,
        runs: context.observed.runs.len(),
        hosts: context.observed.grouped.hosts.len(),
        shared_runs: 0,
        left_out,
        by: grouping.by.clone(),
        judgement,
        lines: lines.into_iter().map(|line| line.line).collect(),
        groups: context.observed.grouped.groups,
        nights: context.nights,
    })
}

/// The day of a time, in UTC: `2026-11-24`; `None` for what is no time of RFC 3339.
pub fn day(started_at: &str) -> Option<String> {
    let at: jiff::Timestamp = started_at.parse().ok()?;
    Some(at.strftime("%Y-%m-%d").to_string())
}

#[derive(Debug, Clone, Copy)]
struct Wanted {
    label: usize,
    end: End,
    group: usize,
}

struct Context<'a> {
    observed: Observed<'a>,
    night_of_run: Vec<usize>,
    nights: Vec<String>,
    events: &'a [Event],
}

/// Nights of a line: means with errors, and how many runs they have.
struct Nights {
    nights: Vec<usize>,
    runs: Vec<usize>,
    values: Vec<(f64, f64)>,
    /// Degrees of freedom of the errors.
    freedom: f64,
}

impl Context<'_> {
    /// The lines that have a run.
    fn wanted(&self) -> Vec<Wanted> {
        let mut wanted = Vec::new();
        for label in 0..self.observed.labels.len() {
            for end in self.observed.ends(label) {
                let groups = 0..self.observed.grouped.groups.len();
                wanted.extend(groups.map(|group| Wanted { label, end, group }));
            }
        }
        wanted.retain(|line| !self.values(*line).is_empty());
        wanted
    }

    /// Runs of a line, with nights as levels.
    fn values(&self, line: Wanted) -> Vec<(usize, Crossed)> {
        let of_run = |(run, value): (usize, Crossed)| {
            let level = self.night_of_run[run];
            (value.level == line.group).then_some((run, Crossed { level, ..value }))
        };
        let all = self.observed.values(line.label, Quantity::Cost(line.end));
        all.into_iter().filter_map(of_run).collect()
    }

    fn line(&self, wanted: Wanted, lines: usize) -> Option<Line> {
        let runs = self.values(wanted);
        let nights = self.night_means(&runs)?;
        let found = change_points(&nights.values, FALSE_ALARM / lines as f64, CONFIDENCE)?;
        let points = points(&nights);
        let changes = found
            .changes
            .iter()
            .filter_map(|change| {
                let ends = [change.difference, change.low, change.high].map(f64::exp);
                let [at, earliest, latest] =
                    [change.at, change.earliest, change.latest].map(|at| nights.nights[at]);
                let before = nights.nights[change.earliest.saturating_sub(1)];
                ends.iter().all(|end| end.is_finite()).then(|| ChangePoint {
                    night: at,
                    earliest,
                    latest,
                    by: ends[0],
                    low: ends[1],
                    high: ends[2],
                    with: self.changed_facts(&runs, wanted.end, before, latest),
                    events: self.events_between(before, latest),
                })
            })
            .collect();
        let last_by_before = match &found.levels[..] {
            [.., before, last] => Some((last - before).exp()).filter(|by| by.is_finite()),
            _ => None,
        };
        Some(Line {
            line: TrendLine {
                label: self.observed.labels[wanted.label].clone(),
                end: wanted.end,
                group: wanted.group,
                points,
                changes,
                last_by_before,
            },
            values: nights.values,
            found,
        })
    }

    /// Means of nights, net of hosts.
    fn night_means(&self, runs: &[(usize, Crossed)]) -> Option<Nights> {
        let values = self.net_of_pairs_or_hosts(runs);
        let fitted = crossed_effects(&values)?;
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for value in &values {
            *counts.entry(value.level).or_default() += 1;
        }
        let nights: Vec<usize> = counts.keys().copied().collect();
        let covariance = |one: usize, other: usize| fitted.covariance[one][other];
        let of_night = |night: &usize| {
            let mean = (*fitted.means.get(*night)?)?;
            if nights.len() == 1 {
                return Some((mean.value, mean.error().unwrap_or(0.0)));
            }
            // The hosts are common to all nights, so they add no error to differences of nights.
            let others = nights.iter().filter(|other| *other != night);
            let common = others.map(|other| covariance(*night, *other)).sum::<f64>()
                / (nights.len() - 1) as f64;
            let error = (covariance(*night, *night) - common).max(0.0).sqrt();
            Some((mean.value, error))
        };
        let means: Vec<(f64, f64)> = nights.iter().map(of_night).collect::<Option<_>>()?;
        let units = fitted.units.iter().flatten().count();
        let rest = values.len().saturating_sub(units + nights.len());
        let freedom = if nights.len() == 1 { units.saturating_sub(1) } else { rest.max(1) };
        Some(Nights {
            runs: counts.into_values().collect(),
            nights,
            values: means,
            freedom: freedom as f64,
        })
    }

    /// The values with pairs of hosts as units, if pairs come back; else with hosts as they are.
    fn net_of_pairs_or_hosts(&self, runs: &[(usize, Crossed)]) -> Vec<Crossed> {
        let mut pairs: BTreeMap<(usize, Option<usize>), usize> = BTreeMap::new();
        for (_, value) in runs {
            let next = pairs.len();
            pairs.entry((value.unit, value.partner)).or_insert(next);
        }
        if runs.len() >= NIGHTS_OF_A_PAIR * pairs.len() {
            let of_pair = |value: &Crossed| {
                let unit = pairs.get(&(value.unit, value.partner)).copied().unwrap_or(0);
                Crossed { unit, partner: None, ..*value }
            };
            return runs.iter().map(|(_, value)| of_pair(value)).collect();
        }
        let together = self.nights.len() + self.observed.grouped.hosts.len();
        let partner = |value: &Crossed| value.partner.filter(|_| together <= MOST_TOGETHER);
        runs.iter().map(|(_, value)| Crossed { partner: partner(value), ..*value }).collect()
    }

    /// Facts of the hosts of these runs that changed after the night `before` and not after
    /// `latest`.
    fn changed_facts(
        &self,
        runs: &[(usize, Crossed)],
        end: End,
        before: usize,
        latest: usize,
    ) -> Vec<String> {
        let mut changed = ChangedFacts::default();
        for (run, _) in runs {
            let figures = self.observed.runs[*run];
            let facts = match end {
                End::Receiver => figures.far.as_ref().unwrap_or(&figures.near),
                End::Sender | End::Both => &figures.near,
            };
            match self.night_of_run[*run] {
                night if night <= before => changed.before(facts, &figures.zc_version),
                night if night >= latest => changed.after(facts, &figures.zc_version),
                _ => {}
            }
        }
        changed.in_words(MOST_FACTS)
    }

    /// Events from the day of the night `before` on, as they may have come after it, to that of
    /// `latest`.
    fn events_between(&self, before: usize, latest: usize) -> Vec<String> {
        let (from, to) = (&self.nights[before], &self.nights[latest]);
        let within = self.events.iter().filter(|event| *from <= event.day && event.day <= *to);
        within.map(|event| format!("{}: {}", event.day, event.what)).collect()
    }
}

fn points(nights: &Nights) -> Vec<Point> {
    let critical = StudentT::new(nights.freedom)
        .and_then(|student| student.critical_value(CONFIDENCE))
        .filter(|critical| critical.is_finite());
    let finite = |ln: f64| Some(ln.exp()).filter(|value| value.is_finite());
    let of_night = |((night, runs), (mean, error)): ((&usize, &usize), &(f64, f64))| {
        let half = critical.map(|critical| critical * error).filter(|half| *half > 0.0);
        Some(Point {
            night: *night,
            runs: *runs,
            us_per_mb: finite(*mean)?,
            low: half.and_then(|half| finite(mean - half)),
            high: half.and_then(|half| finite(mean + half)),
        })
    };
    nights.nights.iter().zip(&nights.runs).zip(&nights.values).filter_map(of_night).collect()
}
