use std::collections::BTreeMap;

use super::simulated::Simulated;
use super::*;
use crate::random::Random;

fn by(names: &[&str]) -> Grouping {
    Grouping {
        by: names.iter().map(|name| (*name).to_owned()).collect(),
        features: BTreeMap::new(),
    }
}

#[test]
fn rows_hold_the_truth_of_every_cell_and_group() {
    let runs = Simulated { generations: 3, ..Simulated::default() }.runs();
    let found = fleet(&runs, &by(&["generation"])).unwrap();
    assert_eq!((found.runs, found.hosts, found.groups.len()), (96, 24, 3));
    assert_eq!(found.groups[1].values, ["g1"]);
    assert_eq!(found.groups.iter().map(|group| group.runs_receiving).sum::<usize>(), 96);
    assert_eq!(found.rows.len(), 6 * 2 * 3);
    for row in &found.rows {
        let truth = Simulated::truth(&row.label, row.group, row.end == End::Receiver);
        assert!((row.us_per_mb.value / truth - 1.0).abs() < 0.05, "{row:?} {truth}");
        assert_eq!((row.hosts, row.runs), (8, 32));
        let is_reference = row.label == found.reference;
        assert_eq!(row.ratio.is_some(), row.end == End::Sender && !is_reference);
    }
    let spread = &found.spreads[0];
    assert!((0.01..0.04).contains(&spread.cost.between_hosts), "{spread:?}");
    assert_eq!(spread.cost.within_runs, 0.01);
    let text = format!("{found:?}");
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
}

#[test]
fn one_run_and_one_host_alone_have_no_interval_and_no_odd_one() {
    let runs = Simulated { hosts: 2, partners: 1, ..Simulated::default() }.runs();
    for some in [&runs[..1], &runs[..2]] {
        let found = fleet(some, &by(&[])).unwrap();
        assert!(found.odd_hosts.is_empty() && found.odd_pairs.is_empty());
        assert!(found.rows.iter().all(|row| row.us_per_mb.low.is_none() == (some.len() == 1)));
    }
}

#[test]
fn a_run_whose_error_is_small_by_chance_does_not_outweigh_all_others() {
    let world = Simulated { between_hosts: 0.0, between_sessions: 0.0, ..Simulated::default() };
    let mut runs = world.runs();
    let mut random = Random(3);
    for run in &mut runs {
        run.blocks_kept = 5;
        for sender in run.cells.iter_mut().filter_map(|cell| cell.sender.as_mut()) {
            sender.error *= random.normal().abs();
        }
    }
    if let Some(sender) = &mut runs[0].cells[3].sender {
        (sender.ln, sender.error) = (sender.ln + 0.02, 0.0);
    }
    let found = fleet(&runs, &by(&[])).unwrap();
    let row =
        found.rows.iter().find(|row| row.label == "sendfile" && row.end == End::Sender).unwrap();
    let truth = Simulated::truth("sendfile", 0, false);
    assert!((row.us_per_mb.value / truth - 1.0).abs() < 0.005, "{row:?} {truth}");
}

#[test]
fn intervals_of_groups_and_of_one_more_host_hold_as_often_as_they_say() {
    let world = |seed| Simulated { seed, generations: 2, hosts: 16, ..Simulated::default() };
    let (mut held, mut more, mut all) = (0, 0, 0);
    for seed in 0..50 {
        let found = fleet(&world(seed).runs(), &by(&["generation"])).unwrap();
        let mut random = Random(seed);
        for row in found.rows {
            let truth = Simulated::truth(&row.label, row.group, row.end == End::Receiver);
            let mean = row.us_per_mb;
            let inside = |low: Option<f64>, high: Option<f64>, value: f64| {
                i32::from(low.unwrap() <= value && value <= high.unwrap())
            };
            held += inside(mean.low, mean.high, truth);
            let by: f64 = [0.02, 0.01, 0.005, 0.01].iter().map(|by| by * random.normal()).sum();
            more += inside(mean.one_more_low, mean.one_more_high, truth * by.exp());
            all += 1;
        }
    }
    let (held, more) = (f64::from(held) / f64::from(all), f64::from(more) / f64::from(all));
    println!("means {held:.4}, one more {more:.4}");
    assert!((0.92..0.98).contains(&held), "{held}");
    assert!((0.92..0.98).contains(&more), "{more}");
}

