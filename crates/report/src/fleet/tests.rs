//! Every form of a fleet by hand.

use proptest::prelude::*;

use super::fixture::{alike, containing, fleet, large, missing};
use super::*;
use crate::html::tests::{hostile, no_id_is_there_twice, tags};
use crate::tests::forms::{exposed, fits};
use zc_analysis::fleet::{End, Row};

#[test]
fn two_groups_on_a_terminal() {
    for columns in [80, 120] {
        let text = text(&fleet(), &missing(), columns);
        fits(&text, columns);
        insta::assert_snapshot!(format!("fleet_{columns}"), text);
    }
}

#[test]
fn where_nothing_is_odd_it_is_said_what_was_examined() {
    let text = text(&alike(), &[], 100);
    fits(&text, 100);
    insta::assert_snapshot!("fleet_alike", text);
}

#[test]
fn runs_that_are_included_although_their_verdicts_are_withheld_are_marked_in_every_form() {
    let mut fleet = fleet();
    let run = |name: &str| zc_analysis::fleet::LeftOut {
        name: name.to_owned(),
        why: "its own verdicts are withheld: busy-machine".to_owned(),
    };
    fleet.withheld = vec![run("a.json"), run("b.json")];
    let said = text(&fleet, &[], 100).replace('\n', " ");
    assert!(said.contains("The own verdicts of 2 of 481 runs are withheld"), "{said}");
    assert!(said.contains("doubtful"), "{said}");
    let page = html(&fleet, &[]);
    for said in ["The own verdicts of 2 of 481 runs", "busy-machine: a.json", "Missing"] {
        assert!(page.contains(said), "no {said}");
    }
    assert!(json(&fleet, &[]).contains("\"name\": \"b.json\""));
    let metrics = openmetrics(&fleet, &[]);
    assert!(
        metrics
            .lines()
            .any(|line| { line.starts_with("zc_fleet_withheld_runs{") && line.ends_with("} 2") })
    );
}

#[test]
fn what_too_few_runs_do_not_tell_is_no_failure_of_the_report() {
    let mut fleet = alike();
    (fleet.hosts_examined, fleet.pairs_examined, fleet.conditions_examined) = (0, 0, 0);
    let sentences = words::answer(&fleet, &[]);
    assert_eq!(sentences[1], "There are too few runs to compare hosts, pairs and facts.");
    fleet.pairs_examined = 12;
    let sentences = words::answer(&fleet, &[]);
    let expected = ["No pair of 12 is odd.", "There are too few runs to compare hosts and facts."];
    assert_eq!(sentences[1..3], expected);
    let whole = text(&fleet, &[], 100);
    assert!(whole.contains("not compared: there are too few runs for hosts"), "{whole}");
}

/// The sentence about the cheapest path.
fn cheapest(change: impl Fn(&mut Fleet)) -> String {
    let mut fleet = fleet();
    fleet.by.truncate(1);
    fleet.groups.iter_mut().for_each(|group| group.values.truncate(1));
    change(&mut fleet);
    words::answer(&fleet, &[]).remove(0)
}

fn ratio_of(fleet: &mut Fleet, label: &str, group: usize, ratio: f64) {
    for row in &mut fleet.rows {
        if let Some(mean) = &mut row.ratio
            && row.label == label
            && row.group == group
        {
            (mean.value, mean.low, mean.high) = (ratio, Some(ratio * 0.98), Some(ratio * 1.02));
        }
    }
}

