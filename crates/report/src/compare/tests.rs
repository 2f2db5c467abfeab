//! The text of comparisons of synthetic runs with known costs.

use super::*;
use zc_analysis::compare::{Selection, calibrate, compare};
use zc_run::{Run, SendPath};
use zc_testkit::synthetic::{Synthetic, TrueCell};

pub(crate) fn run(seed: u64, sendfile: f64) -> Run {
    let reference = TrueCell::new(SendPath::ReadSend, 500.0, 400.0);
    let control = reference.control();
    let world = Synthetic {
        cells: vec![
            reference,
            TrueCell::new(SendPath::Sendfile, 180.0 * sendfile, 390.0 * sendfile),
            TrueCell::new(SendPath::Splice, 210.0, 390.0),
            control,
        ],
        seed,
        blocks: 60,
        block_drift: 0.002,
        ..Synthetic::default()
    };
    let mut run = world.run();
    run.header.started_at = format!("2026-11-2{seed}T12:00:00Z");
    run
}

pub(crate) fn part<'a>(name: &str, run: &'a Run) -> Selection<'a> {
    Selection { name: name.to_owned(), run, cell: None, state: None }
}

pub(crate) fn another_kernel() -> (Run, Run) {
    let (old, mut new) = (run(1, 1.0), run(2, 1.15));
    new.header.host.kernel_release = "6.19.0".to_owned();
    new.header
        .host
        .sysctls
        .insert("net.ipv4.tcp_wmem".to_owned(), "4096\t16384\t4194304".to_owned());
    (old, new)
}

#[test]
fn two_runs_on_a_terminal() {
    let (old, new) = another_kernel();
    let (compared, judgement) =
        compare(&part("old.json", &old), &[part("new.json", &new)], Some(0.05), None);
    insta::assert_snapshot!("compare_terminal", table(&compared, judgement.as_ref(), 110));
}

#[test]
fn two_runs_in_markdown_for_a_mail() {
    let (old, new) = another_kernel();
    let (compared, judgement) =
        compare(&part("old.json", &old), &[part("new.json", &new)], Some(0.05), None);
    let text = markdown(&compared, judgement.as_ref(), 72);
    assert!(text.lines().all(|line| line.chars().count() <= 72), "{text}");
    assert!(text.contains("net.ipv4.tcp_wmem"), "a name within a word is not escaped: {text}");
    insta::assert_snapshot!("compare_markdown", text);
}

#[test]
fn two_cells_of_one_run() {
    let run = run(1, 1.0);
    let cell = |name: &str| Selection {
        cell: Some(name.to_owned()),
        ..part(&format!("r.json:{name}"), &run)
    };
    let (compared, _) = compare(&cell("read+send"), &[cell("sendfile")], None, None);
    insta::assert_snapshot!("compare_cells", table(&compared, None, 100));
}

#[test]
fn impossible_comparisons_have_a_reason() {
    let (old, mut new) = (run(1, 1.0), run(2, 1.0));
    new.header.plan.fixed.rate_bytes_per_s = 4e8;
    let (compared, judgement) =
        compare(&part("old.json", &old), &[part("new.json", &new)], Some(0.05), None);
    insta::assert_snapshot!("compare_impossible", table(&compared, judgement.as_ref(), 100));
}

#[test]
fn json_has_every_figure_with_its_unit() {
    let (old, new) = another_kernel();
    let (compared, judgement) =
        compare(&part("old.json", &old), &[part("new.json", &new)], Some(0.05), None);
    let document: serde_json::Value =
        serde_json::from_str(&json(&compared, judgement.as_ref())).unwrap();
    let cell = &document["comparisons"][0]["cells"][1];
    assert_eq!(cell["label"], "sendfile");
    assert_eq!(cell["word"]["word"], "worse");
    assert!(cell["relative"]["both"]["method"]["welch"]["ratio"].as_f64().unwrap() > 1.1);
    assert!(cell["old_cost_us_per_mb"]["both"]["value"].as_f64().unwrap() > 500.0);
    assert_eq!(document["judgement"]["outcome"], "worse");
    assert_eq!(document["comparisons"][0]["differences"][0]["what"], "kernel-release");
}

