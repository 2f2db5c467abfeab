//! Tests of the output where encryption is in the costs, of several hosts, and of money.

use super::tests::{a_log, a_run};
use super::*;
use crate::advise::{Advice, AdvisedLog, json, json_schema, text};
use zc_access_log::{MixBuilder, read_log};
use zc_analysis::advise::Asked;
use zc_analysis::{Price, estimate};
use zc_run::{SendPath, Support, SupportRow, Unavailable, UnavailableKind};
use zc_testkit::synthetic::Synthetic;
use zc_testkit::tls::tls_run;

/// A run of `zc run tls`, on a kernel with TLS or without.
fn tls(with_kernel: bool) -> Run {
    const CIPHER: &str = "aes-128-gcm";
    let mut ways = vec![
        (SendPath::ReadSend, "clear", 300.0),
        (SendPath::Sendfile, "clear", 120.0),
        (SendPath::TlsWrite, CIPHER, 640.0),
        (SendPath::TlsWrite, "chacha20-poly1305", 1100.0),
    ];
    let of_kernel = [(SendPath::KtlsWrite, CIPHER, 520.0), (SendPath::KtlsSendfile, CIPHER, 400.0)];
    ways.extend(of_kernel.into_iter().filter(|_| with_kernel));
    let world = Synthetic { seed: 5, noise: 0.01, block_drift: 0.0, ..Synthetic::default() };
    let mut run = tls_run(&ways, world);
    if !with_kernel {
        run.header.unavailable = vec![SupportRow {
            what: "cell".to_owned(),
            name: "ktls-write aes-128-gcm".to_owned(),
            support: Support::No(Unavailable {
                kind: UnavailableKind::Unsupported,
                reason: "the kernel has no TLS".to_owned(),
                remedy: None,
            }),
        }];
    }
    run
}

/// What is asked beside the log.
#[derive(Default)]
struct Asks<'a> {
    tls: Option<&'a Run>,
    over_tls: Option<f64>,
    asked: Option<Asked>,
    price: Option<&'a Price>,
}

fn mix_of(logs: &[&str]) -> RequestMix {
    let mut mix = MixBuilder::default();
    for log in logs {
        read_log(log.as_bytes(), None, &mut mix).unwrap();
    }
    mix.finish().unwrap()
}

/// Advice about the logs of hosts; a single one is of no host.
fn advice(logs: &[(&str, String)], asks: &Asks<'_>) -> Advice {
    let run = a_run(30);
    let all: Vec<&str> = logs.iter().map(|(_, log)| log.as_str()).collect();
    let mix = mix_of(&all);
    let hosts = logs.iter().filter(|_| logs.len() > 1);
    let host_mixes: Vec<(String, RequestMix)> =
        hosts.map(|(host, log)| ((*host).to_owned(), mix_of(&[log]))).collect();
    let requests = Requests { mix: &mix, hosts: &host_mixes, over_tls: asks.over_tls };
    let Asks { asked, price, tls, .. } = *asks;
    let question =
        Question { asked, price, tls: tls.map(|run| (run, None)), ..Question::default() };
    let costs =
        Costs::estimate(&run, &estimate(&run), "zc-a.json", requests, &question, "zc-tls.json");
    let log = |(host, _): &(&str, String)| AdvisedLog {
        log: format!("{host}.log"),
        host: (logs.len() > 1).then(|| (*host).to_owned()),
        format: "common",
        compression: None,
        lines: 1,
        requests: 1,
        unreadable: 0,
        is_cut: false,
        duration_unit: None,
        has_doubtful_durations: false,
    };
    let logs = logs.iter().map(log).collect();
    Advice { logs, mix, host_mixes, costs: Some(costs.unwrap()) }
}

fn one(log: String) -> Vec<(&'static str, String)> {
    vec![("web1", log)]
}

