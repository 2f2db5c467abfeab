//! Every form of a trend by hand.

use proptest::prelude::*;

use super::fixture::{containing, events, flat, long, trend};
use super::*;
use crate::html::tests::{hostile, no_id_is_there_twice, tags};
use crate::tests::forms::{exposed, fits};

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
fn changes_whose_intervals_have_a_night_in_common_are_one_occasion() {
    let mut trend = trend();
    let mut changed = trend.lines.iter_mut().filter(|line| !line.changes.is_empty());
    let (first, second) = (changed.next().unwrap(), changed.next().unwrap());
    let early = &mut first.changes[0];
    (early.night, early.earliest, early.latest) = (11, 10, 12);
    early.events.clear();
    // Another one of the same line, later.
    let mut later = second.changes[0].clone();
    (later.night, later.earliest, later.latest) = (16, 16, 16);
    later.with.clear();
    later.events.clear();
    second.changes.push(later);
    let occasions = words::occasions(&trend);
    assert_eq!(occasions.iter().map(|each| each.lines.len()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(words::when(&trend, &occasions[0]), "Changed between 2026-11-12 and 2026-11-13");
    assert_eq!(
        words::why(&occasions[0]),
        ["Noted: new kernel on gen2 (1 of 2 lines).", "Changed with it: kernel: 6.11.9 -> 6.12.1."]
    );
    assert_eq!(words::when(&trend, &occasions[1]), "Changed on 2026-11-17");
    assert!(words::why(&occasions[1])[0].starts_with("No fact of the hosts changed"));
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

#[test]
fn csv_has_a_line_for_each_night_of_each_line() {
    let text = csv(&trend());
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let heading: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let expected = "night,cell,end,generation,runs,us_per_mb,us_per_mb_low,us_per_mb_high,change";
    assert_eq!(heading.join(","), expected);
    let lines: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), 24 * 19);
    let changed: Vec<&::csv::StringRecord> = lines.iter().filter(|line| &line[8] == "1").collect();
    assert_eq!(changed.len(), 2);
    assert!(changed.iter().all(|line| &line[0] == "2026-11-13" && &line[3] == "gen2"));
    assert_eq!(&lines[3][6], "", "a night without an interval");
    insta::assert_snapshot!("trend_csv", text.lines().take(24).collect::<Vec<_>>().join("\n"));
}

#[test]
fn metrics_conform_to_the_specification() {
    let text = openmetrics(&trend());
    insta::assert_snapshot!("trend_openmetrics", text);
    let families = exposed(&text);
    assert!(families.values().all(|family| family.help.is_some()));
    assert_eq!(families["zc_trend_cost_seconds_per_byte"].samples.len(), 24);
    assert_eq!(families["zc_trend_last_change_ratio"].samples.len(), 2);
    let night = &families["zc_trend_last_change_timestamp_seconds"].samples;
    assert!(night.values().all(|at| *at == 1_794_528_000.0), "{night:?}");
}

#[test]
fn a_page_shows_what_changed_first_and_every_night() {
    let page = html(&trend(), &events());
    tags(&page);
    no_id_is_there_twice(&page);
    assert_eq!(page, html(&trend(), &events()), "the same document, the same bytes");
    let place =
        |text: &str| page.find(text).unwrap_or_else(|| panic!("{text:?} is not there in {page}"));
    assert!(place("2 of 24 lines changed") < place("Changed on 2026-11-13"));
    assert!(place("gen2: what each path costs the sender") < place("gen1: what each path"));
    assert!(place("data-n=\"splice +8.1 % from 2026-11-13 on") < place("<details>"));
    assert!(page.contains("data-n=\"2026-11-05: switch 2 replaced\""));
    let mut flat = flat();
    flat.left_out.clear();
    let flat = html(&flat, &[]);
    tags(&flat);
    assert!(flat.contains("No line changed.") && !flat.contains("id=\"notes\""), "{flat}");
    let mut nothing = trend();
    nothing.nights.clear();
    nothing.lines.clear();
    tags(&html(&nothing, &[]));
    text(&nothing, &[], 80);
}

#[test]
fn a_year_of_many_groups_stays_within_its_bytes() {
    let page = html(&long(), &events());
    tags(&page);
    assert!(page.len() < 4_000_000, "{} bytes", page.len());
    assert!(page.contains("The last 60 of 365 nights"));
    assert!(
        page.contains("144 of 144 lines changed by +8.1 % to +8.1 %: read+send (sender) in gen0")
    );
    assert!(page.contains("One night in 18 has a mark."), "of all lines together");
}

#[test]
fn of_many_events_the_last_ones_are_shown() {
    let many: Vec<Event> =
        (0..5000).map(|at| Event { what: format!("event {at}"), ..events()[0].clone() }).collect();
    let page = html(&trend(), &many);
    assert!(page.len() < 400_000, "{} bytes", page.len());
    assert!(page.contains("event 4999") && !page.contains("event 4959<"));
    let text = text(&trend(), &many, 80);
    assert!(text.contains("events        4980 earlier ones, and\n"), "{text}");
    assert!(text.contains("2026-11-05 event 4999\n"));
}

#[test]
fn no_name_is_an_escape_sequence_or_begins_a_line() {
    let (trend, events) = containing("\u{1b}[31m\n\r\u{202e}\"|<script>,\u{7}");
    for made in
        [text(&trend, &events, 100), csv(&trend), openmetrics(&trend), json(&trend, &events)]
    {
        assert!(made.chars().all(|c| c == '\n' || zc_run::is_safe(c)), "{made}");
    }
    exposed(&openmetrics(&trend));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_page_has_the_same_tags_whatever_its_names_contain(
        text in hostile()
    ) {
        let page_tags = |text: &str| {
            let (trend, events) = containing(text);
            tags(&html(&trend, &events))
        };
        prop_assert_eq!(page_tags(&text), page_tags("text"));
    }
}
