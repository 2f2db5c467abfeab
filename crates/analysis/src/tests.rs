//! Estimates of synthetic runs with known costs, and of runs that are damaged in every way that
//! still parses.

use super::*;
use zc_run::{
    Dropped, EndReason, Factor, IdleWindow, LinkKind, NfsClient, NfsPlan, NfsServer, Placement,
    Reading, Run, SendPath, Severity, Slot, Traffic, Trial, TrialKind, Warning,
};
use zc_testkit::synthetic::{Synthetic, TrueCell, null_link, size_sweep};

fn cell<'a>(estimates: &'a Estimates, label: &str) -> &'a CellEstimate {
    estimates.cells.iter().find(|cell| cell.label == label).unwrap()
}

fn comparison(estimates: &Estimates, label: &str) -> Comparison {
    estimates.verdict.cells.iter().find(|cell| cell.label == label).unwrap().comparison
}

#[test]
fn the_truth_comes_back_within_its_intervals() {
    // No drift of the level of all costs: it would change the median costs.
    let world = Synthetic { blocks: 60, block_drift: 0.0, ..Synthetic::default() };
    let estimates = estimate(&world.run());
    assert_eq!(estimates.interval_level, 0.95);
    assert!(estimates.sides_apart);
    assert_eq!(estimates.cells.len(), world.cells.len());
    let reference = world.cells[0].sender_ns_per_kib + world.cells[0].receiver_ns_per_kib;
    for (truth, found) in world.cells.iter().zip(&estimates.cells) {
        assert_eq!(found.label, truth.cell.label);
        assert_eq!(found.blocks, 60);
        let both = truth.sender_ns_per_kib + truth.receiver_ns_per_kib;
        let cost = found.cost_ns_per_kib.both.unwrap();
        assert!(
            (cost.value / both - 1.0).abs() < 0.05,
            "{}: {} for {both}",
            found.label,
            cost.value
        );
        assert!(cost.interval.unwrap().contains(cost.value));
        let gbit = found.gbit_per_core.both.unwrap();
        assert!((gbit.value * cost.value - 8192.0).abs() < 1e-6);
        assert!(gbit.interval.unwrap().contains(gbit.value));
        if found.reference {
            assert_eq!(found.ratio, Sides::default());
            continue;
        }
        let ratio = found.ratio.both.unwrap();
        let interval = ratio.interval.unwrap();
        assert!(
            (ratio.value / (both / reference) - 1.0).abs() < 0.05,
            "{}: {ratio:?}",
            found.label
        );
        assert!(interval.low <= ratio.value && ratio.value <= interval.high.unwrap());
        assert!(interval.confidence >= estimates.interval_level);
        let sender = found.ratio.sender.unwrap();
        assert!((sender.value / (truth.sender_ns_per_kib / 500.0) - 1.0).abs() < 0.08);
        assert!(!found.at_noise_floor && found.blocks_not_positive == 0);
    }
    assert_eq!(estimates.control.as_ref().unwrap().fits, Some(true));
    assert!(estimates.verdict.stands(), "{:?}", estimates.verdict.withheld);
    assert_eq!(estimates.verdict.cheapest, ["sendfile"]);
    assert_eq!(estimates.verdict.cheapest_by.len(), 1);
    let Comparison::Cheaper { by } = comparison(&estimates, "sendfile") else {
        panic!("{:?}", comparison(&estimates, "sendfile"))
    };
    assert!((by - 0.3667).abs() < 0.03, "{by}");
    assert!(matches!(comparison(&estimates, "uring-send-zc"), Comparison::Dearer { .. }));
    assert!(
        matches!(comparison(&estimates, "read+write"), Comparison::Same { within } if within < 0.05)
    );
    assert_eq!(estimates.verdict.comparisons, 8);
}

#[test]
fn ratio_intervals_cover_the_truth_in_most_of_many_runs() {
    let (mut covered, mut all, mut withheld) = (0, 0, 0);
    for seed in 0..60 {
        let world = Synthetic { seed, blocks: 16, unsoaked: false, ..Synthetic::default() };
        let estimates = estimate(&world.run());
        withheld += usize::from(!estimates.verdict.stands());
        for (truth, found) in world.cells.iter().zip(&estimates.cells).skip(1) {
            let truth = (truth.sender_ns_per_kib + truth.receiver_ns_per_kib) / 900.0;
            covered += usize::from(found.ratio.both.unwrap().interval.unwrap().contains(truth));
            all += 1;
        }
    }
    // 540 intervals at 95 %; sharing a reference makes them depend on each other. These runs do not
    // wander, but each has to look for it, so that more than 95 % hold.
    let share = f64::from(u32::try_from(covered).unwrap()) / f64::from(all);
    assert!((0.93..0.99).contains(&share), "{share}");
    assert!(withheld <= 8, "{withheld} of 60 runs withheld");
}

#[test]
fn a_cell_that_is_the_cheapest_is_left_out_no_more_often_than_the_level_permits() {
    // Cells of the same cost: each is a cheapest one, and belongs in the list of every run.
    let cells: Vec<_> = Synthetic::default()
        .cells
        .into_iter()
        .map(|cell| TrueCell { sender_ns_per_kib: 500.0, receiver_ns_per_kib: 400.0, ..cell })
        .collect();
    let (mut left_out, mut all) = (0, 0);
    for seed in 0..60 {
        let world = Synthetic { seed, blocks: 16, cells: cells.clone(), ..Synthetic::default() };
        let verdict = estimate(&world.run()).verdict;
        all += verdict.cells.len() + 1;
        left_out += verdict.cells.len() + 1 - verdict.cheapest.len();
    }
    let share = left_out as f64 / all as f64;
    assert!(share < 0.05, "{left_out} of {all}, at a level of 95 %");
}

