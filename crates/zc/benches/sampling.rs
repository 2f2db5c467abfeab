//! The cost of sampling a CPU: how much less work is done in sampled windows than in neighbouring
//! ones that are not. In user mode a sample has no stack; in `send` over loopback it has some
//! thirty frames to be unwound.
//!
//! `cargo bench --bench sampling`, as root. Environment: `ZC_PAIRS` (default 500), `ZC_HZ` (default
//! 2618).

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use common::{only_asked_to_start, setting};
use zc_kernel::perf::{Event, Record, Sampler};
use zc_kernel::sched;
use zc_stats::{hodges_lehmann, wilcoxon_interval};

/// The length of a window.
const WINDOW: Duration = Duration::from_millis(20);

fn main() {
    if only_asked_to_start() {
        return;
    }
    let (pairs, hz) = (setting("ZC_PAIRS", 500_usize), setting("ZC_HZ", 2618_u64));
    let cpu = sched::allowed_cpus().expect("CPUs")[0];
    sched::pin(&[cpu]).expect("pinned");
    let (event, mut sampler) =
        match (Sampler::open(Event::Cycles, cpu, hz), Sampler::open(Event::CpuClock, cpu, hz)) {
            (Ok(sampler), _) => ("cycles", sampler),
            (_, Ok(sampler)) => ("cpu-clock", sampler),
            (_, Err(error)) => return println!("this user cannot sample: {error}"),
        };
    println!("{event}, {hz} Hz, {pairs} pairs of windows of {WINDOW:?}\n");
    println!(
        "| at work in | less gets done | 95 % | samples | us a sample |\n|---|---|---|---|---|"
    );

    let mut state = 1_u64;
    measure("user mode", pairs, hz, &mut sampler, || {
        for _ in 0..1000 {
            state =
                std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let mut near =
        TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let (mut far, _) = listener.accept().expect("a connection");
    let mut bytes = vec![0; 16 << 10];
    measure("send and recv of 16k", pairs, hz, &mut sampler, || {
        near.write_all(&bytes).expect("sent");
        far.read_exact(&mut bytes).expect("received");
    });
}

fn measure(what: &str, pairs: usize, hz: u64, sampler: &mut Sampler, mut work: impl FnMut()) {
    let mut window = || {
        let (began, mut done) = (Instant::now(), 0_u64);
        while began.elapsed() < WINDOW {
            work();
            done += 1;
        }
        done as f64 / began.elapsed().as_secs_f64()
    };
    let mut samples = 0;
    let mut logs = Vec::with_capacity(pairs);
    for pair in 0..pairs {
        // Which comes first changes, so that what drifts does not count.
        let mut rates = [0.0; 2];
        for sampled in if pair % 2 == 0 { [true, false] } else { [false, true] } {
            if sampled {
                sampler.enable().expect("enabled");
            }
            rates[usize::from(sampled)] = window();
            if sampled {
                sampler.disable().expect("disabled");
            }
            sampler.drain(|record| samples += usize::from(matches!(record, Record::Sample(_))));
        }
        logs.push((rates[1] / rates[0]).ln());
    }
    let less = |log: f64| (1.0 - log.exp()) * 100.0;
    let (middle, interval) = (hodges_lehmann(&logs), wilcoxon_interval(&logs, 0.95));
    if let (Some(middle), Some(interval)) = (middle, interval) {
        let (low, high) = (less(interval.high), less(interval.low));
        let each_us = less(middle) / 100.0 / hz as f64 * 1e6;
        println!(
            "| {what} | {:.2} % | {low:.2} to {high:.2} % | {samples} | {each_us:.1} |",
            less(middle)
        );
    }
}
