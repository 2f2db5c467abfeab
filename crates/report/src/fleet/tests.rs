//! Every form of a fleet by hand.

use super::fixture::{alike, fleet, missing};
use super::*;

fn fits(text: &str, columns: usize) {
    assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
}

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