#[test]
fn counters_come_out_as_rates() {
    let estimates = estimate(&Synthetic { blocks: 20, ..Synthetic::default() }.run());
    let zerocopy = cell(&estimates, "msg-zerocopy");
    assert!((zerocopy.copied_share.unwrap() - 1.0).abs() < 1e-9);
    assert!(zerocopy.failed_zero_copy);
    let sendfile = cell(&estimates, "sendfile");
    assert_eq!((sendfile.copied_share, sendfile.failed_zero_copy), (None, false));
    let traffic = &sendfile.traffic;
    assert_eq!(traffic.elapsed_ns, 20 * 80_000_000);
    assert_eq!(traffic.bytes, 20 * 64_000_000);
    assert!((traffic.recv_calls_per_mb.unwrap() - 15.25).abs() < 0.1);
    assert!((traffic.send_calls_per_mb.unwrap() - 30.5).abs() < 0.1);
    assert!((traffic.packet_bytes.unwrap() - 30_066.0).abs() < 10.0);
    assert!((traffic.packets_per_s.unwrap() - 26_662.0).abs() < 10.0);
    assert!((traffic.rx_packets_per_s.unwrap() - 13_325.0).abs() < 10.0);
    assert!((traffic.rx_packet_bytes.unwrap() - 66.0).abs() < 1e-9);
    assert!((traffic.interrupts_per_s.unwrap() - 500.0).abs() < 1.0);
    assert!((traffic.switches_per_mb.unwrap() - 3.75).abs() < 1e-9);
    assert_eq!(traffic.retransmits, Some(0));
    assert_eq!(traffic.mapped_share, None);
    assert!((traffic.limited_by.unwrap().send_buffer - 0.1).abs() < 1e-9);
    assert!((sendfile.perturbation.soaked_by_unsoaked_control.unwrap() - 1.0).abs() < 1e-9);
    assert!((sendfile.perturbation.soaked_by_nominal.unwrap() - 1.0).abs() < 1e-9);
    assert!(!sendfile.perturbation.saturated);
    let top = sendfile.top_speed_bytes_per_s.unwrap();
    assert!((top.value / 2e9 - 1.0).abs() < 0.1);
    assert_eq!((top.blocks, top.interval), (5, None), "five values have no 95 % interval");
}

#[test]
fn each_cell_has_its_own_rate_and_its_own_baseline() {
    let paths = [(SendPath::ReadSend, 300.0, 400.0), (SendPath::Sendfile, 400.0, 100.0)];
    let world = Synthetic {
        cells: size_sweep(&paths, &[1024, 65_536]),
        factors: vec![Factor::Message, Factor::Send],
        blocks: 40,
        ..Synthetic::default()
    };
    let estimates = estimate(&world.run());
    let by: Vec<_> = estimates.cells.iter().map(|cell| cell.by.as_deref()).collect();
    assert_eq!(
        by,
        [None, Some("read+send 1024"), None, Some("read+send 65536"), Some("read+send 1024")]
    );
    assert!(
        estimates.cells.iter().all(|cell| !cell.perturbation.saturated),
        "rates differ, and each is reached"
    );
    let ratio = |label: &str| cell(&estimates, label).ratio.both.unwrap().value;
    assert!((ratio("sendfile 1024") / (500.0 / 700.0) - 1.0).abs() < 0.05);
    assert!((ratio("sendfile 65536") / (106.25 / 404.7) - 1.0).abs() < 0.05);
    assert_eq!(cell(&estimates, "read+send 65536").ratio, Sides::default());
    assert!(
        !cell(&estimates, "read+send 65536").reference
            && cell(&estimates, "read+send 1024").reference
    );
    assert_eq!(cell(&estimates, "sendfile 65536").levels.message_bytes, Some(65_536));

    let verdict = &estimates.verdict;
    assert!(verdict.stands(), "{:?}", verdict.withheld);
    assert_eq!((verdict.cells.len(), verdict.comparisons), (2, 2));
    assert!(verdict.cheapest.is_empty(), "there is one reference per size");
    let cheapest: Vec<_> =
        verdict.cheapest_by.iter().map(|group| (&group.by[..], &group.cells[..])).collect();
    let (one, other) = (["sendfile 1024".to_owned()], ["sendfile 65536".to_owned()]);
    assert_eq!(cheapest, [("read+send 1024", &one[..]), ("read+send 65536", &other[..])]);
}

#[test]
fn a_saturated_reference_withholds_the_verdicts() {
    let mut run = Synthetic { blocks: 10, ..Synthetic::default() }.run();
    run.header.plan.fixed.rate_bytes_per_s = 1e9;
    let estimates = estimate(&run);
    assert!(estimates.cells.iter().all(|cell| cell.perturbation.saturated));
    let [Withheld::ReferenceSaturated { reached }] = estimates.verdict.withheld[..] else {
        panic!("{:?}", estimates.verdict.withheld)
    };
    assert!((reached - 0.8).abs() < 1e-6, "{reached}");
}

#[test]
fn windows_in_which_the_host_took_the_cpus_do_not_make_a_cell_saturated() {
    let mut run = Synthetic { blocks: 40, ..Synthetic::default() }.run();
    let (mut bytes, mut all) = (0, 0);
    for (at, block) in run.blocks.iter_mut().enumerate() {
        for slot in &mut block.slots {
            let Slot::Trial(trial) = slot else { continue };
            let sent = trial.closed.received.bytes - trial.opened.received.bytes;
            all += sent;
            if at % 10 == 0 {
                trial.closed.received.bytes -= sent / 2;
            }
            bytes += trial.closed.received.bytes - trial.opened.received.bytes;
        }
    }
    assert!((bytes as f64) < 0.96 * all as f64);
    let estimates = estimate(&run);
    for cell in &estimates.cells {
        let reached = cell.perturbation.soaked_by_nominal.unwrap();
        assert!(reached > 0.99 && !cell.perturbation.saturated, "{}: {reached}", cell.label);
    }
}

#[test]
fn a_burst_more_or_less_in_a_window_saturates_no_cell_where_others_use_a_little() {
    let mut run = Synthetic { blocks: 20, foreign_share: 0.01, ..Synthetic::default() }.run();
    for (at, block) in run.blocks.iter_mut().enumerate() {
        for slot in &mut block.slots {
            let Slot::Trial(trial) = slot else { continue };
            let sent = trial.closed.received.bytes - trial.opened.received.bytes;
            match at % 2 {
                0 => trial.closed.received.bytes += sent / 12,
                _ => trial.closed.received.bytes -= sent / 12,
            }
        }
    }
    for cell in &estimate(&run).cells {
        let reached = cell.perturbation.soaked_by_possible.unwrap();
        assert!(reached > 0.99 && !cell.perturbation.saturated, "{}: {reached}", cell.label);
    }
}

