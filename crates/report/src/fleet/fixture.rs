//! A fleet by hand: two groups, six paths, an odd host, an odd pair, a condition, missing
//! measurements and runs that were left out.

use super::Missing;
use zc_analysis::fleet::{
    Condition, ConditionValue, End, Fleet, Group, GroupMean, LeftOut, OddHost, OddPair, Row,
    Spread, SpreadOf,
};

/// Label, cost to the sender and to the receiver in the first group, and in the second.
pub(crate) const PATHS: [(&str, [f64; 2], [f64; 2]); 6] = [
    ("read+send", [502.3, 371.2], [402.3, 331.2]),
    ("sendfile", [181.4, 369.0], [192.6, 330.7]),
    ("splice", [214.9, 372.8], [168.1, 329.4]),
    ("mmap+write", [423.0, 370.3], [377.4, 332.0]),
    ("msg-zerocopy", [263.7, 380.1], [201.5, 341.9]),
    ("uring-send-zc", [251.2, 381.7], [190.8, 340.0]),
];

fn mean(value: f64, share: f64) -> GroupMean {
    GroupMean {
        value,
        low: Some(value * (1.0 - share)),
        high: Some(value * (1.0 + share)),
        one_more_low: Some(value * (1.0 - 4.0 * share)),
        one_more_high: Some(value * (1.0 + 4.0 * share)),
    }
}

fn spread(between_hosts: f64) -> SpreadOf {
    SpreadOf {
        between_hosts,
        by_far_host: 0.011,
        between_sessions: 0.018,
        within_runs: 0.007,
        heterogeneity: 0.93,
    }
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (label, old, new) in PATHS {
        for (end, at) in [(End::Sender, 0), (End::Receiver, 1)] {
            for (group, (costs, reference)) in [(old, 502.3), (new, 402.3)].iter().enumerate() {
                let ratio = mean(costs[0] / reference, 0.012);
                rows.push(Row {
                    label: label.to_owned(),
                    end,
                    group,
                    runs: [220, 261][group],
                    hosts: [9, 11][group],
                    us_per_mb: mean(costs[at], 0.024),
                    ratio: (end == End::Sender && label != "read+send").then_some(ratio),
                });
            }
        }
    }
    rows
}

fn condition() -> Condition {
    let value = |value: &str, hosts, by: Option<f64>| ConditionValue {
        value: value.to_owned(),
        hosts,
        by,
        low: by.map(|by| by - 0.03),
        high: by.map(|by| by + 0.03),
    };
    Condition {
        fact: "microcode".to_owned(),
        same_as: vec!["bios".to_owned()],
        end: End::Sender,
        values: vec![value("0xd0003b9", 15, None), value("0xd000389", 5, Some(1.08))],
        explains: 0.62,
        q_value: 0.004,
    }
}

pub(crate) fn fleet() -> Fleet {
    let group = |values: [&str; 2], hosts, runs| Group {
        values: values.map(str::to_owned).to_vec(),
        hosts,
        runs_sending: runs,
        runs_receiving: runs,
    };
    let left_out = |name: &str, why: &str| LeftOut { name: name.to_owned(), why: why.to_owned() };
    let spreads = PATHS
        .iter()
        .flat_map(|(label, ..)| [(label, End::Sender), (label, End::Receiver)])
        .map(|(label, end)| Spread {
            label: (*label).to_owned(),
            end,
            cost: spread(0.034),
            ratio: (end == End::Sender && *label != "read+send").then(|| spread(0.013)),
        })
        .collect();
    Fleet {
        experiment: "paths".to_owned(),
        link: "remote".to_owned(),
        reference: "read+send".to_owned(),
        confidence: 0.95,
        false_discovery_rate: 0.05,
        runs: 481,
        hosts: 20,
        first_at: "2026-11-20T22:00:04Z".to_owned(),
        last_at: "2026-11-24T05:51:40Z".to_owned(),
        zc_versions: vec!["0.5.0".to_owned(), "0.5.1".to_owned()],
        shared_runs: 0,
        withheld: Vec::new(),
        left_out: vec![
            left_out("2026-11-21/n03-n07.json", "it has too few blocks that count (2 of 40)"),
            left_out("2026-11-22/n03-n08.json", "it has too few blocks that count (0 of 40)"),
            left_out("2026-11-22/n04-n08.json", "it is the same run as 2026-11-21/n04-n08.json"),
        ],
        by: vec!["generation".to_owned(), "kernel".to_owned()],
        groups: vec![group(["gen1", "6.8.0-45"], 9, 220), group(["gen2", "6.12.1"], 11, 261)],
        rows: rows(),
        spreads,
        odd_hosts: vec![OddHost {
            host: "n17".to_owned(),
            group: 0,
            end: End::Sender,
            runs: 24,
            by: 1.312,
            low: 1.22,
            high: 1.411,
            most: Some(("mmap+write".to_owned(), 1.5)),
            q_value: 0.0003,
        }],
        hosts_examined: 20,
        odd_pairs: vec![OddPair {
            near: "n03".to_owned(),
            far: "n11".to_owned(),
            runs: 4,
            by: 1.14,
            low: 1.08,
            high: 1.203,
            other_direction: Some(1.004),
            q_value: 0.012,
        }],
        pairs_examined: 118,
        conditions: vec![condition()],
        conditions_examined: 41,
    }
}

