//! The top speed of each path over the null link, where only the sender works, divided by that over
//! veth, where the receiver limits it. Without soakers, the links in turn.
//!
//! `cargo bench --bench links`, as root. Environment: `ZC_PAIRS` (default 11), `ZC_ACK_EVERY`
//! (bytes, default the link's).

mod common;

use std::time::Duration;

use common::{cell, median, only_asked_to_start, setting, sorted};
use zc_rig::trial;
use zc_run::{AckOptions, LinkKind, SendPath, Timing};

const WINDOW_NS: u64 = 200_000_000;

fn main() {
    if only_asked_to_start() {
        return;
    }
    let pairs = setting("ZC_PAIRS", 11_u64);
    let mut far_end = AckOptions::default();
    far_end.ack_every_bytes = setting("ZC_ACK_EVERY", far_end.ack_every_bytes);
    let timing =
        Timing { warmup_ns: 50_000_000, window_ns: WINDOW_NS, idle_ns: 0, unsoaked_ns: WINDOW_NS };
    let rig = |link| common::rig(link, &[], far_end, timing);
    let (mut null, mut veth) = (rig(LinkKind::Null), rig(LinkKind::Veth));
    trial::touch_memory(null.fixed().sender_cpu, Duration::MAX);
    println!(
        "| path | null Gbit/s | veth Gbit/s | null / veth, median | range |\n|---|---|---|---|---|"
    );
    for path in SendPath::in_the_clear() {
        let cell = cell(path);
        let speeds: Option<Vec<(f64, f64)>> = (0..pairs)
            .map(|_| Some((null.top_speed(&cell).ok()?, veth.top_speed(&cell).ok()?)))
            .collect();
        let Some(speeds) = speeds else {
            println!("| {path} | cannot run here | | | |");
            continue;
        };
        let ratios = sorted(speeds.iter().map(|pair| pair.0 / pair.1));
        println!(
            "| {path} | {:.1} | {:.1} | {:.2} | {:.2} ... {:.2} |",
            median(&sorted(speeds.iter().map(|pair| pair.0))) * 8e-9,
            median(&sorted(speeds.iter().map(|pair| pair.1))) * 8e-9,
            median(&ratios),
            ratios[0],
            ratios[ratios.len() - 1]
        );
    }
}