#[test]
fn a_rate_that_other_programs_keep_from_the_traffic_saturates_no_cell() {
    let held_back = |foreign_share: f64| {
        let mut run = Synthetic { blocks: 20, foreign_share, ..Synthetic::default() }.run();
        // They have the CPU of the sender, and it gets as much less done.
        run.header.plan.fixed.rate_bytes_per_s /= 0.8;
        estimate(&run)
    };
    let beside = held_back(0.4);
    for cell in &beside.cells {
        let reached = cell.perturbation.soaked_by_nominal.unwrap();
        assert!((reached - 0.8).abs() < 0.01, "{}: {reached}", cell.label);
        assert!(cell.perturbation.is_held_back(), "{}: {:?}", cell.label, cell.perturbation);
    }
    assert!(beside.verdict.stands(), "{:?}", beside.verdict.withheld);
    let alone = held_back(0.0);
    assert!(alone.cells.iter().all(|cell| cell.perturbation.saturated));
    assert!(!alone.verdict.stands());
}

#[test]
fn the_other_accounting_methods_are_compared_with_the_soakers() {
    let estimates =
        estimate(&Synthetic { blocks: 40, block_drift: 0.0, ..Synthetic::default() }.run());
    for cell in &estimates.cells {
        let others = &cell.others;
        for method in [&others.getrusage_soaked, &others.getrusage_unsoaked_control] {
            assert!(
                (method.by_soaked.both.unwrap() - 0.8).abs() < 0.05,
                "{}: {method:?}",
                cell.label
            );
            assert!(method.by_soaked.sender.is_some() && method.cost_ns_per_kib.receiver.is_some());
        }
        let stat = &others.proc_stat;
        assert!((stat.by_soaked.both.unwrap() - 1.0).abs() < 0.1, "{}: {stat:?}", cell.label);
        assert_eq!(stat.cost_ns_per_kib.sender, None);
        assert_eq!(stat.bytes, 40 * 64_000_000);
    }
    let without = estimate(&Synthetic { unsoaked: false, ..Synthetic::default() }.run());
    assert_eq!(without.cells[0].perturbation.soaked_by_unsoaked_control, None);
    assert_eq!(without.cells[0].top_speed_bytes_per_s, None);
}

#[test]
fn without_a_receiver_there_are_no_receiver_figures() {
    let estimates = estimate(&null_link(Synthetic { blocks: 20, ..Synthetic::default() }.run()));
    assert!(estimates.sender_alone);
    for cell in &estimates.cells {
        assert_eq!(cell.cost_ns_per_kib.both, cell.cost_ns_per_kib.sender);
        assert!(cell.cost_ns_per_kib.sender.is_some());
        assert_eq!((cell.cost_ns_per_kib.receiver, cell.ratio.receiver), (None, None));
        let getrusage = cell.others.getrusage_soaked.cost_ns_per_kib;
        assert_eq!((getrusage.receiver, getrusage.both), (None, getrusage.sender));
        assert_eq!(cell.traffic.recv_calls_per_mb, None);
        assert!(cell.traffic.send_calls_per_mb.is_some());
    }
}

/// A run of NFS with a server that was there, towards another machine.
fn nfs_run(shares_machine: bool, client_at: Option<&str>) -> Run {
    let mut run = Synthetic { blocks: 20, ..Synthetic::default() }.run();
    run.header.plan.fixed.link = LinkKind::Remote;
    run.header.plan.fixed.placement = Placement::Free;
    run.header.plan.traffic = Traffic::Nfs(NfsPlan {
        server: NfsServer::External,
        server_version: "192.0.2.1:/srv/file".to_owned(),
        shares_machine,
        client: NfsClient::User,
        client_at: client_at.map(str::to_owned),
        all_clocks: false,
        depth: 4,
        file_bytes: 1 << 20,
        crc32: 7,
        mounts: Vec::new(),
    });
    for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
        if let (Slot::Trial(trial), Some(_)) = (slot, client_at) {
            // The client's account is on the other machine.
            (trial.opened.receiver.cpu_ns, trial.closed.receiver.cpu_ns) = (0, 0);
        }
    }
    run
}

#[test]
fn of_a_server_of_nfs_that_was_there_the_costs_are_of_the_end_that_is_here() {
    let far = Some("ssh far");
    for (shares_machine, client_at, client_alone, sender_alone) in [
        (false, None, true, false),
        (false, far, false, true),
        (true, None, false, false),
        (true, far, false, false),
    ] {
        let estimates = estimate(&nfs_run(shares_machine, client_at));
        let whose = (estimates.client_alone, estimates.sender_alone);
        assert_eq!(whose, (client_alone, sender_alone), "{shares_machine} {client_at:?}");
        assert_eq!(estimates.sides_apart, sender_alone, "one end has all, or both have it");
        for cell in &estimates.cells {
            let cost = &cell.cost_ns_per_kib;
            assert!(cost.both.is_some());
            assert_eq!(cost.receiver, None);
            assert_eq!(cost.sender, cost.both.filter(|_| sender_alone));
            // Neither end has a process that zc knows where the client is started by a command.
            let getrusage = cell.others.getrusage_soaked.cost_ns_per_kib;
            assert_eq!(getrusage.both.is_some(), client_at.is_none());
        }
    }
}

#[test]
fn calls_of_nfs_whose_clocks_are_all_known_cost_the_same_beside_other_programs() {
    for shares_machine in [false, true] {
        let costs = |foreign_share, all_clocks| -> Vec<f64> {
            let mut run = nfs_run(shares_machine, None);
            let nfs = run.header.plan.traffic.nfs().unwrap().clone();
            let world = Synthetic { blocks: 20, foreign_share, ..Synthetic::default() };
            run = Run { header: run.header, ..world.run() };
            run.header.plan.traffic = Traffic::Nfs(NfsPlan { all_clocks, ..nfs });
            let cells = estimate(&run).cells;
            cells.iter().map(|cell| cell.cost_ns_per_kib.both.map_or(0.0, |it| it.value)).collect()
        };
        let quiet = costs(0.0, false);
        for (busy, quiet) in std::iter::zip(costs(0.3, true), &quiet) {
            assert!((busy / quiet - 1.0).abs() < 0.04, "{shares_machine}: {busy} {quiet}");
        }
    }
}

