//! What is printed of the costs of synthetic runs and logs.

use super::*;
use crate::advise::{Advice, AdvisedLog, json, json_schema, text};
use zc_access_log::{MixBuilder, read_log};
use zc_analysis::advise::{PathVerdict, Untold};
use zc_analysis::estimate;
use zc_run::{Factor, ResponsesPlan, SendPath};
use zc_testkit::synthetic::{Synthetic, size_sweep};

/// A run of responses by read+send, sendfile, which costs less, and mmap+write, which costs more.
pub(crate) fn a_run(blocks: usize) -> Run {
    let paths = [
        (SendPath::ReadSend, 20_000.0, 300.0),
        (SendPath::Sendfile, 19_000.0, 120.0),
        (SendPath::MmapWrite, 24_000.0, 310.0),
    ];
    let cells = size_sweep(&paths, &[64, 1024, 16_384, 1 << 20]);
    let factors = vec![Factor::Message, Factor::Send];
    let world = Synthetic {
        cells,
        blocks,
        factors,
        noise: 0.01,
        block_drift: 0.0,
        unsoaked: false,
        ..Synthetic::default()
    };
    let mut run = world.run();
    run.header.plan.responses =
        Some(ResponsesPlan { connections: 4, keepalive: true, head_bytes: 100, replay: None });
    run
}

/// A log of ten minutes, with so many requests a second, most of them small.
pub(crate) fn a_log(per_s: u64) -> String {
    let sizes = ["-", "500", "3000", "20000", "200000"];
    let line = |at: u64| {
        let (second, size) = (at / per_s, sizes[(at % sizes.len() as u64) as usize]);
        let status = if size == "-" { 304 } else { 200 };
        format!(
            "192.0.2.1 - - [17/May/2015:10:{:02}:{:02} +0000] \"GET /secret HTTP/1.1\" {status} {size}\n",
            second / 60,
            second % 60
        )
    };
    (0..600 * per_s).map(line).collect()
}

pub(crate) fn advice_of(log: &str, run: &Run, asked: Option<Asked>) -> Advice {
    let mut mix = MixBuilder::default();
    let summary = read_log(log.as_bytes(), None, &mut mix).unwrap();
    let mix = mix.finish().unwrap();
    let costs = Costs::of(run, &estimate(run), "zc-a\u{1b}.json", &mix, None, asked).unwrap();
    let log = AdvisedLog {
        log: "access.log".to_owned(),
        format: summary.format,
        compression: None,
        lines: summary.lines,
        requests: summary.requests,
        unreadable: 0,
        is_cut: false,
    };
    Advice { logs: vec![log], mix, costs: Some(costs) }
}

#[test]
fn costs_are_told_by_path_and_the_verdict_comes_last() {
    let told =
        text(&advice_of(&a_log(20), &a_run(30), Some(Asked::Requests(2000.0))), Layout::plain(100));
    let of_costs = &told[told.find("\ncosts ").unwrap() + 1..];
    insta::assert_snapshot!("advise_costs", of_costs);
}

#[test]
fn a_small_log_has_a_unit_of_its_own() {
    let small = advice_of(&a_log(1), &a_run(30), None);
    let told = text(&small, Layout::plain(100));
    let last = told.trim_end().rsplit("\n\n").next().unwrap();
    assert!(last.contains(" us of CPU time per second ("), "{last}");
    assert_eq!(Unit::of(0.02).name, "% of a core");
    assert_eq!(Unit::of(1.9).name, "cores");
}

#[test]
fn a_run_with_too_few_blocks_gives_no_verdict() {
    let advice = advice_of(&a_log(5), &a_run(3), None);
    let verdict = &advice.costs.as_ref().unwrap().verdict;
    assert!(
        verdict.starts_with("What other paths than read+send save cannot be told, as the run's"),
        "{verdict}"
    );
    assert!(text(&advice, Layout::plain(1000)).ends_with(&format!("{verdict}\n")));
}

#[test]
fn each_reason_is_a_sentence_and_paths_with_the_same_one_are_named_together() {
    let mut advice = advice_of(&a_log(5), &a_run(30), None).costs.unwrap().advice;
    let reasons = [
        Untold::Withheld,
        Untold::TooFewBlocks,
        Untold::ReachesZero,
        Untold::ControlError,
        Untold::Beyond,
    ];
    let mut said = Vec::new();
    for why in reasons {
        for path in advice.paths.iter_mut().filter(|path| !path.today) {
            path.verdict = Some(PathVerdict::Untold { why });
        }
        let sentence = verdict::sentence(&advice, &[]);
        assert!(
            sentence.starts_with(
                "What sendfile and mmap+write instead of read+send save cannot be told: "
            ),
            "{sentence}"
        );
        said.push(sentence);
    }
    said.sort();
    said.dedup();
    assert_eq!(said.len(), reasons.len());
    // One that is known comes first.
    advice.paths[2].verdict = Some(PathVerdict::CostsMore { share: 0.1 });
    let sentence = verdict::sentence(&advice, &[]);
    assert!(sentence.starts_with("mmap+write instead of read+send costs "), "{sentence}");
    assert!(sentence.contains("; what sendfile saves cannot be told: "), "{sentence}");
}

#[test]
fn what_is_assumed_depends_on_log_and_run() {
    let assumed = |advice: &Advice| -> Vec<String> {
        let costs = advice.costs.as_ref().unwrap();
        assert!(costs.assumptions.iter().all(|it| it.would_change.ends_with('.')));
        costs.assumptions.iter().map(|it| it.assumed.clone()).collect()
    };
    let kept = assumed(&advice_of(&a_log(5), &a_run(8), None));
    assert!(kept.contains(&"connections carry many requests".to_owned()), "{kept:?}");
    assert!(!kept.contains(&"HTTP/1.1".to_owned()));
    let mut closing = a_run(8);
    closing.header.plan.responses.as_mut().unwrap().keepalive = false;
    let other = a_log(5).replace("HTTP/1.1", "HTTP/2.0").replace(" 304 -", " 304 180");
    let closed = assumed(&advice_of(&other, &closing, None));
    for expected in
        ["each request has a connection of its own", "headers count as body", "HTTP/1.1"]
    {
        assert!(closed.contains(&expected.to_owned()), "{expected}: {closed:?}");
    }
}

#[test]
fn the_document_with_costs_is_as_its_schema_names_it() {
    let advice = advice_of(&a_log(5), &a_run(8), Some(Asked::Bytes(1e9)));
    let document: serde_json::Value = serde_json::from_str(&json(&advice)).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&json_schema()).unwrap();
    let described = &schema["$defs"]["Costs"]["properties"];
    for name in document["costs"].as_object().unwrap().keys() {
        assert!(described.get(name).is_some(), "{name}");
    }
    assert!(document["costs"]["paths"][1]["cores"]["saved"]["value"].as_f64().unwrap() > 0.0);
    assert!(!document.to_string().contains("secret"));
}
