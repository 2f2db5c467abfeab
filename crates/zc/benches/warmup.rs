//! The length of a path's start: the soaked cost of every path after warm-ups of different lengths,
//! divided by the cost after the longest, from windows in random order. The default warm-up is
//! chosen from this.
//!
//! `cargo bench --bench warmup`, on veth. Environment: `ZC_ROUNDS` (default 40).

mod common;

use std::time::Duration;

use common::{cell, median, only_asked_to_start, setting, sorted};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use zc_rig::trial;
use zc_run::{IdleWindow, LinkKind, SendPath, SoakReading, Timing, Trial, TrialKind};

/// Warm-ups in ms; the last one is the reference.
const WARMUPS: [u64; 6] = [6, 10, 15, 20, 30, 60];

const WINDOW_NS: u64 = 20_000_000;

fn main() {
    if only_asked_to_start() {
        return;
    }
    let rounds = setting("ZC_ROUNDS", 40_usize);
    let mut rig = common::rig(LinkKind::Veth, &[], Default::default(), timing(WARMUPS[0]));
    trial::touch_memory(rig.fixed().sender_cpu, Duration::MAX);
    rig.soak(true).expect("one machine");
    let mut random = rand_pcg::Pcg64::seed_from_u64(1);
    println!(
        "| path | {} |\n|---|{}",
        WARMUPS.map(|ms| format!("{ms} ms")).join(" | "),
        "---|".repeat(WARMUPS.len())
    );
    for path in SendPath::in_the_clear() {
        let cell = cell(path);
        if !matches!(rig.prove(&cell, Duration::from_secs(1)), Ok(Ok(_))) {
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
        let medians = costs.map(|values| median(&sorted(values)));
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

fn us_per_mb(before: &IdleWindow, trial: &Trial, after: &IdleWindow) -> f64 {
    let rates = |opened: &SoakReading, closed: &SoakReading| -> Vec<f64> {
        let ns = (closed.at_ns - opened.at_ns) as f64;
        closed
            .units
            .iter()
            .zip(&opened.units)
            .map(|(closed, opened)| (closed - opened) as f64 / ns)
            .collect()
    };
    let (first, second) = (
        rates(&before.opened.soak, &before.closed.soak),
        rates(&after.opened.soak, &after.closed.soak),
    );
    let busy = rates(&trial.opened.soak, &trial.closed.soak);
    let lost: f64 =
        (0..busy.len()).map(|cpu| 1.0 - busy[cpu] * 2.0 / (first[cpu] + second[cpu])).sum();
    let ns = (trial.closed.soak.at_ns - trial.opened.soak.at_ns) as f64;
    lost * ns / 1e3 / ((trial.closed.received.bytes - trial.opened.received.bytes) as f64 / 1e6)
}