#[test]
fn without_separate_sides_only_both_has_a_cost() {
    let estimates = estimate(&Synthetic { sides_apart: false, ..Synthetic::default() }.run());
    assert!(!estimates.sides_apart);
    for cell in &estimates.cells {
        assert_eq!((cell.cost_ns_per_kib.sender, cell.cost_ns_per_kib.receiver), (None, None));
        assert_eq!((cell.ratio.sender, cell.gbit_per_core.sender), (None, None));
        assert!(cell.cost_ns_per_kib.both.is_some());
        assert!(
            cell.others.getrusage_soaked.cost_ns_per_kib.sender.is_some(),
            "each thread has its own CPU time"
        );
    }
}

#[test]
fn an_error_of_the_control_takes_only_the_differences_that_it_could_explain() {
    let mut world = Synthetic::default();
    world.cells[1].sender_ns_per_kib *= 1.2;
    let estimates = estimate(&world.run());
    assert_eq!(estimates.control.as_ref().unwrap().fits, Some(false));
    let verdict = &estimates.verdict;
    assert!(verdict.stands(), "{:?}", verdict.withheld);
    assert!(verdict.control_error.is_some_and(|error| (0.1..0.2).contains(&error)), "{verdict:?}");
    assert!(matches!(comparison(&estimates, "sendfile"), Comparison::Cheaper { .. }));
    for explained in ["read+write", "uring-send", "uring-send-zc"] {
        assert_eq!(comparison(&estimates, explained), Comparison::Undecided, "{explained}");
    }
    assert_eq!(verdict.cheapest, ["sendfile", "splice", "uring-splice"]);
}

#[test]
fn a_cell_with_two_states_is_told_from_one_with_noise() {
    for seed in 0..30 {
        let estimates = estimate(&Synthetic { seed, blocks: 80, ..Synthetic::default() }.run());
        assert!(estimates.cells.iter().all(|cell| cell.two_states.is_none()), "seed {seed}");
    }
    let mut world = Synthetic { blocks: 80, ..Synthetic::default() };
    let mut run = world.run();
    world.cells[3].sender_ns_per_kib = 1000.0;
    let other = world.run();
    // Half of the blocks, in runs of four.
    for (block, other) in std::iter::zip(&mut run.blocks, other.blocks) {
        if block.index / 4 % 2 == 1 {
            *block = other;
        }
    }
    let estimates = estimate(&run);
    let states = cell(&estimates, "mmap+write").two_states.unwrap();
    assert!((states.low / (960.0 / 900.0) - 1.0).abs() < 0.02, "{states:?}");
    assert!((states.high / (1400.0 / 900.0) - 1.0).abs() < 0.02, "{states:?}");
    assert_eq!((states.low_blocks, states.high_blocks), (40, 40));
    let found = estimates.cells.iter().filter(|cell| cell.two_states.is_some()).count();
    assert_eq!(found, 1, "the others have one state");
}

/// The default world with a positive control that burns a tenth of the reference's cost, 90 ns per
/// KiB; `said` is how much of it the run says.
fn with_positive_control(seed: u64, said: f64) -> Estimates {
    let mut world = Synthetic { seed, unsoaked: false, ..Synthetic::default() };
    world.cells.push(world.cells[0].positive_control(90.0));
    let mut run = world.run();
    let control = run.header.plan.cells.last_mut().unwrap();
    control.burn_units_per_mb = control.burn_units_per_mb.map(|units| units * said);
    let label = control.label.clone();
    for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
        if let Slot::Trial(trial) = slot
            && trial.cell == label
        {
            trial.closed.burned_ns = trial.closed.burned_ns.map(|ns| (ns as f64 * said) as u64);
        }
    }
    estimate(&run)
}

#[test]
fn a_known_cost_that_was_added_is_found() {
    let mut found = 0;
    for seed in 0..60 {
        let estimates = with_positive_control(seed, 1.0);
        let positive = estimates.positive_control.unwrap();
        // Costs drift by some 20 % in a run; what is burned does not.
        assert!((positive.expected.unwrap() - 1.1).abs() < 0.05, "{positive:?}");
        assert!((positive.in_softirqs.unwrap() - 0.05).abs() < 0.03, "{positive:?}");
        assert!(estimates.verdict.stands());
        assert!(positive.fits.unwrap() || estimates.verdict.control_error.is_some());
        found += usize::from(positive.fits.unwrap());
        let of_cell = estimates.cells.last().unwrap().ratio.both.unwrap();
        assert!((positive.found.unwrap().value / of_cell.value - 1.0).abs() < 0.01);
        assert_eq!(estimates.verdict.comparisons, 8, "it is not one of the comparisons");
    }
    // 60 intervals at 95 %.
    assert!(found >= 53, "{found} of 60");
}

#[test]
fn a_known_cost_that_is_not_found_withholds_the_verdicts() {
    for said in [0.3, 2.5] {
        let estimates = with_positive_control(1, said);
        assert_eq!(estimates.positive_control.unwrap().fits, Some(false));
        let [Withheld::PositiveControlMissed { expected, found, .. }] =
            estimates.verdict.withheld[..]
        else {
            panic!("{:?}", estimates.verdict.withheld)
        };
        assert!((expected - (1.0 + 0.1 * said)).abs() < 0.05, "{expected}");
        assert!((found - 1.1).abs() < 0.05, "{found}");
    }
}

#[test]
fn a_known_cost_that_is_found_inexactly_takes_only_the_differences_that_this_could_explain() {
    for said in [0.75, 1.5] {
        let estimates = with_positive_control(1, said);
        let positive = estimates.positive_control.as_ref().unwrap();
        assert_eq!(positive.fits, Some(false));
        let verdict = &estimates.verdict;
        assert!(verdict.stands(), "{:?}", verdict.withheld);
        let (found, expected) = (positive.found.unwrap(), positive.expected.unwrap());
        let off = (found.value / expected).ln().abs().exp() - 1.0;
        let error = verdict.control_error.unwrap();
        // The far end of an interval.
        assert!((off..off + 0.06).contains(&error), "{error} for {off}");
        assert!(matches!(comparison(&estimates, "sendfile"), Comparison::Cheaper { .. }));
    }
}

