//! Tests of the machine-readable outputs against their specifications.

use std::collections::{BTreeMap, BTreeSet};

use super::fixture::{loopback, veth};
use super::fixture_plans::{offloads, sizes, sockbuf};
use crate::*;
use zc_analysis::{Estimates, Withheld};
use zc_run::{Run, Support, SupportRow, Unavailable};

type Made = (Run, Estimates);

fn both(made: &[Made]) -> Vec<(&Run, &Estimates)> {
    made.iter().map(|(run, estimates)| (run, estimates)).collect()
}

/// Asserts that no line is wider than `columns`.
pub(crate) fn fits(text: &str, columns: usize) {
    assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
}

/// A metric family of an exposition.
#[derive(Debug, Default)]
pub(crate) struct Family {
    unit: Option<String>,
    pub(crate) help: Option<String>,
    /// Keyed by name and labels of the sample.
    pub(crate) samples: BTreeMap<String, f64>,
}

/// Parses an exposition by what OpenMetrics text 1.0 and Prometheus text 0.0.4 both allow, as far
/// as zc's output uses it: the older format knows gauges, but no info and no state set.
pub(crate) fn exposed(text: &str) -> BTreeMap<String, Family> {
    let body = text.strip_suffix("# EOF\n").expect("it ends with EOF");
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut now = String::new();
    for line in body.lines() {
        if let Some(metadata) = line.strip_prefix("# ") {
            let mut words = metadata.splitn(3, ' ');
            let (what, name, rest) =
                (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            assert!(is_name(name, ":"), "{line}");
            if what == "TYPE" {
                assert!(!families.contains_key(name), "{name} is interleaved or there twice");
                now = name.to_owned();
                assert_eq!(rest, "gauge", "{name}: Prometheus text has no other that fits");
                families.entry(now.clone()).or_default();
                continue;
            }
            assert_eq!(name, now, "metadata of another family");
            let family = families.get_mut(name).unwrap();
            assert!(family.samples.is_empty(), "metadata behind samples");
            let slot = match what {
                "UNIT" => &mut family.unit,
                "HELP" => &mut family.help,
                other => panic!("a comment: {other}"),
            };
            assert_eq!(slot.replace(rest.to_owned()), None, "{name} has two lines {what}");
            if what == "UNIT" {
                assert!(
                    name.ends_with(&format!("_{rest}")),
                    "{name} does not end with its unit {rest}"
                );
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let name = series.split('{').next().unwrap();
        let family = families.get_mut(&now).unwrap();
        assert_eq!(name, now, "a sample of another family");
        labels(series[name.len()..].trim_start_matches('{'));
        let value = number(value);
        assert_eq!(
            family.samples.insert(series.to_owned(), value),
            None,
            "{series} is there twice"
        );
    }
    families
}

fn is_name(name: &str, more: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_' || more.contains(c);
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

/// Parses `a="x",b="y"}` into a map; no name may occur twice.
fn labels(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut rest = text;
    while !rest.is_empty() && rest != "}" {
        let (name, quoted) = rest.split_once("=\"").expect("a label");
        assert!(is_name(name, "") && !name.starts_with('_'), "{name}");
        let mut value = String::new();
        let mut characters = quoted.char_indices();
        let end = loop {
            match characters.next().expect("a label's end") {
                (_, '\\') => value.push(match characters.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, c @ ('"' | '\\'))) => c,
                    other => panic!("an escape that is none: {other:?}"),
                }),
                (at, '"') => break at,
                (_, c) => value.push(c),
            }
        };
        assert_eq!(found.insert(name.to_owned(), value), None, "{name} twice");
        rest = quoted[end + 1..].trim_start_matches(',');
    }
    found
}

/// A realnumber of the grammar: neither NaN nor an infinity.
fn number(text: &str) -> f64 {
    let of_digits = text
        .trim_start_matches('-')
        .chars()
        .all(|c| c.is_ascii_digit() || ['.', 'e', '-', '+'].contains(&c));
    assert!(of_digits && text.contains(|c: char| c.is_ascii_digit()), "{text}");
    text.parse().unwrap()
}

#[test]
fn openmetrics_conform_to_the_specification() {
    for made in [
        vec![veth()],
        vec![loopback()],
        vec![sizes()],
        vec![veth(), sizes(), sockbuf(), offloads()],
    ] {
        let families = exposed(&openmetrics(&both(&made)));
        assert!(
            families
                .values()
                .all(|family| family.help.as_ref().is_some_and(|help| !help.is_empty()))
        );
        assert_eq!(families["zc_run_info"].samples.len(), made.len());
        assert_eq!(families["zc_run_started_timestamp_seconds"].samples.len(), made.len());
        let cells = made.iter().flat_map(|(_, estimates)| &estimates.cells);
        let cells = cells.filter(|cell| cell.cost_ns_per_kib.both.is_some()).count();
        let of_both = |name: &str| {
            families[name].samples.keys().filter(|series| series.contains("side=\"both\"")).count()
        };
        assert_eq!(of_both("zc_cost_seconds_per_byte"), cells);
        // An interval's ends are on either side of its value.
        for (series, value) in &families["zc_cost_seconds_per_byte"].samples {
            let end = |end: &str| {
                let family = format!("zc_cost_{end}_seconds_per_byte");
                families[&family]
                    .samples
                    .get(&series.replacen("zc_cost_seconds_per_byte", &family, 1))
                    .copied()
            };
            assert!(end("low").is_none_or(|low| low <= *value), "{series}");
            assert!(end("high").is_none_or(|high| high >= *value), "{series}");
        }
    }
}

#[test]
fn a_cost_is_the_same_number_in_every_machine_readable_output() {
    let (run, estimates) = veth();
    let document: serde_json::Value = serde_json::from_str(&json(&run, &estimates)).unwrap();
    let text = csv(&run, &estimates);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let column =
        reader.headers().unwrap().iter().position(|name| name == "both_us_per_mb").unwrap();
    let lines: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let families = exposed(&openmetrics(&[(&run, &estimates)]));
    for (place, cell) in estimates.cells.iter().enumerate() {
        let Some(cost) = cell.cost_ns_per_kib.both else { continue };
        let expected = cost.value * 1e6 / 1024.0 / 1e3;
        let label = cell.label.as_str();
        let read = document["estimates"]["cells"][place]["cost_us_per_mb"]["both"]["value"]
            .as_f64()
            .unwrap();
        assert!((read / expected - 1.0).abs() < 1e-12, "{label}: {read}");
        assert_eq!(lines[place][column].parse::<f64>().unwrap(), read, "{label}");
        // Metrics are in base units.
        let named = |series: &&String| {
            let cell = format!("cell=\"{label}\"");
            series.contains(&cell) && series.contains("side=\"both\"")
        };
        let samples = &families["zc_cost_seconds_per_byte"].samples;
        let series = samples.keys().find(named).unwrap();
        assert!((samples[series] / (read * 1e-12) - 1.0).abs() < 1e-12, "{series}");
    }
}

#[test]
fn quantities_per_mb_are_per_byte_in_metrics() {
    let (run, estimates) = veth();
    let families = exposed(&openmetrics(&[(&run, &estimates)]));
    let cell = &estimates.cells[0];
    let label = format!("cell=\"{}\"", cell.label);
    for (name, per_mb) in [
        ("zc_send_calls_per_byte", cell.traffic.send_calls_per_mb),
        ("zc_recv_calls_per_byte", cell.traffic.recv_calls_per_mb),
        ("zc_context_switches_per_byte", cell.traffic.switches_per_mb),
    ] {
        let mut samples = families[name].samples.iter();
        let (series, value) = samples.find(|(series, _)| series.contains(&label)).unwrap();
        assert!((value / (per_mb.unwrap() / 1e6) - 1.0).abs() < 1e-12, "{series}");
    }
}

/// The names of all fields of a document.
fn fields(value: &serde_json::Value, into: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => map.iter().for_each(|(name, value)| {
            into.insert(name.clone());
            fields(value, into);
        }),
        serde_json::Value::Array(all) => all.iter().for_each(|value| fields(value, into)),
        _ => {}
    }
}

