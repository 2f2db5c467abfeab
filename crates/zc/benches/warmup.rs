//! How long is a path's start? The soaked cost of every path after warm-ups of different lengths, by the cost after the
//! longest, from windows that follow one another in random order. The default warm-up is chosen from what this prints.
//!
//! `cargo bench --bench warmup`, on veth. Environment: `ZC_ROUNDS` (default 40).

use std::sync::Arc;

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use zc_tools::record::{
    Cell, FixedParams, IdleWindow, LinkKind, RecvPath, SendPath, SoakReading, SoakerKind, Timing, Trial, TrialKind,
};
use zc_tools::trial::{self, Rig, RigSetup};

/// In ms; the last one is what the others are compared with.
const WARMUPS: [u64; 6] = [6, 10, 15, 20, 30, 60];

const WINDOW_NS: u64 = 20_000_000;

fn main() {
    if std::env::args().any(|arg| arg == "--test") {
        return; // `cargo test --benches` asks whether it starts
    }
    let rounds: usize = std::env::var("ZC_ROUNDS").ok().and_then(|value| value.parse().ok()).unwrap_or(40);
    let mut rig = rig();
    rig.soak(true);
    let mut random = rand_pcg::Pcg64::seed_from_u64(1);
    println!("| path | {} |\n|---|{}", WARMUPS.map(|ms| format!("{ms} ms")).join(" | "), "---|".repeat(WARMUPS.len()));
    for &path in SendPath::ALL {
        let cell = Cell { label: path.to_string(), send: path, recv: RecvPath::Recv, control: false };
        if !matches!(rig.prove(&cell), Ok(Ok(_))) {
            println!("| {path} | cannot run here |");
            continue;
        }
        let mut costs: [Vec<f64>; WARMUPS.len()] = Default::default();
        for _ in 0..rounds {
            let mut order: Vec<usize> = (0..WARMUPS.len()).collect();
            order.shuffle(&mut random);
            let mut before = rig.idle().expect("an idle window");
            for index in order {
                rig.set_timing(timing(WARMUPS[index] * 1_000_000));
                let trial = rig.run(&cell, TrialKind::Soaked).expect("a trial");
                let after = rig.idle().expect("an idle window");
                costs[index].push(us_per_mb(&before, &trial, &after));
                before = after;
            }
        }
        let medians = costs.map(|mut values| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        });
        let last = medians[WARMUPS.len() - 1];
        println!(
            "| {path} | {} | {last:.0} us/MB |",
            medians[..WARMUPS.len() - 1]
                .iter()
                .map(|cost| format!("{:.3}", cost / last))
                .collect::<Vec<_>>()
                .join(" | ")
        );
    }
}

fn timing(warmup_ns: u64) -> Timing {
    Timing { warmup_ns, window_ns: WINDOW_NS, idle_ns: 10_000_000, unsoaked_ns: WINDOW_NS }
}

fn rig() -> Rig {
    let allowed = trial::allowed_cpus().expect("CPUs");
    let (sender_cpu, receiver_cpu) = trial::choose_cpus(&allowed);
    let up = trial::bring_up(&[LinkKind::Veth], sender_cpu, receiver_cpu, Default::default()).expect("a link");
    let (setup, _) = trial::open_files(&[], 1, 64 << 10, sender_cpu).expect("files");
    let fixed = FixedParams {
        link: up.link.facts().kind,
        rate_bytes_per_s: 800e6,
        rate_chosen: false,
        burst_ns: 1_000_000,
        buffer_bytes: 64 << 10,
        recv_buffer_bytes: 64 << 10,
        piece_bytes: 1 << 20,
        flows: 1,
        congestion: "cubic".to_owned(),
        sndbuf_bytes: None,
        rcvbuf_bytes: None,
        sender_cpu,
        receiver_cpu,
        soaked_cpus: allowed,
        soaker: SoakerKind::Alu,
    };
    Rig::new(RigSetup { link: Arc::clone(&up.link), setup, fixed, timing: timing(WARMUPS[0]) }).expect("a rig")
}

fn us_per_mb(before: &IdleWindow, trial: &Trial, after: &IdleWindow) -> f64 {
    let rates = |opened: &SoakReading, closed: &SoakReading| -> Vec<f64> {
        let ns = (closed.at_ns - opened.at_ns) as f64;
        closed.units.iter().zip(&opened.units).map(|(closed, opened)| (closed - opened) as f64 / ns).collect()
    };
    let (first, second) =
        (rates(&before.opened.soak, &before.closed.soak), rates(&after.opened.soak, &after.closed.soak));
    let busy = rates(&trial.opened.soak, &trial.closed.soak);
    let lost: f64 = (0..busy.len()).map(|cpu| 1.0 - busy[cpu] * 2.0 / (first[cpu] + second[cpu])).sum();
    let ns = (trial.closed.soak.at_ns - trial.opened.soak.at_ns) as f64;
    lost * ns / 1e3 / ((trial.closed.received.bytes - trial.opened.received.bytes) as f64 / 1e6)
}