#[test]
fn a_plan_without_control_and_a_run_without_its_reference_are_withheld() {
    let mut world = Synthetic::default();
    world.cells.remove(1);
    let estimates = estimate(&world.run());
    assert_eq!(estimates.control, None);
    assert_eq!(estimates.verdict.withheld, [Withheld::NoControl]);

    let mut run = Synthetic::default().run();
    run.header.plan.reference = "nobody".to_owned();
    let estimates = estimate(&run);
    assert_eq!(estimates.verdict.withheld, [Withheld::NoReference]);
    assert!(estimates.verdict.cheapest.is_empty());
    assert!(
        estimates
            .cells
            .iter()
            .all(|cell| cell.ratio.both.is_none() && cell.cost_ns_per_kib.both.is_some())
    );
}

#[test]
fn too_few_blocks_have_estimates_without_intervals() {
    let estimates = estimate(&Synthetic { blocks: 5, ..Synthetic::default() }.run());
    let ratio = cell(&estimates, "sendfile").ratio.both.unwrap();
    assert!(ratio.not_enough_blocks && ratio.interval.is_none() && !ratio.converged);
    assert!(cell(&estimates, "sendfile").cost_ns_per_kib.both.unwrap().interval.is_none());
    assert_eq!(estimates.verdict.withheld, [Withheld::TooFewBlocks { kept: 5, needed: 6 }]);
    assert_eq!(estimates.control.unwrap().fits, None);
    assert_eq!(estimates.verdict.cells.len(), 8);
    assert!(estimates.verdict.cells.iter().all(|cell| cell.comparison == Comparison::Undecided));
    assert!(estimates.verdict.cheapest.len() > 1, "five blocks do not separate them");
}

#[test]
fn dropped_blocks_are_counted_by_rule_and_not_used() {
    let mut run = Synthetic { blocks: 20, own_clocks: false, ..Synthetic::default() }.run();
    let kept = estimate(&{
        let mut kept = run.clone();
        kept.blocks.truncate(9);
        kept
    });
    let reasons = [
        Dropped::Steal { share: 0.1 },
        Dropped::IdleDrift { share: 0.1 },
        Dropped::Foreign { share: 0.1 },
        Dropped::TrialFailed { cell: "splice".to_owned(), reason: "the receiver died".to_owned() },
        Dropped::Unfinished,
    ];
    for (block, reason) in run.blocks[9..].iter_mut().zip(reasons.iter().cycle()) {
        block.dropped = Some(reason.clone());
    }
    let estimates = estimate(&run);
    let dropped =
        DropCounts { steal: 3, idle_drift: 2, foreign: 2, trial_failed: 2, unfinished: 2 };
    assert_eq!(estimates.blocks, BlockAccount { measured: 20, kept: 9, dropped });
    assert_eq!(estimates.cells, kept.cells);
    assert_eq!(estimates.verdict.withheld, [], "9 of 18 finished blocks are not more than half");
    run.blocks[8].dropped = Some(Dropped::Steal { share: 0.1 });
    let estimates = estimate(&run);
    assert_eq!(estimates.verdict.withheld, [Withheld::BusyMachine { dropped: 10, measured: 18 }]);
}

#[test]
fn blocks_withhold_no_verdict_of_costs_by_own_clocks_unless_the_run_is_strict() {
    let withheld = |strict| {
        let mut run = Synthetic { blocks: 20, strict, ..Synthetic::default() }.run();
        let failed =
            Dropped::TrialFailed { cell: "splice".to_owned(), reason: "it died".to_owned() };
        run.blocks[8..].iter_mut().for_each(|block| block.dropped = Some(failed.clone()));
        estimate(&run).verdict.withheld
    };
    assert_eq!(withheld(false), []);
    assert_eq!(withheld(true), [Withheld::BusyMachine { dropped: 12, measured: 20 }]);
}

#[test]
fn a_run_says_by_which_account_its_costs_are_and_why() {
    let account = |run: &Run| estimate(run).account;
    let because = |because| AccountKind::WallTime { because };
    let mut run = Synthetic { blocks: 3, ..Synthetic::default() }.run();
    assert_eq!(account(&run), AccountKind::OwnClocks);
    run.header.host.irq_time_accounting = Some(true);
    assert_eq!(account(&run), because(WhyWallTime::InterruptsApart));
    run.header.plan.traffic = Traffic::Server(zc_testkit::server::ran_already());
    assert_eq!(account(&run), because(WhyWallTime::UnknownTasks));
    let old = Synthetic { blocks: 3, own_clocks: false, ..Synthetic::default() }.run();
    assert_eq!(account(&old), because(WhyWallTime::NoClocks));
}

#[test]
fn a_run_that_kept_no_block_has_rough_figures_and_no_others() {
    let mut run = Synthetic { blocks: 8, ..Synthetic::default() }.run();
    assert_eq!(estimate(&run).rough, []);
    let kept = estimate(&run);
    for block in &mut run.blocks {
        block.dropped = Some(Dropped::Foreign { share: 0.9 });
    }
    let estimates = estimate(&run);
    let cells = kept.cells.iter().filter(|cell| !cell.control);
    assert_eq!(estimates.rough.len(), cells.clone().count());
    for (rough, cell) in estimates.rough.iter().zip(cells) {
        assert_eq!((&rough.label, rough.windows), (&cell.label, 8));
        assert_eq!(rough.threads_ns_per_kib, cell.others.getrusage_soaked.cost_ns_per_kib.both);
        assert_eq!(
            rough.top_speed_bytes_per_s,
            cell.top_speed_bytes_per_s.map(|figure| figure.value)
        );
        assert_eq!(rough.send_calls_per_mb, cell.traffic.send_calls_per_mb);
        assert_eq!(rough.packet_bytes, cell.traffic.packet_bytes);
        assert_eq!(rough.copied_share, cell.copied_share);
        assert_eq!(rough.reached, cell.perturbation.soaked_by_nominal);
    }
    for cell in &estimates.cells {
        assert_eq!(
            (cell.blocks, cell.cost_ns_per_kib, cell.top_speed_bytes_per_s),
            (0, Sides::default(), None)
        );
    }
    // A block that was cut short or failed gives no figures, not even rough ones.
    for block in &mut run.blocks {
        block.dropped = Some(Dropped::Unfinished);
    }
    assert_eq!(estimate(&run).rough, []);
}

