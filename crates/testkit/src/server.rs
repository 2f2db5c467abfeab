//! The saved run of a server that does not exist.

use zc_run::{
    Factor, HostState, Latencies, Plan, ResponseFacts, Run, SendPath, ServerMix, ServerPlan,
    ServerState, Traffic, Transfer, Unsoaked, units::size_text,
};

use crate::synthetic::{Synthetic, TrueCell};

/// Bytes of a response.
const BODY_BYTES: u64 = 102_400;

/// A server in two states, `off` and `on`, on `on_by_off` times as much CPU in the latter. A
/// request costs 100 us in `off`, of which the server's processes are charged for a share.
pub fn server(on_by_off: f64) -> Run {
    let (off, on) = (in_state("off", 1000.0), in_state("on", 1000.0 * on_by_off));
    let (control, positive) = (off.control(), off.positive_control(100.0));
    let cells = vec![off, on, control, positive];
    let mut run = Synthetic { cells, ..Synthetic::default() }.run();
    let plan = &mut run.header.plan;
    let requests_per_s = plan.fixed.rate_bytes_per_s / BODY_BYTES as f64;
    let states = vec![state("off", 8001, BODY_BYTES), state("on", 8002, BODY_BYTES)];
    make_it_a_server_s(plan, states, requests_per_s);
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

/// A configuration of a server: its name, the cost of a request in ns, and that of a KiB.
pub type TrueConfiguration<'n> = (&'n str, f64, f64);

/// A server in several configurations, each at its own port and with responses of all `lengths`; a
/// state is called `off-4096`.
pub fn by_length(
    configurations: &[TrueConfiguration<'_>],
    lengths: &[usize],
    world: Synthetic,
) -> Run {
    let (mut cells, mut states): (Vec<TrueCell>, Vec<ServerState>) = (Vec::new(), Vec::new());
    for &length in lengths {
        let from = cells.len();
        for (port, &(name, request_ns, ns_per_kib)) in (8001..).zip(configurations) {
            let name = format!("{name}-{length}");
            let mut own = TrueCell::with_size(SendPath::ReadSend, length, request_ns, ns_per_kib);
            own.cell.transfer = Transfer::Server;
            own.cell.label.clone_from(&name);
            own.cell.levels.state = name.parse().ok();
            states.push(state(&name, port, length as u64));
            cells.push(own);
        }
        // Cells that are compared have the same rate.
        let own = &mut cells[from..];
        let rate = own.iter().filter_map(|it| it.cell.levels.rate_bytes_per_s).reduce(f64::min);
        let by = own.first().map(|first| first.cell.label.clone());
        for cell in own {
            cell.cell.levels.rate_bytes_per_s = rate;
            cell.cell.by.clone_from(&by);
        }
    }
    if let Some(first) = cells.first_mut() {
        first.cell.by = None;
        let controls = [first.control(), first.positive_control(first.sender_ns_per_kib / 10.0)];
        cells.extend(controls);
    }
    let mut run = Synthetic { cells, unsoaked: false, ..world }.run();
    let first = run.header.plan.cells.first().map(|first| first.levels.clone());
    let rate = first.and_then(|it| Some(it.rate_bytes_per_s? / it.message_bytes? as f64));
    make_it_a_server_s(&mut run.header.plan, states, rate.unwrap_or(1.0));
    run
}

/// A state of a server: its name, the cost of a request by that in the first state, and its p99.
#[derive(Debug, Clone)]
pub struct TrueState {
    /// Its name.
    pub name: String,
    /// Cost of a request divided by that in the first state.
    pub ratio: f64,
    /// The p99 of its requests, in nanoseconds.
    pub p99_ns: u64,
}

/// A server that was asked for a mix in many states, of which the first is the reference of the
/// others. Under its second name, the A/A control, the first has the p99 `again_p99_ns`. A request
/// costs 50 us in it, half as much as in [`server`]: costs of all states may drift without filling
/// the CPU.
pub fn in_states(states: &[TrueState], again_p99_ns: u64, world: Synthetic) -> Run {
    let mut cells: Vec<TrueCell> =
        states.iter().map(|state| in_state(&state.name, 500.0 * state.ratio)).collect();
    let latencies = |cell: &str, p99_ns: u64| Latencies {
        cell: cell.to_owned(),
        up_to_ns: vec![p99_ns / 10, p99_ns],
        requests: vec![98_000, 2_000],
    };
    let mut timed: Vec<Latencies> =
        states.iter().map(|state| latencies(&state.name, state.p99_ns)).collect();
    if let Some(first) = cells.first() {
        let (control, positive) = (first.control(), first.positive_control(50.0));
        timed.push(latencies(&control.cell.label, again_p99_ns));
        cells.extend([control, positive]);
    }
    let mut run = Synthetic { cells, unsoaked: false, ..world }.run();
    let plan = &mut run.header.plan;
    let requests_per_s = plan.fixed.rate_bytes_per_s / BODY_BYTES as f64;
    let ports = (8001..).zip(states);
    let states = ports.map(|(port, it)| state(&it.name, port, BODY_BYTES)).collect();
    make_it_a_server_s(plan, states, requests_per_s);
    if let Some(server) = plan.traffic.server_mut() {
        server.mix = Some(ServerMix { requests: 400, body_bytes: 400 * BODY_BYTES });
    }
    if let Some(end) = run.end.as_mut() {
        end.latencies = timed;
    }
    run
}

/// The cell of a state in which a KiB costs so much.
fn in_state(name: &str, ns_per_kib: f64) -> TrueCell {
    let mut cell = TrueCell::with_transfer(Transfer::Server, ns_per_kib, 300.0);
    cell.cell.label = name.to_owned();
    cell.cell.levels.state = name.parse().ok();
    cell
}

fn state(name: &str, port: u16, body_bytes: u64) -> ServerState {
    ServerState {
        state: name.parse::<HostState>().expect("a name of letters is one of a state"),
        url: format!("http://localhost:{port}/{}", size_text(body_bytes)),
        response: ResponseFacts { status: 200, body_bytes, crc32: 7 },
    }
}

fn make_it_a_server_s(plan: &mut Plan, states: Vec<ServerState>, requests_per_s: f64) {
    plan.experiment = "server".to_owned();
    plan.factors = vec![Factor::State];
    plan.unsoaked = Unsoaked::None;
    plan.traffic = Traffic::Server(ServerPlan {
        states,
        serve: Some("nginx".to_owned()),
        found: false,
        load_from: None,
        generator: Vec::new(),
        connections: 8,
        keepalive: true,
        requests_per_connection: None,
        requests_per_s,
        mix: None,
    });
}

/// The plan of a server that ran before zc did, without states.
pub fn ran_already() -> ServerPlan {
    ServerPlan {
        states: Vec::new(),
        serve: None,
        found: false,
        load_from: None,
        generator: Vec::new(),
        connections: 1,
        keepalive: true,
        requests_per_connection: None,
        requests_per_s: 1.0,
        mix: None,
    }
}