#[test]
fn names_from_a_file_never_become_markup() {
    let (mut old, mut new) = another_kernel();
    new.header.host.hostname = "</td><script>alert(1)</script>\u{1b}[31m|x".to_owned();
    for run in [&mut old, &mut new] {
        run.header.plan.cells[2].label = "<b>**bold**|\u{7}</b>".to_owned();
        for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
            if let zc_run::Slot::Trial(trial) = slot
                && trial.cell == "splice"
            {
                trial.cell = "<b>**bold**|\u{7}</b>".to_owned();
            }
        }
    }
    let (compared, judgement) =
        compare(&part("a\u{1b}]0;x", &old), &[part("b|c", &new)], Some(0.05), None);
    let terminal = table(&compared, judgement.as_ref(), 100);
    assert!(!terminal.contains('\u{1b}') && !terminal.contains('\u{7}'));
    let markdown = markdown(&compared, judgement.as_ref(), 72);
    assert!(!markdown.contains("<script") || markdown.contains("\\<script"), "{markdown}");
    assert!(!markdown.contains('\u{1b}') && !markdown.contains("**bold"), "{markdown}");
}

/// Runs of one state, between which costs differ by some 3 %.
fn runs_of_one_state() -> Vec<Run> {
    [0.97, 1.0, 1.03, 0.99, 1.02].into_iter().zip(1..).map(|(cost, seed)| run(seed, cost)).collect()
}

fn parts(runs: &[Run]) -> Vec<Selection<'_>> {
    runs.iter().enumerate().map(|(at, run)| part(&format!("{at}.json"), run)).collect()
}

#[test]
fn a_calibration_on_a_terminal() {
    let mut runs = runs_of_one_state();
    runs[4].blocks.truncate(5);
    runs[3].header.host.kernel_release = "6.19.0".to_owned();
    let found = calibrate(&parts(&runs), &[]).unwrap();
    let text = calibration::table(&found, 100);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!("calibration_terminal", text);
    let document: serde_json::Value = serde_json::from_str(&calibration::json(&found)).unwrap();
    assert_eq!(document["runs"].as_array().unwrap().len(), 4);
    assert_eq!(document["cells"][1]["label"], "sendfile");
}

#[test]
fn a_comparison_says_where_the_deviation_between_runs_is_from() {
    let runs = runs_of_one_state();
    let found = calibrate(&parts(&runs), &[]).unwrap();
    let (old, new) = (run(7, 1.0), run(8, 1.0));
    let said = |calibration| {
        let (compared, _) =
            compare(&part("old.json", &old), &[part("new.json", &new)], None, calibration);
        table(&compared, None, 400)
    };
    let own = said(None);
    assert!(own.contains("which is by how much parts of these runs differ"), "{own}");
    let measured = said(Some(&found));
    assert!(measured.contains("from 5 runs (--calibration); "), "{measured}");
    let mut other = found.clone();
    other.net = !found.net;
    let unlike = said(Some(&other));
    let (those, these) = if other.net { ("net", "gross") } else { ("gross", "net") };
    let words = format!("(--calibration), whose costs are {those} where these are {these}");
    assert!(unlike.contains(&words), "{unlike}");
}

#[test]
fn what_is_no_calibration_is_a_sentence_and_what_it_lacks() {
    let mut runs = runs_of_one_state();
    let refused = |runs: &[Run]| calibration::refusal(&calibrate(&parts(runs), &[]).unwrap_err());
    runs[1].blocks.clear();
    let few = "a calibration needs 3 runs of one state, and there are 2".to_owned();
    let why = "left out: 1.json: no block was kept, and 6 are needed".to_owned();
    assert_eq!(refused(&runs[..3]), (few, Some(why)));
    runs[2].header.link.kind = zc_run::LinkKind::Loopback;
    let two = "\"0.json\" and \"2.json\" measured different things".to_owned();
    assert_eq!(refused(&runs), (two, Some("link veth, now loopback".to_owned())));
}
