//! The pages of fleets and trends: rows of groups are chosen by list, sorted by key, and read
//! without a script; charts and change points are read out.

use std::path::{Path, PathBuf};

use super::{browser, can_be_read, column, strings};
use crate::webdriver::{Browser, key};
use serde_json::json;
use zc_analysis::fleet::{
    ChangePoint, End, Event, Fleet, Group, GroupMean, Point, Row, Trend, TrendLine,
};
use zc_report::fleet::Missing;

/// A name that must not be executed.
const HOSTILE: &str = "</script><img src=x onerror=\"document.title='got'\">'\"";

fn groups(values: &[[&str; 2]]) -> Vec<Group> {
    let group = |values: &[&str; 2]| Group {
        values: values.map(str::to_owned).to_vec(),
        hosts: 5,
        runs_sending: 40,
        runs_receiving: 40,
    };
    values.iter().map(group).collect()
}

/// Two generations and three kernels, of which two are of one generation.
const GROUPS: [[&str; 2]; 3] = [["gen1", "6.8.0"], ["gen1", "6.12.1"], ["gen2", "6.12.1"]];
const PATHS: [(&str, f64); 3] = [("read+send", 500.0), ("sendfile", 180.0), ("splice", 210.0)];

fn fleet() -> Fleet {
    let mean = |value: f64| GroupMean {
        value,
        low: Some(value * 0.97),
        high: Some(value * 1.03),
        one_more_low: Some(value * 0.9),
        one_more_high: Some(value * 1.1),
    };
    let mut rows = Vec::new();
    for (label, cost) in PATHS {
        for group in 0..GROUPS.len() {
            for end in [End::Sender, End::Receiver] {
                let cost = cost * (1.0 - 0.1 * group as f64);
                let ratio =
                    (end == End::Sender && label != "read+send").then(|| mean(cost / 500.0));
                let label = label.to_owned();
                rows.push(Row {
                    label,
                    end,
                    group,
                    runs: 40,
                    hosts: 5,
                    us_per_mb: mean(cost),
                    ratio,
                });
            }
        }
    }
    Fleet {
        experiment: "paths".to_owned(),
        link: "remote".to_owned(),
        reference: "read+send".to_owned(),
        confidence: 0.95,
        false_discovery_rate: 0.05,
        runs: 120,
        hosts: 15,
        first_at: "2026-11-20T22:00:04Z".to_owned(),
        last_at: "2026-11-21T05:51:40Z".to_owned(),
        zc_versions: vec!["0.2.0".to_owned()],
        shared_runs: 0,
        withheld: Vec::new(),
        left_out: Vec::new(),
        by: vec!["generation".to_owned(), "kernel".to_owned()],
        groups: groups(&GROUPS),
        rows,
        spreads: Vec::new(),
        odd_hosts: Vec::new(),
        hosts_examined: 15,
        odd_pairs: Vec::new(),
        pairs_examined: 30,
        conditions: Vec::new(),
        conditions_examined: 12,
    }
}

fn trend() -> Trend {
    let line = |(label, cost): &(&str, f64)| TrendLine {
        label: (*label).to_owned(),
        end: End::Sender,
        group: 0,
        points: (0..20)
            .map(|night| {
                let us_per_mb = if night < 12 { *cost } else { cost * 1.05 };
                let (low, high) = (Some(us_per_mb * 0.99), Some(us_per_mb * 1.01));
                Point { night, runs: 8, us_per_mb, low, high }
            })
            .collect(),
        changes: vec![ChangePoint {
            night: 12,
            earliest: 11,
            latest: 13,
            by: 1.05,
            low: 1.04,
            high: 1.06,
            with: vec!["kernel: 6.8.0 -> 6.12.1".to_owned()],
            events: vec!["new kernel".to_owned()],
        }],
        last_by_before: Some(1.05),
    };
    Trend {
        experiment: "paths".to_owned(),
        link: "remote".to_owned(),
        reference: "read+send".to_owned(),
        confidence: 0.95,
        false_alarm: 0.05,
        nights: (1..=20).map(|day| format!("2026-11-{day:02}")).collect(),
        runs: 160,
        hosts: 5,
        shared_runs: 0,
        left_out: Vec::new(),
        by: vec!["generation".to_owned(), "kernel".to_owned()],
        groups: groups(&GROUPS[..1]),
        lines: PATHS.iter().map(line).collect(),
        judgement: None,
    }
}

