//! Simulations whose figures are in docs/performance.md, "Fleets": `cargo test --release -p
//! zc-analysis --lib tests_long -- --ignored --nocapture --test-threads 1`.

use std::collections::BTreeMap;
use std::time::Instant;

use super::simulated::Simulated;
use super::*;
use crate::parallel;
use crate::random::Random;

fn by_generation() -> Grouping {
    Grouping { by: vec!["generation".to_owned()], features: BTreeMap::new() }
}

fn share(part: usize, all: usize) -> f64 {
    part as f64 / all.max(1) as f64
}

#[test]
#[ignore = "takes a minute"]
fn coverage_of_intervals() {
    for (name, world) in [
        (
            "8 hosts a group, 4 partners",
            Simulated { hosts: 24, generations: 3, ..Simulated::default() },
        ),
        ("4 hosts a group", Simulated { hosts: 12, generations: 3, ..Simulated::default() }),
        ("50 hosts a group", Simulated { hosts: 100, generations: 2, ..Simulated::default() }),
        (
            "hosts alike",
            Simulated { hosts: 24, generations: 3, between_hosts: 0.0, ..Simulated::default() },
        ),
        (
            "far hosts as unlike",
            Simulated { hosts: 24, generations: 3, by_far_host: 0.02, ..Simulated::default() },
        ),
        (
            "errors known to 40 %",
            Simulated {
                hosts: 24,
                generations: 3,
                between_hosts: 0.005,
                between_sessions: 0.003,
                error_of_errors: 0.4,
                ..Simulated::default()
            },
        ),
        (
            "3 % odd",
            Simulated { hosts: 99, generations: 3, odd: Some((33, 1.12)), ..Simulated::default() },
        ),
        (
            "recorded blocks, 8 hosts a group",
            Simulated { hosts: 24, generations: 3, ..Simulated::from_recorded_blocks() },
        ),
        (
            "recorded blocks, 50 hosts a group",
            Simulated { hosts: 100, generations: 2, ..Simulated::from_recorded_blocks() },
        ),
        (
            "recorded blocks, 3 % odd",
            Simulated {
                hosts: 99,
                generations: 3,
                odd: Some((33, 1.12)),
                ..Simulated::from_recorded_blocks()
            },
        ),
    ] {
        let off = world.mean_errors();
        let simulate = |seed: usize| {
            let world = Simulated { seed: seed as u64, ..world.clone() };
            let found = fleet(&world.runs(), &by_generation()).unwrap();
            let mut random = Random(seed as u64);
            let mut held = [0; 5];
            for row in found.rows {
                let [sender, receiver, ratio_off] = off[row.label.as_str()];
                let end_off = if row.end == End::Receiver { receiver } else { sender };
                let truth = Simulated::truth(&row.label, row.group, row.end == End::Receiver)
                    * end_off.exp();
                let ratio_truth = Simulated::truth(&row.label, row.group, false)
                    / Simulated::truth(&found.reference, row.group, false)
                    * ratio_off.exp();
                let inside = |low: Option<f64>, high: Option<f64>, value: f64| {
                    usize::from(low.unwrap() <= value && value <= high.unwrap())
                };
                let mean = row.us_per_mb;
                held[0] += inside(mean.low, mean.high, truth);
                let spreads = [
                    world.between_hosts,
                    world.between_hosts / 2.0,
                    world.by_far_host,
                    world.between_sessions,
                ];
                let by: f64 = spreads.iter().map(|by| by * random.normal()).sum();
                let moment = world
                    .moment(&mut random)
                    .get(row.label.as_str())
                    .map_or(0.0, |of| of[usize::from(row.end == End::Receiver)] - end_off);
                let one_more = truth * (by + moment).exp();
                held[1] += inside(mean.one_more_low, mean.one_more_high, one_more);
                held[2] += 1;
                if let Some(ratio) = row.ratio {
                    held[4] += 1;
                    held[3] += inside(ratio.low, ratio.high, ratio_truth);
                }
            }
            held
        };
        let all = parallel::each(400, simulate);
        let sum = |at: usize| all.iter().map(|held| held[at]).sum::<usize>();
        println!(
            "{name}: means {:.3}, one more {:.3}, ratios {:.3}",
            share(sum(0), sum(2)),
            share(sum(1), sum(2)),
            share(sum(3), sum(4))
        );
    }
}