#[test]
fn the_answer_is_the_cheapest_path_of_each_group() {
    // The same in both.
    let same = cheapest(|fleet| ratio_of(fleet, "sendfile", 1, 0.4));
    assert_eq!(
        same,
        "sendfile costs the sender least in both groups: 0.361 times as much as read+send in \
         gen1, 0.400 in gen2."
    );
    // Not the same, but it cannot be told that it is not.
    let tied = cheapest(|fleet| ratio_of(fleet, "sendfile", 1, 0.425));
    assert_eq!(
        tied,
        "sendfile costs the sender least in both groups: 0.361 times as much as read+send in \
         gen1, 0.425 in gen2; in some groups splice cannot be distinguished from it."
    );
    // The reference itself.
    let none = cheapest(|fleet| {
        for (label, ..) in fixture::PATHS {
            (0..2).for_each(|group| ratio_of(fleet, label, group, 1.3));
        }
    });
    assert_eq!(none, "No path was shown to cost the sender less than read+send.");
    // Both ends together, without ratios, and one host in a group: no interval.
    let absolute = cheapest(|fleet| {
        fleet.rows.retain(|row| row.end == End::Sender && row.label != "splice");
        for row in &mut fleet.rows {
            row.end = End::Both;
            row.ratio = None;
        }
    });
    assert_eq!(
        absolute,
        "sendfile costs both ends least in both groups: 181 ±4 us/MB in gen1, 193 ±5 us/MB in \
         gen2; in some groups uring-send-zc cannot be distinguished from it."
    );
    let alone = cheapest(|fleet| {
        for mean in fleet.rows.iter_mut().filter_map(|row| row.ratio.as_mut()) {
            (mean.low, mean.high) = (None, None);
        }
    });
    assert!(alone.contains("cannot be distinguished from it"), "{alone}");
    assert_eq!(cheapest(|fleet| fleet.rows.clear()), "No path has a cost.");
}

#[test]
fn many_groups_that_differ_are_counted() {
    let (mut fleet, _) = large();
    for group in 0..20 {
        ratio_of(&mut fleet, "splice", group, 0.2 + 0.001 * group as f64);
    }
    assert_eq!(
        words::answer(&fleet, &[])[0],
        "Groups differ in which path costs the sender least: splice in 20 groups (from 0.200 times \
         as much as read+send in gen0 / 6.0.0 to 0.219 in gen3 / 6.4.19), sendfile in 40 groups \
         (from 0.361 in gen0 / 6.5.20 to 0.361 in gen3 / 6.14.59)."
    );
}

#[test]
fn a_host_that_is_odd_at_both_ends_counts_once() {
    let mut fleet = fleet();
    let mut receiver = fleet.odd_hosts[0].clone();
    receiver.end = End::Receiver;
    fleet.odd_hosts.push(receiver);
    let answer = words::answer(&fleet, &[]).join(" ");
    assert!(answer.contains("1 of 20 hosts is odd"), "{answer}");
    assert!(text(&fleet, &[], 100).contains("as receiver"));
}

#[test]
fn json_has_every_figure_and_what_is_missing() {
    let text = json(&fleet(), &missing());
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["rows"][1]["us_per_mb"]["value"], 402.3);
    assert_eq!(document["groups"][1]["values"][0], "gen2");
    assert_eq!(document["missing"][7]["cell"], "n09 to n10");
    insta::assert_snapshot!("fleet_json", text);
    let schema: serde_json::Value = serde_json::from_str(&json_schema()).unwrap();
    assert_eq!(schema["title"], "Output of zc fleet report --json");
    let properties = schema["properties"].as_object().unwrap();
    for name in document.as_object().unwrap().keys() {
        assert!(properties.contains_key(name), "{name}");
    }
}

#[test]
fn csv_has_a_line_for_each_row_and_a_column_for_each_fact() {
    let text = csv(&fleet());
    insta::assert_snapshot!("fleet_csv", text);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let heading = reader.headers().unwrap().clone();
    assert_eq!(&heading[2], "generation");
    assert_eq!(reader.records().map(Result::unwrap).count(), fleet().rows.len());
    // A fact has another name where a column has its own.
    let mut other = fleet();
    other.by = vec!["cell".to_owned(), "hosts".to_owned()];
    assert!(csv(&other).starts_with("cell,end,group_cell,group_hosts,hosts,runs,"));
}

