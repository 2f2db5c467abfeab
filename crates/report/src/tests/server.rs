//! The texts and the machine-readable forms of a server's run. Its page is in html/server/tests.rs.

use crate::run::terminal::table;
use crate::terminal::layout::Layout;
use crate::{compare, csv, markdown, openmetrics};
use zc_analysis::compare::Selection;
use zc_analysis::{Estimates, estimate};
use zc_run::{LinkKind, Placement, Run};
use zc_testkit::synthetic::Synthetic;

/// A server that needs a third less CPU in state `on` than in state `off`.
pub(crate) fn server() -> (Run, Estimates) {
    let run = zc_testkit::server::server(0.667);
    let estimates = estimate(&run);
    (run, estimates)
}

fn brief((run, estimates): &(Run, Estimates)) -> String {
    table(run, estimates, Layout { verbose: false, ..Layout::plain(120) })
}

#[test]
fn a_request_s_cost_and_latency_stand_beside_each_other_in_each_state() {
    insta::assert_snapshot!("brief_server", brief(&server()));
}

#[test]
fn of_a_server_that_ran_already_the_page_says_what_is_in_the_cost() {
    let (mut run, _) = server();
    run.header.plan.traffic.server_mut().unwrap().serve = None;
    run.header.plan.fixed.placement = Placement::Free;
    run.header.plan.fixed.link = LinkKind::Loopback;
    run.header.link.kind = LinkKind::Loopback;
    let estimates = estimate(&run);
    let mut made = (run, estimates);
    insta::assert_snapshot!("brief_server_that_ran", brief(&made));
    made.0.blocks.iter_mut().for_each(|block| {
        block.dropped = Some(zc_run::Dropped::Foreign { share: 0.5 });
    });
    made.1 = estimate(&made.0);
    let text = brief(&made);
    assert!(text.contains("that were dropped.\n"), "nobody knows its processes: {text}");
}

#[test]
fn where_a_load_generator_asked_it_is_named_and_no_latency_is_shown() {
    let (mut run, _) = server();
    let words = ["/usr/bin/oha", "-q", "2000", "{url}"].map(str::to_owned);
    run.header.plan.traffic.server_mut().unwrap().generator = words.into();
    run.end.as_mut().unwrap().latencies.clear();
    let estimates = estimate(&run);
    insta::assert_snapshot!("brief_server_with_a_generator", brief(&(run, estimates)));
}

/// A server in two configurations, each with responses of three lengths.
pub(crate) fn by_length() -> (Run, Estimates) {
    let world = Synthetic { noise: 0.01, block_drift: 0.0, ..Synthetic::default() };
    let configurations = [("off", 20_000.0, 300.0), ("on", 21_000.0, 120.0)];
    let run = zc_testkit::server::by_length(&configurations, &[4096, 65_536, 1 << 20], world);
    let estimates = estimate(&run);
    (run, estimates)
}

#[test]
fn each_length_is_compared_with_that_of_the_first_configuration() {
    let made = by_length();
    insta::assert_snapshot!("brief_server_by_length", brief(&made));
    let (run, estimates) = &made;
    let full = table(run, estimates, Layout { verbose: true, ..Layout::plain(120) });
    assert!(full.contains("states of the same length send the same bytes"), "{full}");
    let page = crate::html(&[(run, estimates)]);
    assert!(page.contains("saved against the first of its length"), "{page}");
}

#[test]
fn cells_of_other_lengths_or_rates_are_not_compared_between_runs() {
    let (run, _) = by_length();
    let text = compared(part(&run, Some("off-4096")), part(&run, Some("on-65536")));
    assert!(text.contains("bytes of a response: 4096, now 65536"), "{text}");
    assert!(text.contains("requests at ") && !text.contains("buffer"), "{text}");
    assert!(text.contains("Cannot be compared"), "{text}");
    let text = compared(part(&run, Some("off-4096")), part(&run, Some("on-4096")));
    assert!(!text.contains("Cannot be compared"), "{text}");
}

#[test]
fn a_saving_that_doubles_the_latency_says_so() {
    let mut made = server();
    assert!(!brief(&made).contains("But p99"));
    let end = made.0.end.as_mut().unwrap();
    end.latencies[1].up_to_ns[1] = 4_100_000;
    made.1 = estimate(&made.0);
    let text = brief(&made);
    assert!(text.contains("But p99 is 4.10 ms in on instead of 2.00 ms."), "{text}");
}

#[test]
fn a_state_that_did_not_reach_the_rate_is_not_compared() {
    let mut made = server();
    assert!(brief(&made).contains("State on needs 33 % less CPU"), "{}", brief(&made));
    made.1.cells[1].perturbation.saturated = true;
    let text = brief(&made);
    assert!(!text.contains("less CPU"), "{text}");
    assert!(text.contains("State on did not reach the rate"), "{text}");
}

#[test]
fn the_full_text_and_markdown_speak_of_requests() {
    let (run, estimates) = server();
    let full = table(&run, &estimates, Layout { verbose: true, ..Layout::plain(120) });
    insta::assert_snapshot!("full_server", full);
    for text in [full, markdown(&run, &estimates)] {
        assert!(text.contains("needs 33 % less CPU per request"), "{text}");
        assert!(text.contains("00000007"), "the CRC of a response: {text}");
        for other in ["us/MB", "sender", "receiver", "/proc/stat"] {
            assert!(!text.contains(other), "{other:?}: {text}");
        }
    }
}