#[test]
fn where_a_machine_scatters_more_in_dearer_moments_means_are_not_those_of_the_cheap_ones() {
    let world = Simulated { hosts: 64, ..Simulated::from_recorded_blocks() };
    let truth = world.mean_errors();
    let (mut off, mut ratios, mut odd_hosts, mut odd_pairs) = (0.0, 0.0, 0, 0);
    for seed in 0..8 {
        let found =
            fleet(&Simulated { seed, ..world.clone() }.runs(), &by(&["generation"])).unwrap();
        odd_hosts += found.odd_hosts.len();
        odd_pairs += found.odd_pairs.len();
        for row in found.rows {
            let median_cost = |label: &str| Simulated::truth(label, 0, false);
            if let Some(ratio) = row.ratio {
                let of_medians = median_cost(&row.label) / median_cost(&found.reference);
                off += (ratio.value / of_medians).ln() - truth[row.label.as_str()][2];
                ratios += 1.0;
            }
        }
    }
    // Weighed by errors of their own, ratios would be 0.016 too high.
    assert!(f64::abs(off / ratios) < 0.004, "{}", off / ratios);
    // With the tails of a normal distribution 58 pairs and 3 hosts would be odd.
    assert!(odd_pairs == 0 && odd_hosts <= 1, "{odd_pairs} pairs, {odd_hosts} hosts");
}

#[test]
fn odd_hosts_are_found_and_no_others() {
    let (mut found_odd, mut all_odd, mut false_ones, mut found) = (0, 0, 0, 0);
    for seed in 0..6 {
        let world = Simulated {
            seed,
            hosts: 99,
            generations: 3,
            odd: Some((33, 1.12)),
            ..Simulated::default()
        };
        let fleet = fleet(&world.runs(), &by(&["generation"])).unwrap();
        assert_eq!(fleet.hosts_examined, 99);
        for odd in &fleet.odd_hosts {
            let host: usize = odd.host[1..].parse().unwrap();
            found += 1;
            if world.is_odd(host) && odd.end == End::Sender {
                found_odd += 1;
                assert!((1.02..1.25).contains(&odd.by), "{odd:?}");
                assert!(odd.low < odd.by && odd.by < odd.high && odd.most.is_some());
            } else {
                false_ones += 1;
            }
        }
        all_odd += (0..99).filter(|host| world.is_odd(*host)).count();
    }
    println!("{found_odd} of {all_odd} odd hosts found, {false_ones} of {found} false");
    assert!(found_odd * 10 >= all_odd * 8, "{found_odd} of {all_odd}");
    assert!(false_ones * 10 <= found * 3, "{false_ones} of {found}");
}

#[test]
fn where_no_host_is_odd_one_is_found_as_rarely_as_it_says() {
    let finds_odd = |seed| {
        let runs = Simulated { seed, hosts: 40, generations: 2, ..Simulated::default() }.runs();
        let found = fleet(&runs, &by(&["generation"])).unwrap();
        (!found.odd_hosts.is_empty(), !found.odd_pairs.is_empty())
    };
    let all: Vec<(bool, bool)> = (0..40).map(finds_odd).collect();
    let hosts = all.iter().filter(|each| each.0).count();
    let pairs = all.iter().filter(|each| each.1).count();
    println!("an odd host in {hosts}, an odd pair in {pairs} of {} fleets", all.len());
    assert!(hosts <= 6 && pairs <= 6, "{hosts} {pairs}");
}

#[test]
fn of_two_hosts_neither_is_the_odd_one_and_of_three_one_is() {
    for (hosts, examined) in [(2, 0), (3, 3)] {
        // Eight further hosts of another generation tell what hosts differ by.
        let world = Simulated { hosts: 30, odd: Some((100, 1.5)), ..Simulated::default() };
        let mut runs = world.runs();
        let features = |host: usize| {
            let generation = if host < hosts { "few" } else { "many" };
            BTreeMap::from([("generation".to_owned(), generation.to_owned())])
        };
        let grouping = Grouping {
            features: (0..30).map(|host| (Simulated::name(host), features(host))).collect(),
            ..by(&["generation"])
        };
        for cell in
            runs.iter_mut().filter(|run| run.near.host == "n001").flat_map(|it| &mut it.cells)
        {
            if let Some(sender) = &mut cell.sender {
                sender.ln += 0.4;
            }
        }
        let found = fleet(&runs, &grouping).unwrap();
        let odd = found.odd_hosts.iter().filter(|odd| odd.by > 1.2).count();
        assert_eq!((found.hosts_examined, odd), (30 - hosts + examined, examined / 3), "{hosts}");
    }
}