fn written(folder: &Path, page: &str) -> PathBuf {
    let file = folder.join("page.html");
    std::fs::write(&file, page).unwrap();
    file
}

fn opened(browser: &Browser, page: &str) {
    let folder = tempfile::tempdir().unwrap();
    browser.open(&written(folder.path(), page));
    assert_eq!(browser.console(), []);
}

/// Chooses a value of a list by its text.
fn choose(browser: &Browser, list: usize, text: &str) {
    browser.script(&format!(
        "const list = document.querySelectorAll('.filters select')[{list}];
        list.selectedIndex = Array.from(list.options).findIndex(each => each.text === '{text}');
        list.dispatchEvent(new Event('change'))"
    ));
}

/// The first group's value in each row of the first table that is seen.
fn seen(browser: &Browser) -> Vec<String> {
    strings(&browser.script(
        "return Array.from(document.querySelectorAll('table')[0].tBodies[0].rows)
            .filter(row => row.getClientRects().length)
            .map(row => row.cells[0].textContent + ' ' + row.cells[1].textContent + ' '
                + row.cells[2].textContent)",
    ))
}

#[test]
fn rows_of_a_fleet_are_chosen_by_group_and_sorted_by_key() {
    let Some(browser) = browser() else { return };
    browser.width(1200);
    opened(&browser, &zc_report::fleet::html(&fleet(), &[]));
    assert_eq!(seen(&browser).len(), 9);
    let rows = "return document.querySelector('.filters output').textContent";
    assert_eq!(browser.script(rows), "18 of 18 rows", "both tables");
    let lists = strings(&browser.script(
        "return Array.from(document.querySelectorAll('.filters select'))
            .map(list => list.labels[0].textContent + ': '
                + Array.from(list.options).map(each => each.text).join(' '))",
    ));
    assert_eq!(lists, ["generation: all gen1 gen2", "kernel: all 6.8.0 6.12.1"]);
    choose(&browser, 1, "6.12.1");
    assert_eq!(seen(&browser).len(), 6);
    choose(&browser, 0, "gen1");
    let both = seen(&browser);
    assert!(both.len() == 3 && both.iter().all(|row| row.ends_with("gen1 6.12.1")), "{both:?}");
    assert_eq!(browser.script(rows), "6 of 18 rows");

    // By key: the cost, then the other way; what is hidden stays so.
    let costs = || -> Vec<f64> {
        let cell = "return Array.from(document.querySelectorAll('table')[0].tBodies[0].rows)
            .filter(row => row.getClientRects().length).map(row => row.cells[5].textContent)";
        let texts = strings(&browser.script(cell));
        texts.iter().map(|text| text.split(' ').next().unwrap().parse().unwrap()).collect()
    };
    browser
        .script("document.querySelectorAll('table thead th')[5].querySelector('button').focus()");
    browser.press(&[key::ENTER]);
    assert!(costs().len() == 3 && costs().is_sorted(), "{:?}", costs());
    browser.press(&[key::ENTER]);
    assert!(costs().is_sorted_by(|a, b| a >= b), "{:?}", costs());
    let sorted = "return document.querySelectorAll('table thead th')[5].ariaSort";
    assert_eq!(browser.script(sorted), "descending");
    // Kernels are sorted as versions.
    choose(&browser, 0, "all");
    choose(&browser, 1, "all");
    browser.click("table thead th:nth-child(3) button");
    let kernels = column(&browser, 2);
    assert_eq!((kernels[0].as_str(), kernels[8].as_str()), ("6.8.0", "6.12.1"), "{kernels:?}");
    assert_eq!(browser.console(), []);
}

