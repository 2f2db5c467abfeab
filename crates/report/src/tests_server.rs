//! The reports of a server's run.

use super::layout::Layout;
use super::table::table;
use zc_analysis::{Estimates, estimate};
use zc_run::{
    Factor, HostState, Latencies, ResponseFacts, Run, SendPath, ServerPlan, ServerState, Unsoaked,
};
use zc_testkit::synthetic::{Synthetic, TrueCell};

/// A server that needs a third less CPU in state `on` than in state `off`.
fn server() -> (Run, Estimates) {
    let of = |name: &str, ns_per_kib: f64| {
        let mut cell = TrueCell::new(SendPath::Server, ns_per_kib, 300.0);
        cell.cell.label = name.to_owned();
        cell.cell.levels.state = name.parse().ok();
        cell
    };
    let (off, on) = (of("off", 1000.0), of("on", 667.0));
    let (control, positive) = (off.control(), off.positive_control(100.0));
    let mut run =
        Synthetic { cells: vec![off, on, control, positive], ..Synthetic::default() }.run();
    let state = |name: &str, port: u16| ServerState {
        state: name.parse::<HostState>().unwrap(),
        url: format!("http://localhost:{port}/100k"),
        response: ResponseFacts { status: 200, body_bytes: 102_400, crc32: 7 },
    };
    let plan = &mut run.header.plan;
    plan.experiment = "server".to_owned();
    plan.factors = vec![Factor::State];
    plan.unsoaked = Unsoaked::None;
    plan.server = Some(ServerPlan {
        states: vec![state("off", 8001), state("on", 8002)],
        serve: "nginx".to_owned(),
        connections: 8,
        keepalive: true,
        requests_per_s: plan.fixed.rate_bytes_per_s / 102_400.0,
    });
    let latencies = |cell: &str, p99_ns: u64| Latencies {
        cell: cell.to_owned(),
        up_to_ns: vec![150_000, p99_ns],
        requests: vec![9_000, 1_000],
    };
    run.end.as_mut().unwrap().latencies =
        vec![latencies("off", 2_000_000), latencies("on", 3_000_000)];
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