#[test]
#[ignore = "takes a minute"]
fn odd_hosts_and_pairs() {
    let many = |base| Simulated { hosts: 198, generations: 4, ..base };
    let levels = [1.0, 1.06, 1.08, 1.10, 1.15, 1.30].map(|by| (by, many(Simulated::default())));
    let recorded = Simulated::from_recorded_blocks;
    let recorded_levels = [1.0, 1.06, 1.10, 1.15, 1.20, 1.30].map(|by| (by, many(recorded())));
    let few = [24, 12].map(|hosts| (1.0, Simulated { hosts, ..recorded() }));
    for (by, base) in levels.into_iter().chain(recorded_levels).chain(few) {
        let name = if base.recorded.is_some() { "recorded blocks, " } else { "" };
        let simulate = |seed: usize| {
            let odd = (by > 1.0).then_some((33, by));
            let odd_pair = (by > 1.0).then_some((3, 4, by));
            let world = Simulated { seed: seed as u64, odd, odd_pair, ..base.clone() };
            let found = fleet(&world.runs(), &by_generation()).unwrap();
            let is_true = |odd: &&OddHost| {
                let host: usize = odd.host[1..].parse().unwrap();
                world.is_odd(host) && odd.end == End::Sender
            };
            let true_ones = found.odd_hosts.iter().filter(is_true).count();
            let true_pair =
                found.odd_pairs.iter().filter(|it| it.near == "n003" && it.far == "n004");
            let conditions = found.conditions.len();
            (true_ones, found.odd_hosts.len(), true_pair.count(), found.odd_pairs.len(), conditions)
        };
        let times = 150;
        let all = parallel::each(times, simulate);
        let sum = |of: fn(&(usize, usize, usize, usize, usize)) -> usize| all.iter().map(of).sum();
        let any =
            |of: fn(&&(usize, usize, usize, usize, usize)) -> bool| all.iter().filter(of).count();
        let (found, called): (usize, usize) = (sum(|it| it.0), sum(|it| it.1));
        let pairs = sum(|it| it.2);
        println!(
            "{name}{} hosts, odd by {by}: {:.3} of odd hosts found, {:.3} of those called odd are \
             not, in {:.3} of fleets a false one; pair found in {:.3}, in {:.3} of fleets a \
             false one; conditions in {:.3} of fleets",
            base.hosts,
            share(found, 6 * times),
            share(called - found, called),
            share(any(|it| it.1 > it.0), times),
            share(pairs, times),
            share(any(|it| it.3 > it.2), times),
            share(any(|it| it.4 > 0), times),
        );
    }
}

#[test]
#[ignore = "takes a minute"]
fn conditions_of_hosts() {
    let levels = [1.0, 1.01, 1.02, 1.03, 1.04].map(|by| (by, Simulated::default()));
    let recorded = [1.0, 1.02, 1.04, 1.06].map(|by| (by, Simulated::from_recorded_blocks()));
    for (by, base) in levels.into_iter().chain(recorded) {
        let name = if base.recorded.is_some() { "recorded blocks, " } else { "" };
        let simulate = |seed: usize| {
            let condition = (by > 1.0).then_some(by);
            let world = Simulated {
                seed: seed as u64,
                hosts: 96,
                generations: 2,
                odd: Some((32, 1.3)),
                condition,
                ..base.clone()
            };
            let found = fleet(&world.runs(), &by_generation()).unwrap();
            let own = found.conditions.iter().filter(|it| it.fact == "sysctl a").count();
            (own.min(1), found.conditions.iter().any(|it| it.fact != "sysctl a"))
        };
        let times = 200;
        let all = parallel::each(times, simulate);
        println!(
            "{name}a condition of {by}: found in {:.3}, another in {:.3} of fleets",
            share(all.iter().map(|it| it.0).sum(), times),
            share(all.iter().filter(|it| it.1).count(), times)
        );
    }
}