#[test]
fn a_warning_of_severity_withhold_withholds_the_verdicts() {
    let mut run = Synthetic::default().run();
    run.header.warnings.push(Warning::new(
        "virtual-machine",
        Severity::Note,
        "this is a virtual machine",
    ));
    assert!(estimate(&run).verdict.stands());
    let end = run.end.as_mut().unwrap();
    end.warnings.push(Warning::new("busy-machine", Severity::Withhold, "something else runs"));
    let withheld = estimate(&run).verdict.withheld;
    assert_eq!(
        withheld,
        [Withheld::Warning { name: "busy-machine".to_owned(), severity: Severity::Withhold }]
    );
}

#[test]
fn the_effect_of_soakers_on_the_cost_is_a_figure_over_pairs_in_a_block() {
    let world = Synthetic { block_drift: 0.0, ..Synthetic::default() };
    let mut run = world.run();
    for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
        if let Slot::Trial(trial) = slot
            && trial.kind == TrialKind::UnsoakedControl
        {
            for (opened, closed) in [
                (&trial.opened.sender, &mut trial.closed.sender),
                (&trial.opened.receiver, &mut trial.closed.receiver),
            ] {
                closed.cpu_ns -= (closed.cpu_ns - opened.cpu_ns) / 2;
            }
        }
    }
    let figure = estimate(&run).cost_ratio_with_soakers.unwrap();
    let controls = run.blocks.iter().flat_map(|block| &block.slots).filter(
        |slot| matches!(slot, Slot::Trial(trial) if trial.kind == TrialKind::UnsoakedControl),
    );
    assert_eq!(figure.blocks, controls.count(), "each control has its twin");
    assert!((figure.value / 2.0 - 1.0).abs() < 0.05, "{figure:?}");
    assert!(figure.interval.unwrap().contains(figure.value), "{figure:?}");
}

/// The run, if a cell had cost so many times as much in its second half.
fn dearer_later(mut run: zc_run::Run, label: &str, factor: f64) -> zc_run::Run {
    let half = run.blocks.len() / 2;
    for slot in run.blocks[half..].iter_mut().flat_map(|block| &mut block.slots) {
        if let Slot::Trial(trial) = slot
            && trial.cell == label
        {
            let bytes = trial.closed.received.bytes - trial.opened.received.bytes;
            trial.closed.received.bytes =
                trial.opened.received.bytes + (bytes as f64 / factor) as u64;
        }
    }
    run
}

#[test]
fn what_paths_wander_is_in_the_intervals_of_all_of_them_and_not_in_that_of_a_control() {
    let world = Synthetic { blocks: 100, block_drift: 0.0, noise: 0.02, ..Synthetic::default() };
    let (still, moved) =
        (estimate(&world.run()), estimate(&dearer_later(world.run(), "sendfile", 1.3)));
    assert!(still.wander.ratios.unwrap() < 0.01, "{:?}", still.wander);
    assert!(moved.wander.ratios.unwrap() > 0.02, "{:?}", moved.wander);
    for (cell, before) in moved.cells.iter().zip(&still.cells).filter(|(cell, _)| !cell.reference) {
        let factors = [cell, before].map(|cell| cell.ratio.both.unwrap().wander_inflation);
        match cell.control {
            true => assert_eq!(factors, [1.0, 1.0], "{}", cell.label),
            false => assert!(factors[0] > 2.0 * factors[1], "{}: {factors:?}", cell.label),
        }
    }
    let width = |estimates: &Estimates| estimates.cells[0].cost_ns_per_kib.both.unwrap().half_width;
    assert!(width(&moved) > width(&still), "a cost has what costs wander in it");
}

#[test]
fn one_block_whose_harness_was_disturbed_has_the_same_costs() {
    let run = Synthetic { blocks: 40, harness_share: 0.05, ..Synthetic::default() }.run();
    let mut disturbed = run.clone();
    for slot in &mut disturbed.blocks[20].slots {
        if let Slot::Trial(trial) = slot
            && trial.kind == TrialKind::Paced
        {
            for (at, units) in trial.closed.soak.units.iter_mut().enumerate() {
                *units -= (*units - trial.opened.soak.units[at]) / 4;
            }
        }
    }
    assert_ne!(run, disturbed);
    for (before, after) in crate::cost_series(&run).iter().zip(crate::cost_series(&disturbed)) {
        for (before, after) in before.ns_per_kib.iter().zip(&after.ns_per_kib) {
            assert!((after / before - 1.0).abs() < 0.02, "{before} {after}");
        }
    }
}

#[test]
fn the_cost_on_an_idle_host_comes_back_from_its_idle_time() {
    let world = Synthetic {
        blocks: 120,
        block_drift: 0.0,
        harness_share: 0.1,
        foreign_share: 0.01,
        idle_clock: true,
        ..Synthetic::default()
    };
    let run = world.run();
    let estimates = estimate(&run);
    for (truth, found) in world.cells.iter().zip(&estimates.cells) {
        let both = truth.sender_ns_per_kib + truth.receiver_ns_per_kib;
        let idle_host = found.idle_host_ns_per_kib.unwrap();
        assert_eq!(idle_host.blocks, 30, "{}", found.label);
        assert!((idle_host.value / both - 1.0).abs() < 0.06, "{}: {idle_host:?}", found.label);
        let half = idle_host.half_width.unwrap() / idle_host.value;
        // Steps of 10 ms in windows of 100 ms scatter by up to 0.1 CPU, of 0.45 and more.
        assert!((0.01..0.1).contains(&half), "{}: {idle_host:?}", found.label);
    }

    let none = |run: &zc_run::Run| {
        estimate(run).cells.iter().all(|cell| cell.idle_host_ns_per_kib.is_none())
    };
    assert!(none(&Synthetic { idle_clock: false, ..world.clone() }.run()), "no clock");
    let mut slow = run;
    for slot in slow.blocks.iter_mut().flat_map(|block| &mut block.slots) {
        if let Slot::Trial(trial) = slot {
            trial.closed.received.bytes -=
                (trial.closed.received.bytes - trial.opened.received.bytes) / 10;
        }
    }
    assert!(none(&slow), "the rate is not held");
}

