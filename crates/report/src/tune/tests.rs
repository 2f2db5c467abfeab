//! The report of a tuning, in all its forms.

use super::fixture::{TRUTHS, Truth, tune};
use super::*;
use zc_analysis::tune::{LineVerdict, Price};

fn report() -> TuneReport {
    tune(&TRUTHS, 30).report([Some(2000.0), None], None)
}

fn flat(report: &TuneReport) -> String {
    report.sentences.join(" ")
}

#[test]
fn the_text_begins_with_the_lines_to_change() {
    let text = text(&report(), Layout::plain(100));
    assert!(text.starts_with("Change two lines: tcp_nopush on -> off (3"), "{text}");
    insta::assert_snapshot!("tune", text);
}

#[test]
fn each_kind_of_verdict_is_a_sentence_or_a_reason() {
    let report = report();
    let text = text(&report, Layout::plain(100));
    let words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "less CPU per request for your mix",
        "sendfile_max_chunk 0 (default) -> 2m (p99 4.00 -> 2.80 ms, no CPU)",
        "Together they take 3",
        "At your busiest minute (2000/s) that is",
        "access_log /var/log/nginx/access.log -> off costs latency: ",
        "but p99 4.00 -> 8.00 ms",
        "do nothing.",
        "Worse than now: aio threads (2",
        "gzip_static on: no encoding is asked for",
        "aio threads: nginx: [emerg] \"aio threads\" is unsupported",
        "output_buffers 1 1k: of 400 responses 3 had another length",
        "location /api is answered by proxy_pass",
        "controls screening, 7 lines in 30 blocks: present against itself",
        "a known cost of ",
    ] {
        assert!(words.contains(part), "{part:?}: {text}");
    }
    assert!(text.contains("\n-\ttcp_nopush on;\n+\ttcp_nopush off;\n"), "{text}");
}

#[test]
fn cores_and_money_are_told_at_both_rates() {
    let price = Price { per_core_hour: 0.04, currency: "$".to_owned() };
    let tuning = tune(&TRUTHS, 30);
    let at = |rates| flat(&tuning.report(rates, Some(&price)));
    let text = at([Some(50_000.0), Some(100_000.0)]);
    assert!(text.contains("At 100000/s that is 1."), "{text}");
    assert!(text.contains(" of 12 cores, $"), "{text}");
    assert!(text.contains("; at your busiest minute (50000/s) 0."), "{text}");
    assert!(!text.contains("does not matter"), "{text}");
    let text = at([Some(20.0), None]);
    assert!(text.contains("thousandths of a core, $0.0"), "{text}");
    assert!(
        text.contains("That does not matter at this rate: it would be 1 % of a core from "),
        "{text}"
    );
    let text = at([None, None]);
    assert!(text.contains("It is 1 % of a core from "), "{text}");
    let euros = Price { currency: "EUR".to_owned(), ..price };
    let text = flat(&tuning.report([Some(20_000.0), None], Some(&euros)));
    assert!(text.contains(" EUR a month"), "{text}");
}

#[test]
fn nothing_to_change_and_nothing_known_are_told_apart() {
    let neutral: [Truth; 1] = [("sendfile off", "sendfile on", 1.0, 1.0)];
    let report = tune(&neutral, 30).report([None, None], None);
    let text = flat(&report);
    assert!(text.starts_with("Change nothing: of 1 line none was shown"), "{text}");
    assert!(text.contains("Not worth a change: sendfile off ("), "{text}");
    assert!(report.diff.is_empty());

    let text = flat(&tune(&neutral, 3).report([None, None], None));
    assert!(text.starts_with("No advice, as verdicts are withheld: 3 blocks were kept"), "{text}");
    let text = flat(&tune(&neutral, 0).report([None, None], None));
    assert!(text.starts_with("No advice: no block of the measurement counts."), "{text}");
    assert!(self::text(&tune(&[], 0).report([None, None], None), Layout::plain(80)).len() > 100);
}

#[test]
fn where_the_congestion_control_paces_p99_is_said_to_be_its_own() {
    let told = |congestion: &str, truths: &[Truth]| {
        let mut tuning = tune(truths, 30);
        tuning.set_congestion(congestion);
        flat(&tuning.report([None, None], None)).contains("p99 is the pacing's here")
    };
    assert!(told("bbr", &TRUTHS) && !told("cubic", &TRUTHS));
    assert!(!told("bbr", &[("a on", "a off", 0.8, 1.0)]), "p99 is 4 ms and in no verdict");
}