#[test]
#[ignore = "takes a minute"]
fn changes_of_kernels() {
    let worlds = [
        (20, 12, 1.0),
        (20, 12, 1.03),
        (20, 10, 1.02),
        (14, 10, 1.03),
        (14, 13, 1.05),
        (30, 20, 1.02),
        (60, 40, 1.015),
    ]
    .map(|it| (it, Simulated::default()));
    let recorded = [(20, 12, 1.0), (20, 12, 1.03), (20, 12, 1.05), (20, 12, 1.10), (60, 40, 1.03)];
    let recorded = recorded.map(|it| (it, Simulated::from_recorded_blocks()));
    for ((nights, at, by), base) in worlds.into_iter().chain(recorded) {
        let name = if base.recorded.is_some() { "recorded blocks, " } else { "" };
        let simulate = |seed: usize| {
            let world = Simulated {
                seed: seed as u64,
                hosts: 12,
                partners: 2,
                nights,
                between_nights: 0.006,
                new_kernel: (by > 1.0).then_some((at, by)),
                ..base.clone()
            };
            let grouping = Grouping::default();
            let found = trend(&world.runs(), &grouping, &[], Some(0.01)).unwrap();
            let mut counts = [0; 6];
            for line in &found.lines {
                let is_own = line.end == End::Sender && by > 1.0;
                let change = line.changes.iter().min_by_key(|it| it.night.abs_diff(at));
                match change {
                    Some(change) if is_own => {
                        counts[0] += 1;
                        counts[1] += usize::from(change.earliest <= at && at <= change.latest);
                        counts[2] += usize::from(change.low <= by && by <= change.high);
                        counts[3] += usize::from(
                            change.with.first().is_some_and(|it| it.starts_with("kernel")),
                        );
                        counts[5] += usize::from(line.changes.len() > 1);
                    }
                    Some(_) => counts[4] = 1,
                    None => {}
                }
            }
            counts
        };
        let times = 300;
        let all = parallel::each(times, simulate);
        let sum = |at: usize| all.iter().map(|counts| counts[at]).sum::<usize>();
        println!(
            "{name}{by} at night {at} of {nights}: found {:.3}, night in interval {:.3}, \
             size in interval {:.3}, with its kernel {:.3}, a second change {:.3}; \
             false changes in {:.3} of trends",
            share(sum(0), if name.is_empty() { 6 } else { 4 } * times),
            share(sum(1), sum(0)),
            share(sum(2), sum(0)),
            share(sum(3), sum(0)),
            share(sum(5), sum(0)),
            share(sum(4), times)
        );
    }
}

#[test]
#[ignore = "takes minutes"]
fn times_of_ten_thousand_runs() {
    for (hosts, partners, nights) in
        [(14, 2, 357), (50, 4, 50), (200, 10, 5), (500, 10, 2), (1000, 10, 1), (2000, 5, 1)]
    {
        let world = Simulated { hosts, partners, nights, generations: 4, ..Simulated::default() };
        let runs = world.runs();
        let began = Instant::now();
        let found = fleet(&runs, &by_generation()).unwrap();
        let took = began.elapsed();
        println!("{} runs of {hosts} hosts: {took:?}, {} rows", runs.len(), found.rows.len());
        let began = Instant::now();
        let found = trend(&runs, &by_generation(), &[], Some(0.02)).unwrap();
        println!("  trend of {nights} nights: {:?}, {} lines", began.elapsed(), found.lines.len());
    }
}

#[test]
#[ignore = "takes seconds"]
fn time_of_figures() {
    for blocks in [22, 60, 140] {
        let world = zc_testkit::synthetic::Synthetic { blocks, ..Default::default() };
        let run = zc_testkit::synthetic::two_machines(world.run());
        let began = Instant::now();
        for _ in 0..200 {
            std::hint::black_box(figures(String::new(), &run).unwrap());
        }
        println!("{blocks} blocks of 10 cells: {:?}", began.elapsed() / 200);
    }
}