#[test]
fn an_odd_pair_is_found_in_its_direction() {
    let world =
        Simulated { hosts: 30, partners: 6, odd_pair: Some((3, 4, 1.15)), ..Simulated::default() };
    let found = fleet(&world.runs(), &by(&[])).unwrap();
    let [pair] = &found.odd_pairs[..] else { panic!("{:?}", found.odd_pairs) };
    assert_eq!((pair.near.as_str(), pair.far.as_str()), ("n003", "n004"));
    assert!((1.08..1.22).contains(&pair.by) && pair.low > 1.0, "{pair:?}");
    assert_eq!(found.pairs_examined, 180);
}

fn nightly() -> Simulated {
    Simulated { hosts: 12, partners: 2, nights: 20, between_nights: 0.006, ..Simulated::default() }
}

#[test]
fn a_new_kernel_that_costs_three_percent_is_found_with_its_name() {
    let mut found_lines = 0;
    for seed in 0..4 {
        let world = Simulated { seed, new_kernel: Some((12, 1.03)), ..nightly() };
        let events = [
            Event { day: "2026-01-12".to_owned(), what: "new kernel".to_owned() },
            Event { day: "2026-01-02".to_owned(), what: "something else".to_owned() },
        ];
        let found = trend(&world.runs(), &by(&[]), &events, Some(0.01)).unwrap();
        assert_eq!((found.nights.len(), found.lines.len()), (20, 12));
        assert_eq!(found.nights[0], "2026-01-01");
        for line in &found.lines {
            assert_eq!(line.points.len(), 20);
            if line.end == End::Receiver {
                assert!(line.changes.is_empty(), "{line:?}");
                continue;
            }
            let Some(change) = line.changes.first() else { continue };
            found_lines += 1;
            assert!(change.earliest <= 12 && 12 <= change.latest, "{change:?}");
            assert!(change.low > 1.0 && change.low <= 1.035 && 1.02 <= change.high, "{change:?}");
            assert_eq!(change.with, ["kernel: 6.1.0 -> 6.12.1 (12 of 12 hosts)"]);
            assert_eq!(change.events, ["2026-01-12: new kernel"]);
            assert!((line.last_by_before.unwrap() / change.by - 1.0).abs() < 1e-9);
        }
        let judgement = found.judgement.unwrap();
        let all = judgement.worse.len() + judgement.undecided.len() + judgement.not_worse;
        assert_eq!(all, 12);
        assert!(judgement.worse.iter().all(|name| name.ends_with(", sender")), "{judgement:?}");
    }
    println!("{found_lines} of 24 lines");
    assert!(found_lines >= 20, "{found_lines} of 24");
}

#[test]
fn where_no_kernel_changed_a_change_is_found_as_rarely_as_it_says() {
    let finds_change = |seed| {
        let found = trend(&Simulated { seed, ..nightly() }.runs(), &by(&[]), &[], None).unwrap();
        found.lines.iter().any(|line| !line.changes.is_empty())
    };
    let found = (0..40).filter(|seed| finds_change(*seed)).count();
    println!("a change in {found} of 40 trends");
    assert!(found <= 5, "{found}");
}

#[test]
fn a_night_without_the_cheapest_hosts_is_not_dearer() {
    let world = Simulated { between_hosts: 0.2, between_nights: 0.001, ..nightly() };
    let mut runs = world.runs();
    // Half of the hosts are missing in every night from the tenth on.
    runs.retain(|run| run.started_at.as_str() < "2026-01-11" || run.near.host.as_str() < "n006");
    let found = trend(&runs, &by(&[]), &[], Some(0.02)).unwrap();
    let changed = found.lines.iter().filter(|line| !line.changes.is_empty()).count();
    assert_eq!(changed, 0);
    assert_eq!(found.judgement.unwrap().worse, [""; 0]);
}