#[test]
fn a_fleet_is_read_without_a_script_and_on_a_telephone() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let missing = [Missing { cell: "n1 to n2".to_owned(), why: "the node was drained".to_owned() }];
    let file = written(folder.path(), &zc_report::fleet::html(&fleet(), &missing));
    browser.devtools("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    browser.open(&file);
    assert_eq!(seen(&browser).len(), 9);
    let lists = "return Array.from(document.querySelectorAll('.filters'))
        .filter(list => list.getClientRects().length).length";
    assert_eq!(browser.script(lists), 0, "what does nothing is not to be seen");
    browser.devtools("Emulation.setScriptExecutionDisabled", &json!({"value": false}));
    browser.width(360);
    browser.open(&file);
    assert_eq!(browser.console(), []);
    can_be_read(&browser);
}

#[test]
fn a_trend_reads_out_its_nights_and_changes_and_fits_a_telephone() {
    let Some(browser) = browser() else { return };
    let events = [
        Event { day: "2026-11-13".to_owned(), what: "new kernel".to_owned() },
        Event { day: "2026-11-03".to_owned(), what: "a switch was replaced by another".to_owned() },
    ];
    for width in [1200, 360] {
        browser.width(width);
        opened(&browser, &zc_report::trend::html(&trend(), &events));
        if width == 360 {
            can_be_read(&browser);
        }
        let named = strings(&browser.script(
            "return Array.from(document.querySelectorAll('.chart [data-n]'))
                .map(mark => mark.dataset.n)",
        ));
        let has = |text: &str| named.iter().any(|name| name == text);
        assert!(has("sendfile +5.0 % from 2026-11-13 on (95 %: 2026-11-12 to 2026-11-14)"));
        assert!(has("2026-11-03: a switch was replaced by another") && has("splice, 2026-11-20"));
        // By key: the change, the events, and every night.
        browser.script("document.querySelector('.chart .plot').focus()");
        let mut read = Vec::new();
        for _ in 0..23 {
            browser.press(&[key::RIGHT]);
            let text = browser.script("return document.querySelector('.chart .read').textContent");
            read.push(text.as_str().unwrap_or_default().to_owned());
        }
        assert_eq!(read.iter().filter(|read| read.ends_with(" us/MB")).count(), 20, "{read:?}");
        assert_eq!(read.iter().filter(|read| read.contains("% from 2026-11-13 on")).count(), 1);
        assert_eq!(read.iter().filter(|read| read.starts_with("2026-11-03: ")).count(), 1);
    }
    // The figures of each night are folded, and have units too.
    browser.click("details summary");
    let table = "return document.querySelector('details[open] tbody tr').textContent";
    let before = browser.script(table);
    assert!(before.as_str().is_some_and(|row| row.starts_with("2026-11-01")), "{before}");
    browser.script("document.getElementById('unit').focus()");
    browser.press(&[key::DOWN]);
    assert_ne!(browser.script(table), before);
}

#[test]
fn names_of_hosts_and_groups_are_never_taken_as_markup() {
    let Some(browser) = browser() else { return };
    browser.width(360);
    let mut fleet = fleet();
    fleet.groups[2].values[1] = "6.12.1-without-any-break".repeat(10);
    fleet.by[0] = HOSTILE.to_owned();
    fleet.groups[0].values[0] = HOSTILE.to_owned();
    fleet.rows.iter_mut().for_each(|row| row.label.push_str(HOSTILE));
    let missing = [Missing { cell: HOSTILE.to_owned(), why: HOSTILE.to_owned() }];
    let mut trend = trend();
    trend.groups[0].values[0] = HOSTILE.to_owned();
    trend.groups[0].values[1] = "6.12.1-without-any-break".repeat(10);
    trend.nights[0] = HOSTILE.to_owned();
    trend.lines.iter_mut().for_each(|line| line.label.push_str(HOSTILE));
    let events = [Event { day: HOSTILE.to_owned(), what: HOSTILE.to_owned() }];
    for page in [zc_report::fleet::html(&fleet, &missing), zc_report::trend::html(&trend, &events)]
    {
        opened(&browser, &page);
        let seen = browser.script(
            "return [document.title.slice(0, 9), String(document.images.length),
                String(document.scripts.length),
                String(document.querySelectorAll('[onerror],[src]').length)]",
        );
        assert_eq!(strings(&seen), ["What send", "0", "2", "0"]);
        can_be_read(&browser);
    }
}
