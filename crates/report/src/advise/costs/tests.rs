//! Tests of the output about costs, with synthetic runs and logs.

use super::*;
use crate::advise::{Advice, AdvisedLog, json, json_schema, text};
use zc_access_log::{MixBuilder, read_log};
use zc_analysis::advise::{Asked, PathVerdict, Question, Untold};
use zc_analysis::estimate;
use zc_run::{Factor, ResponsesPlan, SendPath, Traffic};
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
    run.header.plan.traffic = Traffic::Responses(ResponsesPlan {
        connections: 4,
        keepalive: true,
        head_bytes: 100,
        replay: None,
    });
    run
}

/// A log of ten minutes, with so many requests a second, most of them small.
pub(crate) fn a_log(per_s: u64) -> String {
    let sizes = ["-", "500", "3000", "20000", "200000"];
    let line = |at: u64| {
        let (second, size) = (at / per_s, sizes[(at % sizes.len() as u64) as usize]);
        let status = if size == "-" { 304 } else { 200 };
        format!(
            "192.0.2.1 - - [17/May/2015:10:{:02}:{:02} +0000] \"GET /secret HTTP/1.1\" {status} \
             {size}\n",
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
    let requests = Requests { mix: &mix, hosts: &[], over_tls: None };
    let question = Question { asked, ..Question::default() };
    let file = "zc-a\u{1b}.json";
    let costs = Costs::estimate(run, &estimate(run), file, requests, &question, "").unwrap();
    let log = AdvisedLog {
        log: "access.log".to_owned(),
        host: None,
        format: summary.format,
        compression: None,
        lines: summary.lines,
        requests: summary.requests,
        unreadable: 0,
        is_cut: false,
        duration_unit: None,
        has_doubtful_durations: false,
    };
    Advice { logs: vec![log], mix, host_mixes: Vec::new(), costs: Some(costs) }
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
    let told = text(&small, Layout::plain(1000));
    let last = told.trim_end().rsplit("\n\n").next().unwrap();
    assert!(last.contains(" us of CPU time per second ("), "{last}");
    assert_eq!(Unit::for_cores(0.02).name, "% of a core");
    assert_eq!(Unit::for_cores(1.9).name, "cores");
}

#[test]
fn what_saves_too_little_to_matter_says_so_and_from_which_rate_it_would() {
    let verdict = |log: &str, asked| advice_of(log, &a_run(30), asked).costs.unwrap().verdict;
    let little = verdict(&a_log(1), None);
    let says = "That does not matter at this rate, not even in the busiest minute (1.00/s): it \
        would be 1 % of a core from ";
    assert!(
        little.starts_with("At the log's 1.00/s sendfile instead of read+send saves "),
        "{little}"
    );
    assert!(little.contains(says), "{little}");
    // The rate that it names is where it begins to.
    let from = little.split(says).nth(1).and_then(|rest| rest.split("/s").next()).unwrap();
    let from: f64 = from.parse().unwrap();
    let at = |per_s: f64| verdict(&a_log(1), Some(Asked::Requests(per_s)));
    let below = at(from * 0.9);
    assert!(below.contains(" That does not matter at this rate: "), "{below}");
    let above = at(from * 1.1);
    assert!(above.starts_with("At ") && !above.contains("does not matter"), "{above}");
    assert!(at(2000.0).starts_with("At 2000/s sendfile instead of read+send saves "));
}

#[test]
fn requests_over_tls_are_in_the_sentence_unless_the_run_had_tls() {
    let log = a_log(20).replace("HTTP/1.1", "HTTP/2.0");
    let verdict = |run: &Run| advice_of(&log, run, None).costs.unwrap().verdict;
    let told = verdict(&a_run(30));
    assert!(told.starts_with("Without encryption, at the log's 20.0/s sendfile "), "{told}");
    assert!(told.contains(" But 100 % of the requests went over TLS, "), "{told}");
    let mut server = a_server_s_run(30);
    assert!(verdict(&server).contains("went over TLS"));
    for state in &mut server.header.plan.traffic.server_mut().unwrap().states {
        state.url = state.url.replace("http:", "https:");
    }
    assert!(!verdict(&server).contains("TLS"));
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
        let sentence = verdict::sentence(&advice, Priced::new(false), &[], 0.0, None);
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
    let sentence = verdict::sentence(&advice, Priced::new(false), &[], 0.0, None);
    let begins = "At the log's 5.00/s mmap+write instead of read+send costs ";
    assert!(sentence.starts_with(begins), "{sentence}");
    assert!(sentence.contains("; what sendfile saves cannot be told: "), "{sentence}");
}

/// A server in two configurations, of which `on` saves where bytes are sent.
pub(crate) fn a_server_s_run(blocks: usize) -> Run {
    let world = Synthetic { blocks, noise: 0.01, block_drift: 0.0, ..Synthetic::default() };
    let configurations = [("off", 20_000.0, 300.0), ("on", 20_500.0, 120.0)];
    zc_testkit::server::by_length(&configurations, &[1024, 16_384, 1 << 20], world)
}

#[test]
fn costs_of_a_server_are_told_by_configuration() {
    let told = text(&advice_of(&a_log(20), &a_server_s_run(30), None), Layout::plain(100));
    let of_costs = &told[told.find("\ncosts ").unwrap() + 1..];
    insta::assert_snapshot!("advise_costs_of_a_server", of_costs);
}

#[test]
fn what_is_assumed_of_a_server_depends_on_how_it_was_measured() {
    let assumed = |run: &Run| -> String {
        let costs = advice_of(&a_log(5), run, None).costs.unwrap();
        let all =
            costs.assumptions.iter().map(|it| format!("{}: {}\n", it.assumed, it.would_change));
        let all: String = all.collect();
        for of_paths in ["by every path", "zc's parses a request", "--from-run", "zc run requests"]
        {
            assert!(!all.contains(of_paths), "{of_paths}: {all}");
        }
        all
    };
    let mut run = a_server_s_run(8);
    let usual = assumed(&run);
    for says in ["files in caches", "no TLS", "connections carry many", "--server-run takes it"] {
        assert!(usual.contains(says), "{says}: {usual}");
    }
    assert!(!usual.contains("what the load took"), "{usual}");
    let server = |run: &mut Run, change: &dyn Fn(&mut zc_run::ServerPlan)| {
        change(run.header.plan.traffic.server_mut().unwrap());
        assumed(run)
    };
    let https = |state: &mut zc_run::ServerState| state.url = state.url.replace("http:", "https:");
    assert!(server(&mut run, &|it| https(&mut it.states[1])).contains("TLS where the run had it"));
    assert!(
        server(&mut run, &|it| it.states.iter_mut().for_each(https)).contains("TLS as in the run")
    );
    assert!(server(&mut run, &|it| it.keepalive = false).contains("zc run server without --close"));
    let generator = server(&mut run, &|it| it.generator = vec!["oha".to_owned()]);
    assert!(generator.contains("responses of the size that zc's own load gets"), "{generator}");
    let ran = server(&mut run, &|it| it.serve = None);
    assert!(ran.contains("what the load took beside its thread is the server's"), "{ran}");
    let afar = server(&mut run, &|it| it.load_from = Some("192.0.2.1".to_owned()));
    assert!(!afar.contains("what the load took"), "{afar}");
}

#[test]
fn a_configuration_of_one_length_is_a_doubt_and_the_only_one_has_no_verdict() {
    let mut run = a_server_s_run(8);
    let server = run.header.plan.traffic.server_mut().unwrap();
    server.states.retain(|it| !it.state.name().starts_with("on") || it.state.name() == "on-1024");
    server.serve = None;
    let advice = advice_of(&a_log(5), &run, None);
    let told = text(&advice, Layout::plain(1000));
    for says in [
        "doubt         the run has one length of on-1024, and requests are of many: left out",
        "server        was running, on CPUs of its owner's choice",
        "The run has no other configuration than off, so nothing can be compared.",
    ] {
        assert!(told.contains(says), "{says}: {told}");
    }
}

#[test]
fn the_page_of_a_server_speaks_of_configurations() {
    let page = crate::advice_page(&advice_of(&a_log(20), &a_server_s_run(30), None));
    for says in [
        "Costs by configuration of the server",
        "on instead of off saves",
        "off, the configuration of today",
    ] {
        assert!(page.contains(says), "{says}: {page}");
    }
    for other in ["path of today", ">path<", "a path keeps", "all paths", "zc run requests"] {
        assert!(!page.contains(other), "{other}: {page}");
    }
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
    closing.header.plan.traffic.responses_mut().unwrap().keepalive = false;
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
    assert!(document["costs"]["run"]["server"].is_null());
    let of_server = advice_of(&a_log(5), &a_server_s_run(8), None);
    let of_server: serde_json::Value = serde_json::from_str(&json(&of_server)).unwrap();
    assert_eq!(of_server["costs"]["run"]["server"]["started_by"], "nginx");
    assert_eq!(
        of_server["costs"]["run"]["lengths_bytes"],
        serde_json::json!([1024, 16384, 1 << 20])
    );
    assert!(!document.to_string().contains("secret"));
}
