//! The saved run of a server that does not exist.

use zc_run::{
    Factor, HostState, Latencies, ResponseFacts, Run, SendPath, ServerPlan, ServerState, Unsoaked,
};

use crate::synthetic::{Synthetic, TrueCell};

/// Bytes of a response.
const BODY_BYTES: u64 = 102_400;

/// A server in two states, `off` and `on`, on `on_by_off` times as much CPU in the latter. A request
/// costs 100 us in `off`, of which the server's processes are charged for a share.
pub fn server(on_by_off: f64) -> Run {
    let of = |name: &str, ns_per_kib: f64| {
        let mut cell = TrueCell::new(SendPath::Server, ns_per_kib, 300.0);
        cell.cell.label = name.to_owned();
        cell.cell.levels.state = name.parse().ok();
        cell
    };
    let (off, on) = (of("off", 1000.0), of("on", 1000.0 * on_by_off));
    let (control, positive) = (off.control(), off.positive_control(100.0));
    let cells = vec![off, on, control, positive];
    let mut run = Synthetic { cells, ..Synthetic::default() }.run();
    let state = |name: &str, port: u16| ServerState {
        state: name.parse::<HostState>().expect("a name of letters is one of a state"),
        url: format!("http://localhost:{port}/100k"),
        response: ResponseFacts { status: 200, body_bytes: BODY_BYTES, crc32: 7 },
    };
    let plan = &mut run.header.plan;
    plan.experiment = "server".to_owned();
    plan.factors = vec![Factor::State];
    plan.unsoaked = Unsoaked::None;
    plan.server = Some(ServerPlan {
        states: vec![state("off", 8001), state("on", 8002)],
        serve: Some("nginx".to_owned()),
        load_from: None,
        generator: Vec::new(),
        connections: 8,
        keepalive: true,
        requests_per_s: plan.fixed.rate_bytes_per_s / BODY_BYTES as f64,
    });
    let latencies = |cell: &str, p99_ns: u64| Latencies {
        cell: cell.to_owned(),
        up_to_ns: vec![150_000, p99_ns],
        requests: vec![9_000, 1_000],
    };
    if let Some(end) = run.end.as_mut() {
        end.latencies = vec![latencies("off", 2_000_000), latencies("on", 3_000_000)];
    }
    run
}

/// What is planned of a server that ran before zc did, in no state.
pub fn ran_already() -> ServerPlan {
    ServerPlan {
        states: Vec::new(),
        serve: None,
        load_from: None,
        generator: Vec::new(),
        connections: 1,
        keepalive: true,
        requests_per_s: 1.0,
    }
}