pub(crate) fn missing() -> Vec<Missing> {
    let one = |cell: String, why: &str| Missing { cell, why: why.to_owned() };
    let mut missing: Vec<Missing> =
        (1..=7).map(|far| one(format!("n05 to n{far:02}"), "the node was drained")).collect();
    missing.push(one("n09 to n10".to_owned(), "the job was killed by the kernel (137)"));
    missing
}

/// A fleet of one group in which nothing is odd.
pub(crate) fn alike() -> Fleet {
    let mut fleet = fleet();
    fleet.by.clear();
    fleet.groups.truncate(1);
    fleet.groups[0].values.clear();
    fleet.rows.retain(|row| row.group == 0);
    fleet.left_out.clear();
    fleet.odd_hosts.clear();
    fleet.odd_pairs.clear();
    fleet.conditions.clear();
    fleet
}

/// A fleet with `text` in every string from outside.
pub(crate) fn containing(text: &str) -> (Fleet, Vec<Missing>) {
    let mut fleet = fleet();
    let put = |at: &mut String| *at = format!("x{text}");
    let before = |at: &mut String| *at = format!("x{text}{at}");
    for at in [&mut fleet.experiment, &mut fleet.link, &mut fleet.first_at, &mut fleet.last_at] {
        put(at);
    }
    fleet.zc_versions.iter_mut().for_each(put);
    for out in &mut fleet.left_out {
        put(&mut out.name);
        put(&mut out.why);
    }
    fleet.by.iter_mut().for_each(put);
    fleet.groups.iter_mut().flat_map(|group| &mut group.values).for_each(put);
    before(&mut fleet.reference);
    fleet.rows.iter_mut().for_each(|row| before(&mut row.label));
    fleet.spreads.iter_mut().for_each(|spread| before(&mut spread.label));
    for host in &mut fleet.odd_hosts {
        put(&mut host.host);
        host.most.iter_mut().for_each(|(label, _)| before(label));
    }
    for pair in &mut fleet.odd_pairs {
        put(&mut pair.near);
        put(&mut pair.far);
    }
    for condition in &mut fleet.conditions {
        put(&mut condition.fact);
        condition.same_as.iter_mut().for_each(put);
        condition.values.iter_mut().for_each(|value| put(&mut value.value));
    }
    let mut missing = missing();
    for one in &mut missing {
        put(&mut one.cell);
        put(&mut one.why);
    }
    (fleet, missing)
}

/// A fleet of many groups, with many odd hosts and many reasons.
pub(crate) fn large() -> (Fleet, Vec<Missing>) {
    let mut fleet = fleet();
    let group = fleet.groups[0].clone();
    fleet.groups = (0..60)
        .map(|at| Group {
            values: vec![format!("gen{}", at % 4), format!("6.{}.{}", at % 15, at)],
            ..group.clone()
        })
        .collect();
    let rows: Vec<Row> = fleet.rows.iter().filter(|row| row.group == 0).cloned().collect();
    fleet.rows = (0..60)
        .flat_map(|group| rows.iter().map(move |row| Row { group, ..row.clone() }))
        .collect();
    let host = fleet.odd_hosts[0].clone();
    fleet.odd_hosts =
        (0..2000).map(|at| OddHost { host: format!("n{at}"), ..host.clone() }).collect();
    let pair = fleet.odd_pairs[0].clone();
    fleet.odd_pairs =
        (0..2000).map(|at| OddPair { near: format!("n{at}"), ..pair.clone() }).collect();
    let missing = (0..5000)
        .map(|at| Missing { cell: format!("n{at} to n1"), why: format!("reason {at}") })
        .collect();
    (fleet, missing)
}
