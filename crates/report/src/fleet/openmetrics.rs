//! A fleet as metrics, by the rules of [`mod@crate::openmetrics`]: gauges in base units, a family
//! for each end of an interval, unknown values absent. Labels are those of the plan and of the
//! groups; what is odd has the names of hosts as labels, and counts that are 0 where nothing is
//! odd.

use super::missing::Missing;
use super::names::{Names, end};
use crate::openmetrics::{Exposition, Labels, plan, with};
use jiff::Timestamp;
use zc_analysis::fleet::{End, Fleet, GroupMean, Spread};

/// Factor from us per MB to seconds per byte.
pub(crate) const SECONDS_PER_BYTE: f64 = 1e-12;

/// The labels that group labels must not be taken for.
const TAKEN: [&str; 12] = [
    "experiment",
    "link",
    "cell",
    "side",
    "host",
    "near",
    "far",
    "fact",
    "value",
    "of",
    "part",
    "job",
];

/// The whole exposition.
pub fn openmetrics(fleet: &Fleet, missing: &[Missing]) -> String {
    let mut out = Exposition::default();
    let names = Names::from_fleet(fleet);
    let by = label_names(names.by);
    let plan = plan(&fleet.experiment, &fleet.link);
    let grouped = |labels: Labels, group: usize| -> Labels {
        labels.into_iter().chain(group_labels(names, &by, group)).collect()
    };

    info(&mut out, fleet, &plan);
    const LAST: &str = "zc_fleet_last_run_timestamp_seconds";
    out.family(LAST, "seconds", "When the last run began, since 1970: the age of all figures.");
    if let Ok(began) = fleet.last_at.parse::<Timestamp>() {
        out.gauge(LAST, &plan, Some(began.as_duration().as_secs_f64()));
    }
    const HOSTS: &str = "zc_fleet_hosts";
    out.family(HOSTS, "", "Hosts of a group.");
    for (group, of) in fleet.groups.iter().enumerate() {
        out.sample(HOSTS, &grouped(plan.clone(), group), &of.hosts.to_string());
    }
    const RUNS: &str = "zc_fleet_runs";
    out.family(RUNS, "", "Runs in which a host of the group sends, or receives.");
    for (group, of) in fleet.groups.iter().enumerate() {
        for (whose, runs) in [(End::Sender, of.runs_sending), (End::Receiver, of.runs_receiving)] {
            let labels = grouped(with(&plan, [("side", end(whose))]), group);
            out.sample(RUNS, &labels, &runs.to_string());
        }
    }

    let rows: Vec<(Labels, &zc_analysis::fleet::Row)> = fleet
        .rows
        .iter()
        .map(|row| {
            let own = [("cell", row.label.as_str()), ("side", end(row.end))];
            (grouped(with(&plan, own), row.group), row)
        })
        .collect();
    let costs: Vec<(Labels, GroupMean)> =
        rows.iter().map(|(labels, row)| (labels.clone(), row.us_per_mb)).collect();
    means(
        &mut out,
        "zc_fleet_cost",
        "seconds_per_byte",
        "CPU time that a byte of payload takes from the hosts of a group: geometric mean.",
        SECONDS_PER_BYTE,
        &costs,
    );
    let ratios: Vec<(Labels, GroupMean)> =
        rows.iter().filter_map(|(labels, row)| Some((labels.clone(), row.ratio?))).collect();
    means(
        &mut out,
        "zc_fleet_cost_to_reference",
        "ratio",
        "Cost by the cost of the reference in the same run: geometric mean over the hosts of a \
         group.",
        1.0,
        &ratios,
    );
    spreads(&mut out, fleet, &plan);
    odd(&mut out, fleet, &plan, &grouped);
    conditions(&mut out, fleet, &plan);
    for (name, help, count) in [
        (
            "zc_fleet_missing_measurements",
            "Measurements that were planned and have no run.",
            missing.len(),
        ),
        ("zc_fleet_left_out_runs", "Runs that are not in the figures.", fleet.left_out.len()),
        (
            "zc_fleet_withheld_runs",
            "Runs in the figures whose own verdicts are withheld.",
            fleet.withheld.len(),
        ),
    ] {
        out.family(name, "", help);
        out.sample(name, &plan, &count.to_string());
    }
    out.end()
}

fn info(out: &mut Exposition, fleet: &Fleet, plan: &Labels) {
    const NAME: &str = "zc_fleet_info";
    out.family(NAME, "", "A report of many runs.");
    let own = [
        ("zc_versions", fleet.zc_versions.join(", ")),
        ("by", fleet.by.join(", ")),
        ("reference", fleet.reference.clone()),
    ];
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    out.sample(NAME, &with(plan, own), "1");
}

/// The facts that hosts are grouped by as names of labels, each another one: letters, digits and
/// `_`.
pub(crate) fn label_names(by: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for fact in by {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
        let mut name: String = fact.chars().map(plain).collect();
        let is_label = name.starts_with(|c: char| c.is_ascii_lowercase());
        if !is_label || TAKEN.contains(&name.as_str()) {
            name.insert_str(0, "group_");
        }
        let first = name.clone();
        for number in 2.. {
            if !names.contains(&name) {
                break;
            }
            name = format!("{first}_{number}");
        }
        names.push(name);
    }
    names
}

