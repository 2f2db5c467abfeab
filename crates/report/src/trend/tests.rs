//! Every form of a trend by hand.

use super::fixture::{events, flat, trend};
use super::*;

fn fits(text: &str, columns: usize) {
    assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
}

#[test]
fn a_change_on_a_terminal() {
    for columns in [80, 120] {
        let text = text(&trend(), &events(), columns);
        fits(&text, columns);
        insta::assert_snapshot!(format!("trend_{columns}"), text);
    }
}

#[test]
fn where_nothing_changed_it_is_said() {
    let text = text(&flat(), &[], 100);
    assert!(text.contains("No change was found in 22 lines over 20 nights."), "{text}");
    assert!(text.contains("No line is worse by more than 3.0 %."), "{text}");
}

#[test]
fn json_has_every_night_and_the_events() {
    let text = json(&trend(), &events());
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let changed = document["lines"]
        .as_array()
        .unwrap()
        .iter()
        .find(|line| line["label"] == "splice" && line["group"] == 1 && line["end"] == "sender")
        .unwrap();
    assert_eq!(changed["changes"][0]["night"], 12);
    assert_eq!(changed["points"][3]["low"], serde_json::Value::Null);
    assert_eq!(document["events"][1]["day"], "2026-11-13");
    let schema: serde_json::Value = serde_json::from_str(&json_schema()).unwrap();
    assert_eq!(schema["title"], "Output of zc trend --json");
    let properties = schema["properties"].as_object().unwrap();
    for name in document.as_object().unwrap().keys() {
        assert!(properties.contains_key(name), "{name}");
    }
}
