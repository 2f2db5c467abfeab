//! A trend by hand: twenty nights, two groups, six paths, and a change of the sender's cost in one
//! group with an event.

use crate::fleet::fixture::PATHS;
use zc_analysis::fleet::{
    ChangePoint, End, Event, Group, LeftOut, Point, Trend, TrendJudgement, TrendLine,
};

/// The night from which on paths of the second group are dearer.
const CHANGE: usize = 12;

fn line(label: &str, end: End, group: usize, cost: f64, by: Option<f64>) -> TrendLine {
    let points = (0..20)
        .filter(|night| *night != 6)
        .map(|night| {
            // Some deviation that is the same on every machine.
            let off = ((night * 7 + label.len() * 3 + group * 5) % 11) as f64 / 11.0 - 0.5;
            let level = by.filter(|_| night >= CHANGE).unwrap_or(1.0);
            let value = cost * level * (1.0 + 0.02 * off);
            Point {
                night,
                runs: 12,
                us_per_mb: value,
                low: (night != 3).then_some(value * 0.985),
                high: (night != 3).then_some(value * 1.015),
            }
        })
        .collect();
    let changes = by
        .into_iter()
        .map(|by| ChangePoint {
            night: CHANGE,
            earliest: CHANGE - 1,
            latest: CHANGE + 1,
            by,
            low: by - 0.012,
            high: by + 0.012,
            with: vec!["kernel: 6.11.9 -> 6.12.1".to_owned()],
            events: vec!["new kernel on gen2".to_owned()],
        })
        .collect();
    TrendLine { label: label.to_owned(), end, group, points, changes, last_by_before: by }
}

pub(crate) fn trend() -> Trend {
    let group = |value: &str, hosts, runs| Group {
        values: vec![value.to_owned()],
        hosts,
        runs_sending: runs,
        runs_receiving: runs,
    };
    let mut lines = Vec::new();
    for (label, old, new) in PATHS {
        for (group, costs) in [old, new].into_iter().enumerate() {
            for (end, cost) in [(End::Sender, costs[0]), (End::Receiver, costs[1])] {
                let by = match (label, end, group) {
                    ("splice", End::Sender, 1) => Some(1.081),
                    ("msg-zerocopy", End::Sender, 1) => Some(1.053),
                    _ => None,
                };
                lines.push(line(label, end, group, cost, by));
            }
        }
    }
    Trend {
        experiment: "paths".to_owned(),
        link: "remote".to_owned(),
        reference: "read+send".to_owned(),
        confidence: 0.95,
        false_alarm: 0.05,
        nights: (1..=20).map(|day| format!("2026-11-{day:02}")).collect(),
        runs: 456,
        hosts: 20,
        shared_runs: 0,
        left_out: vec![LeftOut {
            name: "2026-11-07/n03-n07.json".to_owned(),
            why: "it was interrupted".to_owned(),
        }],
        by: vec!["generation".to_owned()],
        groups: vec![group("gen1", 9, 220), group("gen2", 11, 236)],
        lines,
        judgement: Some(TrendJudgement {
            margin: 0.03,
            worse: vec!["splice sender gen2".to_owned(), "msg-zerocopy sender gen2".to_owned()],
            undecided: vec!["read+send sender gen1".to_owned()],
            not_worse: 21,
        }),
    }
}

pub(crate) fn events() -> Vec<Event> {
    let event = |day: &str, what: &str| Event { day: day.to_owned(), what: what.to_owned() };
    vec![event("2026-11-05", "switch 2 replaced"), event("2026-11-13", "new kernel on gen2")]
}

/// A trend without any change.
pub(crate) fn flat() -> Trend {
    let mut trend = trend();
    trend.lines.retain(|line| line.changes.is_empty());
    trend.judgement =
        Some(TrendJudgement { margin: 0.03, worse: vec![], undecided: vec![], not_worse: 22 });
    trend
}

/// A trend with `text` in every string from outside.
pub(crate) fn containing(text: &str) -> (Trend, Vec<Event>) {
    let mut trend = trend();
    let put = |at: &mut String| *at = format!("x{text}");
    let before = |at: &mut String| *at = format!("x{text}{at}");
    put(&mut trend.experiment);
    put(&mut trend.link);
    before(&mut trend.reference);
    trend.nights.iter_mut().for_each(before);
    for out in &mut trend.left_out {
        put(&mut out.name);
        put(&mut out.why);
    }
    trend.by.iter_mut().for_each(put);
    trend.groups.iter_mut().flat_map(|group| &mut group.values).for_each(put);
    for line in &mut trend.lines {
        before(&mut line.label);
        for change in &mut line.changes {
            change.with.iter_mut().for_each(put);
            change.events.iter_mut().for_each(put);
        }
    }
    if let Some(judged) = &mut trend.judgement {
        judged.worse.iter_mut().chain(&mut judged.undecided).for_each(put);
    }
    let mut events = events();
    for event in &mut events {
        put(&mut event.day);
        put(&mut event.what);
    }
    (trend, events)
}

/// A year of nights in twelve groups, in which every line changes in the same night.
pub(crate) fn long() -> Trend {
    let mut trend = trend();
    let first: jiff::civil::Date = "2026-01-01".parse().unwrap();
    trend.nights =
        (0..365).map(|day| first.saturating_add(jiff::Span::new().days(day)).to_string()).collect();
    let group = trend.groups[0].clone();
    trend.groups =
        (0..12).map(|at| Group { values: vec![format!("gen{at}")], ..group.clone() }).collect();
    let lines: Vec<TrendLine> =
        trend.lines.iter().filter(|line| line.group == 0).cloned().collect();
    let change = trend.lines.iter().find_map(|line| line.changes.first().cloned()).unwrap();
    trend.lines = (0..12)
        .flat_map(|group| lines.iter().map(move |line| TrendLine { group, ..line.clone() }))
        .map(|mut line| {
            line.changes = vec![change.clone()];
            line.last_by_before = Some(change.by);
            line.points = (0..365)
                .map(|night| Point { night, ..line.points[night % line.points.len()].clone() })
                .collect();
            line
        })
        .collect();
    trend
}