#[test]
fn intervals_of_the_cost_on_an_idle_host_are_honest_beside_programs_that_work_in_bursts() {
    let (mut held, mut all) = (0, 0);
    for seed in 0..12 {
        let world = Synthetic {
            blocks: 60,
            block_drift: 0.0,
            harness_share: 0.1,
            idle_clock: true,
            seed,
            ..Synthetic::default()
        };
        let mut run = world.run();
        let mut state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
            let Slot::Trial(Trial { opened, closed, .. }) = slot else { continue };
            // A burst of 30 ms, of one CPU, in every third window.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if let (Some(_), Some(idle_ns), 0) = (opened.idle_ns, &mut closed.idle_ns, state % 3) {
                *idle_ns -= 30_000_000;
            }
        }
        for (truth, found) in world.cells.iter().zip(&estimate(&run).cells) {
            let both = truth.sender_ns_per_kib + truth.receiver_ns_per_kib;
            let Some(interval) = found.idle_host_ns_per_kib.and_then(|cost| cost.interval) else {
                continue;
            };
            all += 1;
            held += usize::from(interval.contains(both));
        }
    }
    assert!(all >= 100 && held * 100 >= all * 90, "{held} of {all}");
}

#[test]
fn a_cost_at_the_noise_floor_is_flagged_and_bounded() {
    let mut world = Synthetic { idle_noise: 0.02, ..Synthetic::default() };
    let sendfile = world.cells.iter_mut().find(|cell| cell.cell.label == "sendfile").unwrap();
    (sendfile.sender_ns_per_kib, sendfile.receiver_ns_per_kib) = (1.0, 1.0);
    let estimates = estimate(&world.run());
    let found = cell(&estimates, "sendfile");
    assert!(found.at_noise_floor && found.blocks_not_positive > 5, "{found:?}");
    let ratio = found.ratio.both.unwrap();
    let interval = ratio.interval.unwrap();
    assert!(ratio.value >= 0.0 && interval.low >= 0.0 && interval.high.unwrap() < 0.1, "{ratio:?}");
    assert!(!ratio.converged);
    assert!(matches!(comparison(&estimates, "sendfile"), Comparison::Cheaper { by } if by > 0.9));
    let gbit = found.gbit_per_core.both.unwrap();
    assert_eq!(gbit.interval.unwrap().high, None, "the cost's interval reaches 0");
}

#[test]
fn a_single_block_below_zero_is_noise_and_not_the_noise_floor() {
    let mut run = Synthetic::default().run();
    // In one block each, two cells cost less than nothing: their ratio has no logarithm there.
    for (block, label) in [(3, "sendfile"), (7, "read+send"), (7, "read+send (A/A)")] {
        for slot in &mut run.blocks[block].slots {
            let Slot::Trial(trial) = slot else { continue };
            if trial.cell == label && trial.kind == TrialKind::Soaked {
                let more = trial.closed.soak.units[0] - trial.opened.soak.units[0];
                trial.closed.soak.units.iter_mut().for_each(|units| *units += more);
            }
        }
    }
    let estimates = estimate(&run);
    let found = cell(&estimates, "sendfile");
    assert_eq!(found.blocks_not_positive, 1);
    assert_eq!(found.ratio.both.unwrap().method, RatioMethod::RankedDifferences);
    assert!(!found.at_noise_floor, "{:?}", found.cost_ns_per_kib.both);
}

#[test]
fn a_reference_at_the_noise_floor_leaves_verdicts_undecided() {
    let mut world = Synthetic { idle_noise: 0.02, ..Synthetic::default() };
    for cell in &mut world.cells {
        (cell.sender_ns_per_kib, cell.receiver_ns_per_kib) = (0.0, -20.0);
    }
    let estimates = estimate(&world.run());
    assert!(estimates.verdict.withheld.contains(&Withheld::NoReference));
    assert_eq!(estimates.verdict.cells.len(), 8);
    assert!(estimates.verdict.cells.iter().all(|cell| cell.comparison == Comparison::Undecided));
    assert!(estimates.cells.iter().all(|cell| cell.at_noise_floor));
}

#[test]
fn the_loss_of_other_cpus_is_a_separate_figure() {
    let world = Synthetic {
        cpus: 4,
        other_cpus_ns_per_kib: 77.0,
        block_drift: 0.0,
        ..Synthetic::default()
    };
    let estimates = estimate(&world.run());
    assert!((cell(&estimates, "splice").other_cpus_ns_per_kib.unwrap().value - 77.0).abs() < 8.0);
    let stat = cell(&estimates, "read+send").others.proc_stat.by_soaked.both.unwrap();
    assert!((stat - 1.0).abs() < 0.15, "{stat}");
}

#[test]
fn a_run_without_blocks_has_estimates() {
    let mut run = Synthetic { blocks: 0, ..Synthetic::default() }.run();
    run.end = None;
    let estimates = estimate(&run);
    assert_eq!(estimates.blocks, BlockAccount::default());
    assert_eq!(estimates.cells.len(), 10);
    assert!(estimates.cells.iter().all(|cell| cell.cost_ns_per_kib.both.is_none()));
    assert_eq!(estimates.verdict.withheld, [Withheld::TooFewBlocks { kept: 0, needed: 6 }]);
    run.header.plan.cells.clear();
    run.header.plan.fixed.soaked_cpus.clear();
    assert!(estimate(&run).cells.is_empty());
}

#[test]
fn an_early_stop_widens_the_intervals() {
    let mut run = Synthetic { blocks: 25, ..Synthetic::default() }.run();
    let full = estimate(&run);
    let end = run.end.as_mut().unwrap();
    (end.reason, end.interim_analyses_at_blocks) = (EndReason::TargetReached, vec![15, 25]);
    let early = estimate(&run);
    assert!((early.interval_level - 0.9945).abs() < 1e-3, "{}", early.interval_level);
    let half =
        |estimates: &Estimates| cell(estimates, "splice").ratio.both.unwrap().half_width.unwrap();
    assert!(half(&early) > half(&full));
}

#[test]
fn estimates_of_the_same_run_are_the_same() {
    let run = Synthetic { idle_noise: 0.05, ..Synthetic::default() }.run();
    assert_eq!(estimate(&run), estimate(&run));
}

mod any_run {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    /// Faults of a reading.
    #[derive(Debug, Clone, Copy)]
    enum Harm {
        Empty,
        NoUnits,
        Huge,
        NoStat,
        NoLink,
        Backwards,
    }