#[test]
fn a_trend_of_one_night_or_two_says_that_it_cannot_tell() {
    for nights in [1, 2] {
        let world = Simulated { nights, ..nightly() };
        let found = trend(&world.runs(), &by(&[]), &[], Some(0.02)).unwrap();
        let judgement = found.judgement.unwrap();
        assert_eq!((judgement.worse.len(), judgement.undecided.len()), (0, 12));
        assert!(found.lines.iter().all(|line| line.points.len() == nights));
        assert!(found.lines[0].points[0].low.is_some());
    }
    let mut runs = nightly().runs();
    runs.truncate(1);
    let found = trend(&runs, &by(&[]), &[], None).unwrap();
    assert_eq!(found.lines[0].points[0].low, None);
    runs[0].started_at = "yesterday".to_owned();
    assert!(matches!(trend(&runs, &by(&[]), &[], None), Err(NoFleet::NoRun { .. })));
}

#[test]
fn a_condition_is_found_with_the_facts_that_divide_hosts_alike() {
    let world = Simulated {
        hosts: 48,
        generations: 2,
        condition: Some(1.04),
        odd: Some((24, 1.3)),
        ..Simulated::default()
    };
    let found = fleet(&world.runs(), &by(&["generation"])).unwrap();
    let first = &found.conditions[0];
    assert_eq!(
        (first.fact.as_str(), first.same_as.as_slice()),
        ("sysctl a", &["sysctl b".to_owned()][..])
    );
    assert_eq!(first.end, End::Sender);
    let [most, other] = &first.values[..] else { panic!("{first:?}") };
    assert_eq!((most.value.as_str(), most.hosts, most.by), ("0", 32, None));
    assert_eq!((other.value.as_str(), other.hosts), ("1", 16));
    assert!(other.low.unwrap() > 1.0 && other.low.unwrap() < 1.04 && 1.04 < other.high.unwrap());
    assert!((0.2..0.8).contains(&first.explains), "{first:?}");
    // a and b, c, d: not what all share, what all differ in, nor what they are grouped by.
    assert_eq!(found.conditions_examined, 4);
}

#[test]
fn where_no_condition_is_one_is_found_as_rarely_as_it_says() {
    let finds_condition = |seed| {
        let odd = Some((33, 1.2));
        let runs = Simulated { seed, hosts: 40, odd, ..Simulated::default() }.runs();
        !fleet(&runs, &by(&[])).unwrap().conditions.is_empty()
    };
    let found = (0..40).filter(|seed| finds_condition(*seed)).count();
    println!("a condition in {found} of 40 fleets");
    assert!(found <= 6, "{found}");
}

#[test]
fn hosts_that_measure_alone_have_rows_and_odd_ones_and_no_pairs() {
    let world = Simulated { hosts: 30, odd: Some((30, 1.3)), ..Simulated::default() };
    let mut runs = world.runs();
    runs.iter_mut().for_each(|run| run.far = None);
    let found = fleet(&runs, &by(&[])).unwrap();
    assert_eq!((found.rows.len(), found.pairs_examined), (12, 0));
    assert!(found.spreads.iter().all(|spread| spread.cost.by_far_host == 0.0));
    assert_eq!((found.odd_hosts[0].host.as_str(), found.odd_hosts[0].end), ("n015", End::Sender));
    // The sides have no separate costs.
    for cell in runs.iter_mut().flat_map(|run| &mut run.cells) {
        (cell.both, cell.sender, cell.receiver) = (cell.sender, None, None);
    }
    let found = fleet(&runs, &by(&[])).unwrap();
    assert_eq!(found.rows.len(), 6);
    assert!(found.rows.iter().all(|row| row.end == End::Both));
    assert_eq!(found.rows.iter().filter(|row| row.ratio.is_some()).count(), 5);
    assert_eq!(found.odd_hosts[0].host, "n015");
    assert_eq!(trend(&runs, &by(&[]), &[], None).unwrap().lines.len(), 6);
}

#[test]
fn the_same_runs_in_another_order_give_the_same_fleet() {
    let world = Simulated { generations: 2, odd: Some((24, 1.2)), ..Simulated::default() };
    let mut runs = world.runs();
    let found = fleet(&runs, &by(&["generation"])).unwrap();
    runs.reverse();
    assert_eq!(found, fleet(&runs, &by(&["generation"])).unwrap());
}