#[test]
fn machine_readable_forms_have_requests_and_latencies() {
    let made = server();
    let (run, estimates) = (&made.0, &made.1);
    let on = &estimates.requests[1];
    let (us, saved) = (on.us_per_request.unwrap(), on.saved_us_per_request.unwrap());
    let off = estimates.requests[0].us_per_request.unwrap().value;
    // By the ratio, which is nearer to the truth than either cost.
    assert!((saved.value / off - 0.333).abs() < 0.04, "{saved:?} of {off}");

    let text = csv(run, estimates);
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let line = lines.find(|line| line[0] == "on").unwrap();
    let field = |name: &str| line[head.iter().position(|column| *column == name).unwrap()];
    assert_eq!(field("us_per_request"), us.value.to_string());
    assert_eq!(field("saved_us_per_request_low"), saved.interval.unwrap().low.to_string());
    assert_eq!(field("latency_p99_ns"), "3000000");
    assert_eq!(field("latency_requests"), "10000");

    let metrics = openmetrics(&[(run, estimates)]);
    let sample = |name: &str| {
        let own = |line: &&str| line.starts_with(name) && line.contains("cell=\"on\"");
        let line = metrics.lines().find(own).unwrap_or_else(|| panic!("{name}: {metrics}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert_eq!(sample("zc_request_cost_seconds_per_request{"), us.value / 1e6);
    assert_eq!(sample("zc_request_latency_p99_seconds{"), 0.003);
}

/// The texts of a comparison of two parts.
fn compared(old: Selection<'_>, new: Selection<'_>) -> String {
    let (compared, judgement) = zc_analysis::compare::compare(&old, &[new], None, None);
    let page = compare::html(&compared, judgement.as_ref());
    let texts = compare::table(&compared, judgement.as_ref(), 110);
    for other in ["us/MB", "sender", "receiver", "paths", "pacing"] {
        assert!(!texts.contains(other), "{other:?}: {texts}");
    }
    if !compared[0].cells.is_empty() {
        assert!(page.contains("CPU per request in each state, new by old"), "{page}");
    }
    texts
}

fn part<'a>(run: &'a Run, cell: Option<&str>) -> Selection<'a> {
    let name = cell.map_or("run.json".to_owned(), |cell| format!("run.json:{cell}"));
    Selection { name, run, cell: cell.map(str::to_owned), state: None }
}

#[test]
fn two_states_of_a_run_are_compared_by_request() {
    let (run, _) = server();
    let text = compared(part(&run, Some("off")), part(&run, Some("on")));
    insta::assert_snapshot!("compare_server_states", text);
}

#[test]
fn two_runs_of_a_server_are_compared_by_request() {
    let (old, _) = server();
    let mut new = zc_testkit::server::server(0.9);
    new.header.started_at = "2026-11-22T12:00:00Z".to_owned();
    new.header.plan.traffic.server_mut().unwrap().serve = Some("nginx -c other".to_owned());
    insta::assert_snapshot!("compare_server_runs", compared(part(&old, None), part(&new, None)));

    let server = new.header.plan.traffic.server_mut().unwrap();
    server.requests_per_s = 100.0;
    server.states.iter_mut().for_each(|state| state.response.body_bytes = 4096);
    let text = compared(part(&old, None), part(&new, None));
    let disqualifies = text.lines().find(|line| line.starts_with("disqualifies")).unwrap();
    assert!(disqualifies.contains("bytes of a response: 102400, now 4096"), "{text}");
    assert!(disqualifies.contains("requests at 7812/s, now 100/s"), "{text}");
    assert!(text.contains("Cannot be compared"), "{text}");
}

#[test]
fn runs_that_are_too_short_to_tell_how_much_runs_differ_say_nothing_of_it() {
    let (mut run, _) = server();
    let told = "standard deviation between runs of";
    let text = |run: &Run| {
        let mut later = run.clone();
        later.header.started_at = "2026-11-22T12:00:00Z".to_owned();
        let text = compared(part(run, None), part(&later, None));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(text(&run).contains(told));
    run.blocks.truncate(2);
    let text = text(&run);
    assert!(text.contains("two runs, independent samples") && !text.contains(told), "{text}");
}

#[test]
fn rough_figures_are_per_request_of_each_length() {
    let (mut run, _) = by_length();
    for block in &mut run.blocks {
        block.dropped = Some(zc_run::Dropped::Foreign { share: 0.9 });
    }
    let text = brief(&(run.clone(), estimate(&run)));
    let us = |state: &str| {
        let row = text.lines().find(|line| line.starts_with(state)).unwrap();
        let figure = row.split_whitespace().nth(1).unwrap().trim_start_matches('~');
        figure.parse::<f64>().unwrap()
    };
    // 20 us for the request, and 0.3 for each KiB, of which the processes have 0.8.
    assert!((us("off-4096") / 17.0 - 1.0).abs() < 0.1, "{text}");
    assert!((us("off-1048576") / 262.0 - 1.0).abs() < 0.1, "{text}");
}

#[test]
fn rough_figures_of_a_server_are_per_request() {
    let (mut run, _) = server();
    for block in &mut run.blocks {
        block.dropped = Some(zc_run::Dropped::Foreign { share: 0.9 });
    }
    let estimates = estimate(&run);
    let text = brief(&(run, estimates));
    assert!(text.contains("us/request") && text.contains("~65"), "{text}");
    assert!(!text.contains("us/MB") && !text.contains("sends"), "{text}");
}