/// The same in one line.
fn told_in_a_line(advice: &Advice) -> String {
    told(advice).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is told of the costs.
fn told(advice: &Advice) -> String {
    let told = text(advice, Layout::plain(100));
    told[told.find("\ncosts ").unwrap() + 1..].to_owned()
}

fn dollars() -> Price {
    Price { per_core_hour: 0.04, currency: "$".to_owned() }
}

#[test]
fn encryption_is_in_the_rows_and_the_kernel_s_are_behind_them() {
    // Every fourth request by HTTP/2.
    let log: String = a_log(20)
        .lines()
        .enumerate()
        .map(|(at, line)| match at % 4 {
            0 => format!("{}\n", line.replace("HTTP/1.1", "HTTP/2.0")),
            _ => format!("{line}\n"),
        })
        .collect();
    let tls = tls(true);
    let asks = Asks {
        tls: Some(&tls),
        over_tls: Some(0.75),
        asked: Some(Asked::Requests(2000.0)),
        ..Asks::default()
    };
    insta::assert_snapshot!("advise_tls", told(&advice(&one(log), &asks)));
}

#[test]
fn hosts_are_rows_with_their_sum_and_a_month_has_a_price() {
    let (tls, price) = (tls(false), dollars());
    let asks =
        Asks { tls: Some(&tls), over_tls: Some(0.5), price: Some(&price), ..Asks::default() };
    let logs = [("web1", a_log(5)), ("web2", a_log(40))];
    insta::assert_snapshot!("advise_hosts", told(&advice(&logs, &asks)));
}

#[test]
fn a_log_that_does_not_say_what_was_encrypted_is_told_how_to() {
    let tls = tls(true);
    let asks = Asks { tls: Some(&tls), ..Asks::default() };
    let unsaid = told_in_a_line(&advice(&one(a_log(20)), &asks));
    assert!(unsaid.contains("--tls all, --tls none or a share"), "{unsaid}");
    assert!(!unsaid.contains("TLS in user space") && !unsaid.contains("ktls"), "{unsaid}");
    // All of it, by the log: no browser speaks HTTP/2 without.
    let log = a_log(20).replace("HTTP/1.1", "HTTP/2.0");
    let all = told_in_a_line(&advice(&one(log), &asks));
    for says in [
        "100 % of the bytes, by the log, aes-128-gcm",
        "sendfile and mmap+write save nothing, as all bytes are encrypted in user space",
        "ktls-sendfile instead of read+send saves",
        "HTTP/2 or HTTP/3: 100 % of the requests and 100 % of the bytes",
    ] {
        assert!(all.contains(says), "{says}: {all}");
    }
    assert!(!all.contains("Without encryption"), "{all}");
    let none = Asks { over_tls: Some(0.0), ..asks };
    let none = told(&advice(&one(a_log(20)), &none));
    assert!(none.contains("No byte went over TLS."), "{none}");
}

#[test]
fn a_share_that_is_stated_is_in_the_sentence_without_a_run_too() {
    let asks = Asks { over_tls: Some(0.9), ..Asks::default() };
    let told = told_in_a_line(&advice(&one(a_log(20)), &asks));
    assert!(told.contains("But 90 % of the requests went over TLS"), "{told}");
    assert!(told.contains("--tls-run takes"), "{told}");
}

#[test]
fn a_run_of_another_machine_is_a_doubt() {
    let mut tls = tls(true);
    tls.header.host.kernel_release = "4.19.0".to_owned();
    let asks = Asks { tls: Some(&tls), over_tls: Some(0.5), ..Asks::default() };
    let told = told(&advice(&one(a_log(20)), &asks));
    assert!(told.contains("doubt         what encryption costs is from another machine"), "{told}");
}

#[test]
fn the_document_and_the_page_have_all_of_it() {
    let (tls, price) = (tls(true), dollars());
    let asks =
        Asks { tls: Some(&tls), over_tls: Some(0.5), price: Some(&price), ..Asks::default() };
    let advice = advice(&[("web1", a_log(5)), ("<web2>", a_log(40))], &asks);
    let document: serde_json::Value = serde_json::from_str(&json(&advice)).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&json_schema()).unwrap();
    zc_testkit::json_schema::Schema(schema).check(&document).unwrap();
    let costs = &document["costs"];
    assert_eq!(costs["tls"]["ways"].as_array().unwrap().len(), 3);
    assert_eq!(costs["tls_run"]["file"], "zc-tls.json");
    assert_eq!((&costs["hosts"][1]["host"], &costs["currency"]), (&"<web2>".into(), &"$".into()));
    assert_eq!(document["logs"][0]["host"], "web1");
    assert!(costs["paths"][1]["money_per_month"]["saved"]["value"].as_f64().unwrap() > 0.0);
    let page = crate::advice_page(&advice);
    for has in ["<h3>TLS</h3>", "<h3>Hosts</h3>", "&lt;web2&gt;", "A month of read+send costs $"] {
        assert!(page.contains(has), "{has}: {page}");
    }
    assert!(!page.contains("<web2>"));
}
