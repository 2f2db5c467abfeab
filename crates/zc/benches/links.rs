//! How fast is a path over the null link, where only the sender works, by what it is over veth, where the receiver keeps it back?
//! Top speeds without soakers, the links in turns.
//!
//! `cargo bench --bench links`, as root. Environment: `ZC_PAIRS` (default 11), `ZC_ACK_EVERY` (bytes, default the link's).

use std::sync::Arc;

use zc_tools::record::{
    Cell, FarEndOptions, FixedParams, LinkKind, RecvPath, SendPath, SoakerKind, Timing, Trial, TrialKind,
};
use zc_tools::trial::{self, Rig, RigSetup};

const WINDOW_NS: u64 = 200_000_000;

fn main() {
    if std::env::args().any(|arg| arg == "--test") {
        return; // `cargo test --benches` asks whether it starts
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let pairs = number("ZC_PAIRS").unwrap_or(11);
    let mut far_end = FarEndOptions::default();
    far_end.ack_every_bytes = number("ZC_ACK_EVERY").unwrap_or(far_end.ack_every_bytes);
    let (mut null, mut veth) = (rig(LinkKind::Null, far_end), rig(LinkKind::Veth, far_end));
    println!("| path | null Gbit/s | veth Gbit/s | null / veth, median | range |\n|---|---|---|---|---|");
    for &path in SendPath::ALL {
        let cell = Cell { label: path.to_string(), send: path, recv: RecvPath::Recv, control: false };
        let speeds: Option<Vec<(f64, f64)>> =
            (0..pairs).map(|_| Some((top_speed(&mut null, &cell)?, top_speed(&mut veth, &cell)?))).collect();
        let Some(speeds) = speeds else {
            println!("| {path} | cannot run here | | | |");
            continue;
        };
        let sorted = |value: &dyn Fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = speeds.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let median = |values: &[f64]| values[values.len() / 2];
        let ratios = sorted(&|pair| pair.0 / pair.1);
        println!(
            "| {path} | {:.1} | {:.1} | {:.2} | {:.2} ... {:.2} |",
            median(&sorted(&|pair| pair.0)) * 8e-9,
            median(&sorted(&|pair| pair.1)) * 8e-9,
            median(&ratios),
            ratios[0],
            ratios[ratios.len() - 1]
        );
    }
}

fn rig(link: LinkKind, far_end: FarEndOptions) -> Rig {
    let allowed = trial::allowed_cpus().expect("CPUs");
    let (sender_cpu, receiver_cpu) = trial::choose_cpus(&allowed);
    let up = trial::bring_up(&[link], sender_cpu, receiver_cpu, far_end).expect("the link");
    let (setup, _) = trial::open_files(&[], 1, 64 << 10, sender_cpu).expect("files");
    let fixed = FixedParams {
        link,
        rate_bytes_per_s: 0.0,
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
    let timing = Timing { warmup_ns: 50_000_000, window_ns: WINDOW_NS, idle_ns: 0, unsoaked_ns: WINDOW_NS };
    Rig::new(RigSetup { link: Arc::clone(&up.link), setup, fixed, timing }).expect("rig")
}

fn top_speed(rig: &mut Rig, cell: &Cell) -> Option<f64> {
    let trial: Trial = rig.run(cell, TrialKind::TopSpeed).ok()?;
    let bytes = trial.closed.received.bytes - trial.opened.received.bytes;
    let ns = trial.closed.soak.at_ns - trial.opened.soak.at_ns;
    Some(bytes as f64 * 1e9 / ns as f64)
}
