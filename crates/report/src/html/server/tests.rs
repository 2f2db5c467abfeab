//! The parts of a server's page.

use crate::html::html;
use crate::html::skeleton::{SCRIPT, STYLE};
use crate::tests::server::server;
use zc_analysis::{Estimates, estimate};
use zc_run::Run;

/// The page between two texts that it has.
fn between(page: &str, from: &str, to: &str) -> String {
    let from = page.find(from).unwrap_or_else(|| panic!("{from:?} is not in {page}"));
    let rest = &page[from..];
    rest[..rest.find(to).unwrap_or_else(|| panic!("{to:?} is not in {rest}"))].to_owned()
}

fn page(run: &Run, estimates: &Estimates) -> String {
    html(&[(run, estimates)]).replace(SCRIPT, "").replace(STYLE, "")
}

#[test]
fn the_page_of_a_server_has_costs_accounts_and_latencies_per_request() {
    let (run, estimates) = server();
    let page = page(&run, &estimates);
    assert!(page.contains("<title>What a request costs on synthetic</title>"));
    let charts = between(&page, "<h2 id=\"run-1-h\">", "<h3>Figures</h3>");
    insta::assert_snapshot!("server_charts", charts.replace("><", ">\n<"));
    let figures = between(&page, "<h3>Figures</h3>", "<h3>Machine and plan</h3>");
    insta::assert_snapshot!("server_figures", figures.replace("><", ">\n<"));
}

#[test]
fn what_is_charged_to_no_process_is_the_rest_of_the_cost() {
    let (run, estimates) = server();
    let page = page(&run, &estimates);
    let off = &estimates.requests[0];
    let (all, processes) = (off.us_per_request.unwrap().value, off.process_us_per_request.unwrap());
    assert!(processes > 0.0 && processes < all, "{off:?}");
    let name = format!("in no account of the server: {:.1} us/request", all - processes);
    assert!(page.contains(&name), "{name}");
}

#[test]
fn of_a_server_that_ran_already_the_page_says_what_is_in_the_cost_and_has_no_accounts() {
    let (mut run, estimates) = server();
    let with_accounts = page(&run, &estimates);
    let of_ours =
        ["zc gives it a CPU of its own", "is charged to", "rest</th>", "the server&#39;s side"];
    assert!(of_ours.iter().all(|text| with_accounts.contains(text)));
    run.header.plan.traffic.server_mut().unwrap().serve = None;
    let estimates = estimate(&run);
    let page = page(&run, &estimates);
    assert!(page.contains("Of a server that ran already it is what all CPUs lost"));
    assert!(page.contains("CPU of the server and the softirqs of both sides, without the load"));
    for text in of_ours {
        assert!(!page.contains(text), "{text}");
    }
}

#[test]
fn a_state_that_missed_the_rate_has_no_cores_and_a_withheld_verdict_no_saving() {
    let (run, mut estimates) = server();
    let cores = |estimates: &Estimates| {
        between(&page(&run, estimates), "<div class=\"cores\">", "</div>\n</div>")
    };
    assert_eq!(cores(&estimates).matches("data-r=").count(), 3, "two costs and a saving");
    estimates.cells[1].perturbation.saturated = true;
    let text = cores(&estimates);
    assert_eq!(text.matches("data-r=").count(), 1, "{text}");
    assert!(text.contains("did not reach the rate"), "{text}");

    let mut estimates = estimate(&run);
    estimates.verdict.withheld = vec![zc_analysis::Withheld::NoControl];
    let text = cores(&estimates);
    assert_eq!(text.matches("data-r=").count(), 2, "{text}");
    assert!(text.contains("is withheld, as the verdict is"), "{text}");
}

#[test]
fn a_run_without_a_kept_block_has_a_page_without_cores() {
    let (mut run, _) = server();
    run.blocks.clear();
    let page = page(&run, &estimate(&run));
    assert!(!page.contains("class=\"cores\""), "{page}");
    assert!(page.contains("Verdict withheld"), "{page}");
}