#[test]
fn lines_that_add_nothing_beside_others_are_told_and_left_out() {
    let line = |name, cpu| -> Truth { (name, "its default", cpu, 1.0) };
    let tuning = tune(&[line("a on", 0.7), line("b on", 0.8), line("c on", 0.9)], 30);
    let report = tuning.report([Some(2000.0), None], None);
    let words = flat(&report);
    assert!(words.starts_with("Change one line: a on (now: its default) (3"), "{words}");
    let told = "b on and c on help by themselves and were not shown to add anything beside this \
                one (cost without them by cost with all: ";
    assert!(words.contains(told), "{words}");
    assert!(!report.diff.contains("b on"), "{}", report.diff);
    let table = tables::steps(&report.answer).unwrap().terminal(Layout::plain(100));
    let rows: Vec<&str> = table.lines().filter(|row| row.contains('±')).collect();
    assert!(rows[0].starts_with("a on ") && rows[0].ends_with(" enough"), "{table}");
    assert!(rows[1].starts_with("and b on ") && rows[2].starts_with("and c on "), "{table}");
    let document: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
    assert_eq!(document["lines"][1]["verdict"], "not-needed");
    assert_eq!(document["together"]["enough"], 1);
    assert_eq!(html(&report).matches("and b on").count(), 1);
}

#[test]
fn what_was_only_screened_says_so() {
    let tuning = tune(&TRUTHS, 30);
    let mut phases = tuning.phases();
    (phases.confirming, phases.together) = (None, None);
    let question = zc_analysis::tune::Question {
        lines: &tuning.lines,
        busiest_requests_per_s: None,
        asked_requests_per_s: None,
        cores: 1,
        price: None,
    };
    let report = TuneReport::new(&phases, &question, About::default(), |_| String::new());
    assert!(flat(&report).contains("it was not measured a second time"), "{}", flat(&report));
}

#[test]
fn the_document_is_as_its_schema_names_it() {
    let report = report();
    let document: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&json_schema()).unwrap();
    for name in document.as_object().unwrap().keys() {
        assert!(schema["properties"].get(name).is_some(), "{name}");
    }
    assert_eq!(document["outcome"], "change");
    assert_eq!(document["lines"][1]["verdict"], "change");
    assert_eq!(document["lines"][1]["phase"], "confirming");
    assert_eq!(document["lines"][7]["verdict"], "not-tried");
    assert_eq!(document["change"][0], 1);
    assert!(document["saving"]["worth"]["busiest"]["cores"]["value"].as_f64().unwrap() > 0.0);
    assert!(document["saving"]["worth"]["asked"].is_null());
}

#[test]
fn the_page_has_the_answer_both_charts_and_the_difference() {
    let report = report();
    let page = html(&report);
    assert!(
        page.contains("<title>What to change in nginx 1.22.1 of /etc/nginx/nginx.conf</title>")
    );
    assert!(page.contains("tcp_nopush on -&gt; off"), "the answer");
    assert_eq!(page.matches("<figure").count(), 2);
    assert!(page.contains("class=\"s0 wh\""), "intervals are drawn");
    assert!(page.contains("-\ttcp_nopush on;\n+\ttcp_nopush off;"), "tabs stay");
    let main = &page[page.find("<main").unwrap()..page.find("</main>").unwrap()];
    insta::assert_snapshot!("tune_page", main.replace("><", ">\n<"));
}

#[test]
fn text_from_outside_is_neither_markup_nor_a_control() {
    let mut report = report();
    let evil = "<script>alert(1)</script>\u{1b}[31m\" onload=\"x";
    report.about.server = evil.to_owned();
    report.about.mix = evil.to_owned();
    report.about.said = vec![evil.to_owned()];
    report.diff = format!("+\t{evil}\n");
    for line in &mut report.answer.lines {
        line.name = evil.to_owned();
        line.present = evil.to_owned();
        if let LineVerdict::Refused { words } = &mut line.verdict {
            *words = evil.to_owned();
        }
    }
    let page = html(&report);
    assert!(!page.contains("<script>alert") && !page.contains("\" onload="));
    assert!(page.contains("&lt;script&gt;alert(1)"));
    for text in [page, text(&report, Layout::plain(80)), json(&report)] {
        assert!(!text.contains('\u{1b}'));
    }
}