#[test]
fn no_field_of_json_has_a_cost_in_another_unit() {
    let mut names = BTreeSet::new();
    for (run, estimates) in [veth(), sizes(), sockbuf()] {
        fields(&serde_json::from_str(&json(&run, &estimates)).unwrap(), &mut names);
    }
    for schema in [crate::json_schema(), crate::compare::json_schema()] {
        fields(&serde_json::from_str(&schema).unwrap(), &mut names);
    }
    assert!(names.contains("cost_us_per_mb") && names.contains("demand_us_per_mb"));
    // Events of a CPU are counted by byte, as everywhere in the field, and are no cost.
    let is_event = |name: &str| {
        ["cycles_", "instructions_", "llc_misses_"].iter().any(|it| name.starts_with(it))
    };
    let other = |name: &&String| {
        let words = ["kib", "per_kb", "per_byte", "twin", "elsewhere"];
        !is_event(name) && words.iter().any(|word| name.contains(word))
    };
    assert_eq!(names.iter().filter(other).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn openmetrics_samples_of_several_runs_are_labelled() {
    let made = [veth(), veth()];
    let families = exposed(&openmetrics(&both(&made)));
    for family in families.values() {
        for series in family.samples.keys() {
            assert!(series.contains("{run=\"1\"") || series.contains("{run=\"2\""), "{series}");
        }
    }
}

#[test]
fn two_nights_of_one_plan_are_the_same_series() {
    let (night, estimates) = veth();
    let mut next = night.clone();
    next.header.started_at = "2026-11-23T02:00:00Z".to_owned();
    let [first, second] = [&night, &next].map(|run| exposed(&openmetrics(&[(run, &estimates)])));
    let series = |families: &BTreeMap<String, Family>| -> Vec<String> {
        families.values().flat_map(|family| family.samples.keys().cloned()).collect()
    };
    assert_eq!(series(&first), series(&second));
    let began = &second["zc_run_started_timestamp_seconds"].samples;
    assert_eq!(began.values().copied().collect::<Vec<f64>>(), [1_795_399_200.0]);
}

#[test]
fn runs_over_two_links_may_stand_in_two_files_of_one_host() {
    let [veth, loopback] =
        [veth(), loopback()].map(|(run, estimates)| exposed(&openmetrics(&[(&run, &estimates)])));
    for (name, family) in &veth {
        let mut series = family.samples.keys();
        assert!(series.all(|series| !loopback[name].samples.contains_key(series)), "{name}");
    }
}

#[test]
fn what_happened_to_a_run_is_in_its_metrics() {
    let (mut run, mut estimates) = veth();
    run.end = None;
    run.header.started_at = "yesterday".to_owned();
    estimates.verdict.withheld = vec![Withheld::BusyMachine { dropped: 100, measured: 120 }];
    run.header.unavailable = vec![SupportRow {
        what: "send path".to_owned(),
        name: "uring-splice".to_owned(),
        support: Support::No(Unavailable::refused("io_uring is switched off")),
    }];
    let families = exposed(&openmetrics(&[(&run, &estimates)]));
    let samples_with = |family: &str, label: &str| -> Vec<f64> {
        let samples = families[family].samples.iter();
        samples.filter(|(series, _)| series.contains(label)).map(|(_, value)| *value).collect()
    };
    assert_eq!(samples_with("zc_run_info", "end=\"cut-off\""), [1.0]);
    assert!(samples_with("zc_run_started_timestamp_seconds", "").is_empty(), "no time is made up");
    assert!(samples_with("zc_run_duration_seconds", "").is_empty());
    assert_eq!(samples_with("zc_verdicts_withheld", "reason=\"busy-machine\""), [1.0]);
    assert_eq!(samples_with("zc_verdicts_withheld", "").iter().sum::<f64>(), 1.0);
    assert_eq!(
        samples_with("zc_comparison", "verdict=\"withheld\""),
        vec![1.0; estimates.verdict.cells.len()]
    );
    assert_eq!(samples_with("zc_unavailable", "cell=\"uring-splice\",kind=\"refused\""), [1.0]);
    let roles = |role: &str| samples_with("zc_comparison", &format!("role=\"{role}\"")).len();
    assert_eq!((roles("control"), roles("reference")), (0, 0), "they have no verdict");
    assert_eq!(samples_with("zc_top_speed_bytes_per_second", "role=\"reference\"").len(), 1);
}

#[test]
fn labels_from_outside_are_escaped() {
    let (mut run, mut estimates) = veth();
    let name = "a\"} 1\n# EOF\n\\\u{1b}[2J";
    run.header.host.hostname = name.to_owned();
    for cell in &mut estimates.cells {
        cell.label = name.to_owned();
    }
    let again = estimates.cells[0].clone();
    estimates.cells.push(again);
    let families = exposed(&openmetrics(&[(&run, &estimates)]));
    assert_eq!(families["zc_run_info"].samples.len(), 1);
    assert_eq!(
        families["zc_cost_seconds_per_byte"].samples.len(),
        10 * 3,
        "roles keep the controls apart, and what is one series is written once"
    );
}

#[test]
fn markdown_for_a_mail() {
    for (name, made) in
        [("veth", veth()), ("sizes", sizes()), ("offloads", offloads()), ("sockbuf", sockbuf())]
    {
        let text = multi::markdown(&[(&made.0, &made.1)], 72);
        let in_fence =
            |line: &&str| line.starts_with(' ') || line.starts_with(|c: char| c.is_ascii_digit());
        let wide: Vec<&str> =
            text.lines().filter(|line| line.chars().count() > 72 && !in_fence(line)).collect();
        // A table of two wide names and a figure cannot be split.
        assert!(wide.is_empty() || name == "sockbuf", "{wide:#?}");
        insta::assert_snapshot!(format!("markdown_80_{name}"), text);
    }
}

#[test]
fn several_runs_follow_one_another() {
    let made = [veth(), sizes()];
    let text = multi::markdown(&both(&made), 72);
    assert_eq!(text.matches("\n## zc ").count() + 1, 2, "{text}");
    let json: serde_json::Value = serde_json::from_str(&multi::json(&both(&made))).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 2);
    assert_eq!(multi::csv(&both(&made[..1])), csv(&made[0].0, &made[0].1));
}

#[test]
fn json_has_no_character_that_moves_a_cursor() {
    let (mut run, estimates) = veth();
    let name = "\u{9b}2J\u{202e}\u{1b}[2J\u{7f}\u{1f600}";
    run.header.host.hostname = name.to_owned();
    let text = json(&run, &estimates);
    assert!(text.chars().all(|c| c == '\n' || zc_run::is_safe(c)));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["run"]["host"]["hostname"], name, "and it is the same name still");
}