/// The values of a group as labels.
pub(crate) fn group_labels(names: Names, by: &[String], group: usize) -> Labels {
    by.iter()
        .enumerate()
        .map(|(fact, name)| (name.clone(), names.raw(group, fact).to_owned()))
        .collect()
}

/// The means of groups with their intervals, and where one more host lies.
fn means(
    out: &mut Exposition,
    name: &str,
    unit: &str,
    help: &str,
    factor: f64,
    samples: &[(Labels, GroupMean)],
) {
    let each = samples
        .iter()
        .map(|(labels, mean)| (labels.clone(), [Some(mean.value), mean.low, mean.high]));
    out.intervals((name, unit, help), factor, &each.collect::<Vec<_>>());
    for (at, part) in ["low", "high"].into_iter().enumerate() {
        let name = format!("{name}_one_more_{part}_{unit}");
        out.family(&name, unit, &format!("Where one more host of the group lies: {part} end."));
        for (labels, mean) in samples {
            let ends = [mean.one_more_low, mean.one_more_high];
            out.gauge(&name, labels, ends[at].map(|value| value * factor));
        }
    }
}

fn spreads(out: &mut Exposition, fleet: &Fleet, plan: &Labels) {
    const NAME: &str = "zc_fleet_spread_ratio";
    out.family(
        NAME,
        "ratio",
        "How costs differ within groups: standard deviations as shares of the cost, or of the \
         ratio.",
    );
    let each = |spread: &Spread, out: &mut Exposition| {
        for (of, spread_of) in [("cost", Some(spread.cost)), ("ratio", spread.ratio)] {
            let Some(found) = spread_of else { continue };
            for (part, value) in [
                ("between-hosts", found.between_hosts),
                ("by-far-host", found.by_far_host),
                ("between-sessions", found.between_sessions),
                ("within-runs", found.within_runs),
            ] {
                let own = [
                    ("cell", spread.label.as_str()),
                    ("side", end(spread.end)),
                    ("of", of),
                    ("part", part),
                ];
                out.gauge(NAME, &with(plan, own), Some(value));
            }
        }
    };
    for spread in &fleet.spreads {
        each(spread, out);
    }
}

fn odd(
    out: &mut Exposition,
    fleet: &Fleet,
    plan: &Labels,
    grouped: &dyn Fn(Labels, usize) -> Labels,
) {
    for (name, help, count) in [
        (
            "zc_fleet_odd_hosts",
            "Hosts, as sender or receiver, that cost other than their group.",
            fleet.odd_hosts.len(),
        ),
        ("zc_fleet_hosts_examined", "Hosts that were examined for that.", fleet.hosts_examined),
        (
            "zc_fleet_odd_pairs",
            "Pairs that cost what their hosts do not predict.",
            fleet.odd_pairs.len(),
        ),
        ("zc_fleet_pairs_examined", "Pairs that were examined for that.", fleet.pairs_examined),
    ] {
        out.family(name, "", help);
        out.sample(name, plan, &count.to_string());
    }
    let hosts = fleet.odd_hosts.iter().map(|host| {
        let own = [("host", host.host.as_str()), ("side", end(host.end))];
        let labels = grouped(with(plan, own), host.group);
        (labels, [Some(host.by), Some(host.low), Some(host.high)])
    });
    let family = ("zc_fleet_odd_host", "ratio", "Costs of an odd host by those of its group.");
    out.intervals(family, 1.0, &hosts.collect::<Vec<_>>());
    let pairs = fleet.odd_pairs.iter().map(|pair| {
        let own = [("near", pair.near.as_str()), ("far", pair.far.as_str())];
        (with(plan, own), [Some(pair.by), Some(pair.low), Some(pair.high)])
    });
    let help = "Costs of an odd pair by what its hosts predict.";
    out.intervals(("zc_fleet_odd_pair", "ratio", help), 1.0, &pairs.collect::<Vec<_>>());
}

fn conditions(out: &mut Exposition, fleet: &Fleet, plan: &Labels) {
    const EXPLAINED: &str = "zc_fleet_condition_explained_ratio";
    out.family(
        EXPLAINED,
        "ratio",
        "Share of the variance between hosts of a group that a fact explains.",
    );
    for condition in &fleet.conditions {
        let own = [("fact", condition.fact.as_str()), ("side", end(condition.end))];
        out.gauge(EXPLAINED, &with(plan, own), Some(condition.explains));
    }
    let values = fleet.conditions.iter().flat_map(|condition| {
        let first = condition.values.first().map_or("", |value| value.value.as_str());
        condition.values.iter().filter(|value| value.by.is_some()).map(move |value| {
            let own = [
                ("fact", condition.fact.as_str()),
                ("side", end(condition.end)),
                ("value", value.value.as_str()),
                ("first", first),
            ];
            (with(plan, own), [value.by, value.low, value.high])
        })
    });
    let help = "Costs of hosts with a value of a fact by those of hosts with its first value.";
    out.intervals(("zc_fleet_condition", "ratio", help), 1.0, &values.collect::<Vec<_>>());
}
