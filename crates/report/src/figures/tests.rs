//! Tests of the registry: a figure is the same in every form, and nothing published is missing.

use super::entry::{Entry, Side, Value};
use super::published;
use super::registry::{cell_csv, cell_figures, cell_metrics, condition_figures, request_figures};
use crate::tests::fixture::{null, veth};
use crate::tests::server::server;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Holds that the field of JSON has the number of an entry, and returns how many are known.
fn check<S>(entry: &Entry<S>, of: &S, json: &Json) -> usize {
    if entry.json.is_empty() || matches!(entry.value, Value::Word(_)) {
        return 0;
    }
    let field = json.pointer(&format!("/{}", entry.json));
    let field = field.unwrap_or_else(|| panic!("{}: JSON has no {}", entry.name, entry.json));
    let sides: &[(Side, Option<&str>)] = match entry.value {
        Value::Word(_) => return 0,
        Value::One(_) => &[(Side::Both, None)],
        Value::Sides(_) => &[
            (Side::Sender, Some("sender")),
            (Side::Receiver, Some("receiver")),
            (Side::Both, Some("both")),
        ],
    };
    let known = sides.iter().filter(|(side, name)| {
        let field = name.map_or(field, |name| &field[name]);
        let shown = field.get("value").unwrap_or(field).as_f64();
        let number = entry.number(of, *side).map(|figure| (entry.unit.plain)(figure.value));
        assert_eq!(shown, number, "{}: {}", entry.name, entry.json);
        number.is_some()
    });
    known.count()
}

#[test]
fn json_has_every_figure_in_the_field_that_its_entry_names() {
    let mut known = BTreeSet::new();
    for (run, estimates) in [veth(), null(), server()] {
        let text = crate::json(&run, &estimates);
        let json: Json = serde_json::from_str(&text).unwrap();
        let json = &json["estimates"];
        for (place, cell) in estimates.cells.iter().enumerate() {
            for entry in cell_figures() {
                let found = check(entry, cell, &json["cells"][place]);
                known.extend((found > 0).then_some(entry.name));
            }
        }
        for (place, state) in estimates.requests.iter().enumerate() {
            for entry in request_figures().iter().filter(|_| state.latency.is_some()) {
                let found = check(entry, state, &json["requests"][place]);
                known.extend((found > 0).then_some(entry.name));
            }
        }
        for entry in condition_figures() {
            check(entry, &estimates, json);
        }
    }
    assert!(known.len() > 25, "{known:?}");
}

#[test]
fn names_are_unique_and_all_that_were_published_are_there() {
    let names: Vec<&str> = cell_figures().map(|entry| entry.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    let csv: Vec<&str> = cell_csv().iter().map(|(_, csv)| csv.name).collect();
    assert_eq!(csv.iter().collect::<BTreeSet<_>>().len(), csv.len());
    assert_eq!(csv[..published::CSV.len()], *published::CSV);
    let metrics: Vec<&str> = cell_metrics().iter().map(|(_, metric)| metric.name).collect();
    assert_eq!(metrics[..published::METRICS.len()], *published::METRICS);
}