#[test]
fn metrics_conform_to_the_specification() {
    let text = openmetrics(&fleet(), &missing());
    insta::assert_snapshot!("fleet_openmetrics", text);
    let families = exposed(&text);
    assert!(families.values().all(|family| family.help.is_some()));
    let costs = &families["zc_fleet_cost_seconds_per_byte"].samples;
    assert_eq!(costs.len(), fleet().rows.len());
    let series = costs.keys().find(|series| {
        ["splice", "sender", "gen2"].iter().all(|word| series.contains(&format!("\"{word}\"")))
    });
    assert!((costs[series.unwrap()] / 168.1e-12 - 1.0).abs() < 1e-12);
    assert!(families["zc_fleet_missing_measurements"].samples.values().all(|count| *count == 8.0));
    // What a fact is called may not be the name of a label.
    let mut other = fleet();
    other.by = vec!["host".to_owned(), "8 \"cores\"".to_owned()];
    let text = openmetrics(&other, &[]);
    exposed(&text);
    assert!(text.contains("group_host=\"gen1\",group_8__cores_=\"6.8.0-45\""), "{text}");
}

#[test]
fn a_page_opens_with_the_answer_and_has_a_table_that_is_sorted_and_filtered() {
    let page = html(&fleet(), &missing());
    tags(&page);
    assert_eq!(page, html(&fleet(), &missing()), "the same document, the same bytes");
    let place =
        |text: &str| page.find(text).unwrap_or_else(|| panic!("{text:?} is not there in {page}"));
    assert!(place("Groups differ in which path") < place("<figure"));
    assert!(
        place("<figure") < place("class=\"filters\"")
            && place("class=\"filters\"") < place("<table>")
    );
    assert!(page.contains("<option value=\"1\">gen2</option>"));
    assert!(page.contains("<tr data-g=\"1\">"));
    assert!(place(">n17<") < place("the node was drained"));
    no_id_is_there_twice(&page);
    let alike = html(&alike(), &[]);
    tags(&alike);
    assert!(alike.contains("No host of 20 is odd.") && !alike.contains("class=\"filters\""));
    assert!(!alike.contains("id=\"missing\""));
}

#[test]
fn many_odd_hosts_and_reasons_are_counted() {
    let (fleet, missing) = large();
    let page = html(&fleet, &missing);
    tags(&page);
    assert!(page.len() < 600_000, "{} bytes", page.len());
    assert!(page.contains("And 1800 more"), "of hosts and of pairs");
    assert!(page.contains("The first 40 of 60 groups"));
    let text = text(&fleet, &missing, 120);
    assert!(text.contains("and 1980 more") && text.contains("for other reasons"), "{text}");
    assert!(text.lines().count() < 900, "{}", text.lines().count());
}

#[test]
fn of_thousands_of_groups_a_page_has_some_and_the_csv_all() {
    let (mut fleet, _) = large();
    let (group, rows) = (fleet.groups[0].clone(), fleet.rows.clone());
    fleet.groups = vec![group; 3000];
    fleet.rows = (0..50)
        .flat_map(|turn| {
            rows.iter().map(move |row| Row { group: row.group + 60 * turn, ..row.clone() })
        })
        .collect();
    let page = html(&fleet, &[]);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(page.contains("And 16000 more, which are in the CSV."));
    assert_eq!(csv(&fleet).lines().count(), 1 + fleet.rows.len());
    text(&fleet, &[], 100);
}

/// Text, CSV and metrics have no control character but line feeds, whatever a name contains.
#[test]
fn no_name_is_an_escape_sequence_or_begins_a_line() {
    let (fleet, missing) = containing("\u{1b}[31m\n\r\u{202e}\"|<script>,\u{7}");
    for made in [text(&fleet, &missing, 100), csv(&fleet), openmetrics(&fleet, &missing)] {
        assert!(made.chars().all(|c| c == '\n' || zc_run::is_safe(c)), "{made}");
    }
    let made = json(&fleet, &missing);
    assert!(made.chars().all(|c| c == '\n' || zc_run::is_safe(c)), "{made}");
    exposed(&openmetrics(&fleet, &missing));
    let lines = csv(&fleet);
    let mut reader = ::csv::Reader::from_reader(lines.as_bytes());
    assert_eq!(reader.records().map(Result::unwrap).count(), fleet.rows.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_page_has_the_same_tags_whatever_its_names_contain(
        text in hostile()
    ) {
        let page_tags = |text: &str| {
            let (fleet, missing) = containing(text);
            tags(&html(&fleet, &missing))
        };
        prop_assert_eq!(page_tags(&text), page_tags("text"));
    }
}