    fn harm(reading: &mut Reading, harm: Harm) {
        match harm {
            Harm::Empty => *reading = Reading::default(),
            Harm::NoUnits => reading.soak.units.clear(),
            Harm::Huge => {
                reading.soak.units.fill(u64::MAX);
                reading.stat.cpus.iter_mut().for_each(|cpu| {
                    (cpu.user, cpu.system, cpu.steal, cpu.irq) =
                        (u64::MAX, u64::MAX, u64::MAX, u64::MAX);
                });
                (reading.received.bytes, reading.sent.enobufs) = (u64::MAX, u64::MAX);
                (reading.sender.cpu_ns, reading.process_cpu_ns) = (u64::MAX, u64::MAX);
                (reading.soak.at_ns, reading.stat.at_ns) = (u64::MAX, u64::MAX);
            }
            Harm::NoStat => reading.stat.cpus.clear(),
            Harm::NoLink => (reading.link, reading.tcp) = (None, None),
            Harm::Backwards => {
                reading.soak.at_ns /= 2;
                reading.stat.at_ns /= 2;
                reading.soak.units.iter_mut().for_each(|units| *units /= 2);
            }
        }
    }

    fn any_harm() -> impl Strategy<Value = Harm> {
        prop_oneof![
            Just(Harm::Empty),
            Just(Harm::NoUnits),
            Just(Harm::Huge),
            Just(Harm::NoStat),
            Just(Harm::NoLink),
            Just(Harm::Backwards),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]

        #[test]
        fn gives_estimates_without_a_panic_and_json_without_a_nan(
            seed in any::<u64>(),
            blocks in 0usize..12,
            cpus in 1usize..4,
            noise in 0.0..2.0f64,
            idle_noise in 0.0..0.6f64,
            foreign_share in 0.0..1.5f64,
            sides_apart in any::<bool>(),
            unsoaked in any::<bool>(),
            rate in prop_oneof![Just(0.0), Just(f64::MAX), 1.0..1e10f64],
            reference in prop_oneof![Just("read+send"), Just("sendfile"), Just("nobody")],
            harms in prop::collection::vec((any::<Index>(), any::<bool>(), any_harm()), 0..8),
            drops in prop::collection::vec(any::<Index>(), 0..4),
            cut in any::<bool>(),
            factors in prop_oneof![
                Just(vec![Factor::Send]),
                Just(vec![Factor::Message, Factor::Send]),
                Just(vec![Factor::Message]),
                Just(vec![Factor::Sockbuf, Factor::Message, Factor::Send]),
            ],
            sized in any::<bool>(),
        ) {
            let paths = [(SendPath::ReadSend, 300.0, 400.0), (SendPath::Sendfile, 900.0, 100.0)];
            let cells = if sized {
                size_sweep(&paths, &[256, 4096, 65_536])
            } else {
                Synthetic::default().cells
            };
            let world = Synthetic {
                seed,
                blocks,
                cpus,
                noise,
                idle_noise,
                foreign_share,
                sides_apart,
                unsoaked,
                factors,
                cells,
                ..Synthetic::default()
            };
            let mut run = world.run();
            run.header.plan.fixed.rate_bytes_per_s = rate;
            run.header.plan.reference = reference.to_owned();
            let slots: usize = run.blocks.iter().map(|block| block.slots.len()).sum();
            if slots > 0 {
                for (place, open, kind) in harms {
                    let mut all = run.blocks.iter_mut().flat_map(|block| &mut block.slots);
                    let slot = all.nth(place.index(slots)).unwrap();
                    let (Slot::Idle(IdleWindow { opened, closed, .. })
                    | Slot::Trial(Trial { opened, closed, .. })) = slot;
                    harm(if open { opened } else { closed }, kind);
                }
                for place in drops {
                    run.blocks[place.index(blocks)].dropped = Some(Dropped::Unfinished);
                }
            }
            if cut {
                run.end = None;
                if let Some(last) = run.blocks.last_mut() {
                    last.slots.truncate(last.slots.len() / 2);
                }
            }
            for block in &run.blocks {
                let _ = crate::rules::drop_reason(block, &run.header);
            }
            let _ = crate::progress::progress(&run.blocks, &run.header, 0.95);
            let estimates = estimate(&run);
            // serde_json writes NaN and infinities as null, which the schema allows for optional
            // numbers only. So every number that is not optional must be one.
            let json = serde_json::to_value(&estimates).unwrap();
            for cell in json["cells"].as_array().unwrap() {
                for side in ["sender", "receiver", "both"] {
                    for figure in ["cost_us_per_mb", "ratio", "gbit_per_core"] {
                        prop_assert!(cell[figure].is_object(), "{figure}");
                        let figure = &cell[figure][side];
                        prop_assert!(figure.is_null() || figure["value"].is_number(), "{figure}");
                        let interval = &figure["interval"];
                        prop_assert!(interval.is_null() || interval["low"].is_number(), "{figure}");
                    }
                }
            }
            for sizes in [&estimates.sizes.both, &estimates.sizes.sender].into_iter().flatten() {
                for line in sizes.series.iter().filter_map(|series| series.line) {
                    prop_assert!(line.largest_residual.share.is_finite());
                    for figure in [line.call_ns, line.ns_per_kib] {
                        prop_assert!(figure.value >= 0.0 && figure.value.is_finite());
                        prop_assert!(figure.interval.is_none_or(|interval| interval.low >= 0.0));
                    }
                }
                for crossover in &sizes.crossovers {
                    let ends = match crossover.outcome {
                        Outcome::From { size, low, high } => [low.unwrap_or(size), size, high],
                        Outcome::UpTo { size, low, high } => [low, size, high.unwrap_or(size)],
                        _ => continue,
                    };
                    prop_assert!(ends.windows(2).all(|pair| pair[0] <= pair[1]), "{ends:?}");
                    prop_assert!(ends[0] >= 256.0 && ends[2] <= 65_536.0, "{ends:?}");
                }
            }
            for row in estimates.accounts.iter().flat_map(|accounts| &accounts.rows) {
                if let Some(time) = row.time {
                    prop_assert!(time.cpu_s.value.is_finite() && time.cpu_percent.value >= 0.0);
                }
            }
            for cell in &estimates.cells {
                let ratios = [cell.ratio.both, cell.ratio.sender, cell.ratio.receiver];
                for figure in ratios.into_iter().flatten() {
                    prop_assert!(figure.value >= 0.0 && figure.value.is_finite());
                    if let Some(interval) = figure.interval {
                        prop_assert!(interval.low >= 0.0);
                        prop_assert!(interval.high.is_none_or(f64::is_finite));
                    }
                }
            }
        }
    }
}
