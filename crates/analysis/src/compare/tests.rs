//! Comparisons of synthetic runs with known costs.

use proptest::prelude::*;

use super::*;
use crate::{AccountKind, Sides, WhyWallTime, Withheld};
use zc_run::{DeviceFacts, LinkKind, Run, SendPath, Severity, Slot, SocketFacts, Warning};
use zc_testkit::synthetic::{Synthetic, TrueCell, two_machines};

/// A machine with four paths. `factor` multiplies the cost of sendfile, `all` the costs of all
/// paths.
pub(super) fn world(seed: u64, factor: f64, all: f64) -> Synthetic {
    let reference = TrueCell::new(SendPath::ReadSend, 500.0 * all, 400.0 * all);
    let sendfile = TrueCell::new(SendPath::Sendfile, 180.0 * all * factor, 390.0 * all * factor);
    let control = reference.control();
    Synthetic {
        cells: vec![
            reference,
            sendfile,
            TrueCell::new(SendPath::Splice, 210.0 * all, 390.0 * all),
            TrueCell::new(SendPath::MmapWrite, 560.0 * all, 400.0 * all),
            control,
        ],
        seed,
        blocks: 80,
        block_drift: 0.002,
        ..Synthetic::default()
    }
}

fn run(seed: u64, factor: f64, all: f64) -> Run {
    let mut run = world(seed, factor, all).run();
    run.header.started_at = format!("2026-11-21T12:00:{:02}Z", seed % 60);
    run
}

pub(super) fn part<'a>(name: &str, run: &'a Run) -> Selection<'a> {
    Selection { name: name.to_owned(), run, cell: None, state: None }
}

fn cell<'a>(name: &str, run: &'a Run, cell: &str) -> Selection<'a> {
    Selection { cell: Some(cell.to_owned()), ..part(name, run) }
}

fn pair(old: &Run, new: &Run) -> Compared {
    compare(&part("old", old), &[part("new", new)], None, None).0.remove(0)
}

fn change_of<'a>(compared: &'a Compared, label: &str) -> &'a CellChange {
    compared.cells.iter().find(|cell| cell.label == label).unwrap()
}

#[test]
fn runs_of_two_accounts_are_compared_by_the_one_that_both_permit() {
    let by_wall = Synthetic { own_clocks: false, ..world(1, 1.0, 1.0) }.run();
    let new = run(2, 1.0, 1.0);
    let because = |because| AccountKind::WallTime { because };
    let mixed = pair(&by_wall, &new);
    assert_eq!(mixed.account, because(WhyWallTime::ComparedRun));
    assert_eq!(pair(&new, &by_wall).account, mixed.account);
    assert_eq!((mixed.new.blocks_kept, &mixed.withheld[..]), (80, &[][..]));
    assert!(change_of(&mixed, "sendfile").new_cost_ns_per_kib.both.is_some());
    assert_eq!(pair(&by_wall, &by_wall).account, because(WhyWallTime::NoClocks));
    assert_eq!(pair(&run(1, 1.0, 1.0), &new).account, AccountKind::OwnClocks);

    // By own clocks other programs are in no cost, by wall time blocks beside them do not count.
    let busy = Synthetic { foreign_share: 0.2, ..world(3, 1.0, 1.0) }.run();
    let beside = pair(&new, &busy);
    assert!(beside.impossible.is_empty() && beside.new.blocks_kept == 80, "{beside:?}");
    let mixed = pair(&by_wall, &busy);
    assert_eq!(mixed.impossible, [Impossible::NoKeptBlocks { name: "new".to_owned() }]);
}

#[test]
fn a_cell_that_changed_is_found_among_those_that_did_not() {
    let compared = pair(&run(1, 1.0, 1.0), &run(2, 1.2, 1.0));
    assert_eq!(compared.basis, Basis::TwoRuns);
    assert_eq!(compared.reference.as_deref(), Some("read+send"));
    let sendfile = change_of(&compared, "sendfile");
    assert!(
        matches!(sendfile.verdict, ChangeVerdict::Worse { by } if (0.15..0.25).contains(&by)),
        "{sendfile:?}"
    );
    assert_eq!(sendfile.judged_by, Some(JudgedBy::Relative));
    for label in ["splice", "mmap+write"] {
        assert!(
            !matches!(
                change_of(&compared, label).verdict,
                ChangeVerdict::Worse { .. } | ChangeVerdict::Better { .. }
            ),
            "{label}"
        );
    }
    let reference = change_of(&compared, "read+send");
    assert!(reference.reference && reference.relative == Sides::default());
    assert_eq!(reference.judged_by, Some(JudgedBy::Cost));
    // The control is not compared as a cell of its own.
    assert_eq!(compared.cells.len(), 4);
    assert!(sendfile.cost.sender.is_some() && sendfile.relative.receiver.is_some());
}

#[test]
fn swapping_the_runs_inverts_the_ratio() {
    let (old, new) = (run(1, 1.0, 1.0), run(2, 1.3, 1.0));
    let (there, back) = (pair(&old, &new), pair(&new, &old));
    let ratio = |compared: &Compared| change_of(compared, "sendfile").relative.both.unwrap();
    assert!((ratio(&there).ratio * ratio(&back).ratio - 1.0).abs() < 1e-9);
    assert!((ratio(&there).low.unwrap() * ratio(&back).high.unwrap() - 1.0).abs() < 1e-9);
    assert!(matches!(change_of(&back, "sendfile").verdict, ChangeVerdict::Better { .. }));
}

#[test]
fn a_change_of_all_paths_is_judged_by_their_costs() {
    let compared = pair(&run(1, 1.0, 1.0), &run(2, 1.0, 1.5));
    assert!(compared.reference_moved);
    assert_eq!(compared.cells.len(), 4);
    for cell in &compared.cells {
        assert_eq!(cell.judged_by, Some(JudgedBy::Cost));
        assert!(matches!(cell.verdict, ChangeVerdict::Worse { .. }), "{cell:?}");
        let relative = cell.relative.both.map(|relative| relative.ratio);
        assert_eq!(relative.is_none(), cell.reference, "{cell:?}");
        assert!((relative.unwrap_or(1.0) - 1.0).abs() < 0.05, "{cell:?}");
    }
}

#[test]
fn a_small_move_of_the_whole_machine_is_no_change_of_a_path() {
    let mut moved = 0;
    for seed in 0..10 {
        let compared = pair(&run(seed, 1.0, 1.0), &run(seed + 100, 1.0, 1.01));
        assert_eq!(compared.cells.len(), 4);
        moved += usize::from(compared.reference_moved);
        let changed = |cell: &&CellChange| {
            matches!(cell.verdict, ChangeVerdict::Better { .. } | ChangeVerdict::Worse { .. })
        };
        let changed: Vec<_> = compared.cells.iter().filter(changed).collect();
        assert!(compared.reference_moved || changed.is_empty(), "{changed:?}");
    }
    assert!(moved <= 1, "{moved} of 10 pairs");
}

#[test]
fn two_cells_of_one_run_are_compared_within_its_blocks() {
    let run = run(1, 1.0, 1.0);
    let (compared, judgement) = compare(
        &cell("r:read+send", &run, "read+send"),
        &[cell("r:sendfile", &run, "sendfile")],
        Some(0.05),
        None,
    );
    assert_eq!(compared[0].basis, Basis::OneRun);
    let only = &compared[0].cells[0];
    assert_eq!((only.label.as_str(), only.new_label.as_deref()), ("read+send", Some("sendfile")));
    assert!(matches!(only.cost.both.unwrap().method, Method::Paired { blocks, .. } if blocks > 40));
    // The ratio of the run's own table.
    let estimates = crate::estimate(&run);
    let own =
        estimates.cells.iter().find(|cell| cell.label == "sendfile").unwrap().ratio.both.unwrap();
    assert_eq!(only.cost.both.unwrap().ratio, own.value);
    assert!(matches!(only.verdict, ChangeVerdict::Better { .. }));
    assert_eq!(judgement.unwrap().outcome, Outcome::NoneWorse);
}

#[test]
fn in_one_run_nothing_is_said_that_the_control_s_error_explains() {
    let of_mmap_and_sendfile = |run: &Run| {
        ["mmap+write", "sendfile"].map(|name| {
            let new = cell(&format!("r:{name}"), run, name);
            let old = cell("r:read+send", run, "read+send");
            let (mut compared, judgement) = compare(&old, &[new], Some(0.10), None);
            assert_eq!(compared[0].withheld, []);
            (compared.remove(0), judgement.unwrap().outcome)
        })
    };
    let [(mmap, outcome), (sendfile, _)] = of_mmap_and_sendfile(&run(1, 1.0, 1.0));
    assert!(matches!(mmap.cells[0].verdict, ChangeVerdict::Worse { by } if by < 0.08), "{mmap:?}");
    assert!(matches!(sendfile.cells[0].verdict, ChangeVerdict::Better { .. }));
    assert_eq!(outcome, Outcome::NoneWorse);

    let mut wrong = world(1, 1.0, 1.0);
    let control = wrong.cells.last_mut().unwrap();
    control.sender_ns_per_kib *= 1.2;
    control.receiver_ns_per_kib *= 1.2;
    let [(mmap, outcome), (sendfile, _)] = of_mmap_and_sendfile(&wrong.run());
    assert!(matches!(mmap.doubts[0].why, Withheld::ControlDiffers { .. }), "{:?}", mmap.doubts);
    assert_eq!(mmap.cells[0].verdict, ChangeVerdict::Undecided);
    assert_eq!(outcome, Outcome::Undecided, "an error of a fifth may hide a tenth");
    assert!(mmap.none_worse_by.unwrap() > 0.10);
    let beyond = sendfile.cells[0].verdict;
    assert!(matches!(beyond, ChangeVerdict::Better { .. }), "{beyond:?}");
}

#[test]
fn a_run_is_not_compared_with_itself() {
    let run = run(1, 1.0, 1.0);
    let copy = run.clone();
    assert_eq!(pair(&run, &copy).impossible, [Impossible::SameRun]);
}

#[test]
fn different_cells_of_two_runs_can_be_compared() {
    let (old, new) = (run(1, 1.0, 1.0), run(2, 1.0, 1.0));
    let (compared, _) = compare(
        &cell("a:sendfile", &old, "sendfile"),
        &[cell("b:mmap+write", &new, "mmap+write")],
        None,
        None,
    );
    let only = &compared[0].cells[0];
    assert_eq!((only.label.as_str(), only.new_label.as_deref()), ("sendfile", Some("mmap+write")));
    // The two cells have different other cells, so both are relative to the reference.
    assert_eq!(compared[0].relative_to, Some(RelativeTo::Reference));
    let ratio = only.relative.both.unwrap().ratio;
    assert!((ratio / (960.0 / 570.0) - 1.0).abs() < 0.06, "{ratio}");
    // A cell that is named on one side is compared with the same cell on the other.
    let (compared, _) =
        compare(&cell("a:sendfile", &old, "sendfile"), &[part("b", &new)], None, None);
    assert_eq!(
        (compared[0].cells[0].label.as_str(), &compared[0].cells[0].new_label),
        ("sendfile", &None)
    );
}

/// Name in JSON.
fn key(what: Aspect) -> String {
    serde_json::to_value(what).unwrap().as_str().unwrap().to_owned()
}

#[test]
fn another_rate_or_link_is_another_quantity() {
    let (old, mut new) = (run(1, 1.0, 1.0), run(2, 1.0, 1.0));
    new.header.plan.fixed.rate_bytes_per_s /= 2.0;
    let compared = pair(&old, &new);
    assert_eq!(compared.impossible, [Impossible::Disqualified]);
    assert_eq!(compared.incomparable.len(), 4);
    assert_eq!(key(compared.incomparable[0].differences[0].what), "rate");

    let (old, mut new) = (run(1, 1.0, 1.0), run(2, 1.0, 1.0));
    new.header.link.kind = LinkKind::Loopback;
    let compared = pair(&old, &new);
    assert_eq!(compared.impossible, [Impossible::Disqualified]);
    assert_eq!(
        (compared.differences[0].what, compared.differences[0].weight),
        (Aspect::Link, Weight::Disqualifies)
    );
    assert!(compared.cells.is_empty());
}

#[test]
fn conditions_differ_where_both_runs_recorded_them() {
    let (mut old, mut new) = (run(1, 1.0, 1.0), run(2, 1.0, 1.0));
    let name = || "init_on_alloc".to_owned();
    new.header.host.conditions.insert(name(), "on".to_owned());
    // A sysctl that only the newer zc looks at.
    new.header.host.sysctls.insert("net.core.dev_weight".to_owned(), "64".to_owned());
    assert_eq!(pair(&old, &new).differences, []);
    old.header.host.conditions.insert(name(), "off".to_owned());
    let found = pair(&old, &new).differences;
    assert_eq!(
        found.iter().map(|each| key(each.what)).collect::<Vec<_>>(),
        ["sysctl", "condition"]
    );
    let condition = &found[1];
    assert_eq!((condition.old.as_deref(), condition.new.as_deref()), (Some("off"), Some("on")));
}

#[test]
fn settings_of_the_device_differ_where_both_runs_recorded_them() {
    let (mut old, mut new) = (run(1, 1.0, 1.0), run(2, 1.0, 1.0));
    let set = |run: &mut Run, qdisc: &str| {
        run.header.link.settings.insert("qdisc".to_owned(), qdisc.to_owned());
    };
    set(&mut new, "fq");
    assert_eq!(pair(&old, &new).differences, []);
    set(&mut old, "mq of fq_codel");
    let found = pair(&old, &new).differences;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].what, found[0].weight), (Aspect::DeviceSetting, Weight::Explains));
    assert_eq!(found[0].old.as_deref(), Some("mq of fq_codel"));
}

#[test]
fn other_differences_are_listed_with_both_values() {
    let (old, mut new) = (run(1, 1.0, 1.0), run(2, 1.0, 1.0));
    assert_eq!(pair(&old, &new).differences, []);
    let host = &mut new.header.host;
    host.kernel_release = "6.19.0".to_owned();
    host.sysctls.insert("net.ipv4.tcp_autocorking".to_owned(), "0".to_owned());
    host.mitigations.insert("retbleed".to_owned(), "Mitigation: IBPB".to_owned());
    new.header.link.offloads = Some([("tx-tcp-segmentation".to_owned(), false)].into());
    new.header.plan.fixed.buffer_bytes = 4096;
    new.header.plan.seed = 99;
    let compared = pair(&old, &new);
    type Listed<'a> = (String, Option<&'a str>, Option<&'a str>, Option<&'a str>);
    let found: Vec<Listed> = compared
        .differences
        .iter()
        .map(|each| {
            (key(each.what), each.name.as_deref(), each.old.as_deref(), each.new.as_deref())
        })
        .collect();
    assert_eq!(
        found,
        [
            ("kernel-release".to_owned(), None, Some("6.18.44"), Some("6.19.0")),
            ("mitigation".to_owned(), Some("retbleed"), None, Some("Mitigation: IBPB")),
            ("sysctl".to_owned(), Some("net.ipv4.tcp_autocorking"), None, Some("0")),
            ("offload".to_owned(), Some("tx-tcp-segmentation"), None, Some("off")),
            ("buffer".to_owned(), None, Some("64k"), Some("4k")),
        ]
    );
    assert!(compared.impossible.is_empty() && compared.cells.len() == 4);
}

#[test]
fn the_far_end_is_compared_as_the_near_one_is() {
    let far_run = |seed| two_machines(run(seed, 1.0, 1.0));
    let machine = |run: &mut Run| run.header.remote.as_mut().unwrap().machine.take().unwrap();
    let with = |mut run: Run, machine| {
        run.header.remote.as_mut().unwrap().machine = Some(machine);
        run
    };
    let device = |steering: &str, gro| DeviceFacts {
        name: "eth0".to_owned(),
        mtu_bytes: 1500,
        offloads: Some([("rx-gro".to_owned(), gro)].into()),
        settings: [("receive packet steering".to_owned(), steering.to_owned())].into(),
    };
    let (mut old, mut new) = (far_run(1), far_run(2));
    let (mut before, mut after) = (machine(&mut old), machine(&mut new));
    before.device = Some(device("off", true));
    after.device = Some(device("3", false));
    for (machine, rmem) in [(&mut before, "4096 131072 6291456"), (&mut after, "4096 4096 4096")] {
        machine.host.sysctls.insert("net.ipv4.tcp_rmem".to_owned(), rmem.to_owned());
    }
    after.host.kernel_release = "6.19.0".to_owned();
    let (old, new) = (with(old, before), with(new, after));
    let found = pair(&old, &new).differences;
    let listed: Vec<(String, Option<&str>)> =
        found.iter().map(|each| (key(each.what), each.name.as_deref())).collect();
    assert_eq!(
        listed,
        [
            ("kernel-release".to_owned(), None),
            ("sysctl".to_owned(), Some("net.ipv4.tcp_rmem")),
            ("offload".to_owned(), Some("rx-gro")),
            ("device-setting".to_owned(), Some("receive packet steering")),
        ]
    );
    assert!(found.iter().all(|each| (each.end, each.weight) == (End::Far, Weight::Explains)));

    // In another namespace of the same machine what both ends share is listed once.
    let on_one_machine = |run: &Run, release: &str| {
        let mut run = run.clone();
        run.header.host.kernel_release = release.to_owned();
        let far = run.header.remote.as_mut().and_then(|remote| remote.machine.as_mut()).unwrap();
        far.same_machine = true;
        far.host.kernel_release = release.to_owned();
        run
    };
    let (old, new) = (on_one_machine(&old, "6.18.44"), on_one_machine(&new, "6.19.0"));
    let found = pair(&old, &new).differences;
    let of_kernel: Vec<End> = found
        .iter()
        .filter(|each| each.what == Aspect::KernelRelease)
        .map(|each| each.end)
        .collect();
    assert_eq!((of_kernel, found.len()), (vec![End::Near], 4));
}

/// Sets what the sockets of all trials used, by the label of the cell.
fn use_sockets(run: &mut Run, of: impl Fn(&str) -> SocketFacts) {
    for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
        if let Slot::Trial(trial) = slot {
            trial.sockets = Some(of(&trial.cell));
        }
    }
}

#[test]
fn what_sockets_used_differs_whatever_was_asked_for() {
    let usual = || SocketFacts {
        congestion: "cubic".to_owned(),
        pacing_bytes_per_s: None,
        snd_ssthresh_packets: Some(100),
        sndbuf_bytes: 1 << 20,
        rcvbuf_bytes: Some(1 << 20),
        rcv_ssthresh_bytes: Some(1 << 20),
    };
    let (mut old, mut new) = (run(1, 1.0, 1.0), run(2, 1.0, 1.0));
    use_sockets(&mut new, |_| usual());
    assert_eq!(pair(&old, &new).differences, [], "one of the runs does not know");
    // What the kernel tunes is not the same twice.
    use_sockets(&mut old, |_| SocketFacts {
        sndbuf_bytes: 3 << 19,
        rcvbuf_bytes: Some(2 << 20),
        rcv_ssthresh_bytes: Some(600_000),
        snd_ssthresh_packets: Some(51),
        ..usual()
    });
    assert_eq!(pair(&old, &new).differences, []);
    let listed = |compared: &Compared| -> Vec<(End, String, String, String)> {
        let own = compared.differences.iter().filter(|each| each.what == Aspect::Socket);
        let texts = own.map(|each| {
            let [name, old, new] =
                [&each.name, &each.old, &each.new].map(|text| text.clone().unwrap());
            (each.end, name, old, new)
        });
        texts.collect()
    };
    use_sockets(&mut old, |cell| SocketFacts {
        congestion: "bbr".to_owned(),
        sndbuf_bytes: if cell == "sendfile" { 64 << 10 } else { 1 << 20 },
        rcvbuf_bytes: Some(if cell == "sendfile" { 256 << 10 } else { 300 << 10 }),
        snd_ssthresh_packets: Some(20),
        ..usual()
    });
    let compared = pair(&old, &new);
    let near = |name: &str, old: &str, new: &str| {
        (End::Near, name.to_owned(), old.to_owned(), new.to_owned())
    };
    let all = [
        near("congestion control", "bbr", "cubic"),
        near("SO_RCVBUF of sendfile and 3 more", "256k", "1m"),
        near("ssthresh", "20 packets", "100 packets"),
        near("SO_SNDBUF of sendfile", "64k", "1m"),
    ];
    assert_eq!(listed(&compared), all);
    assert!(compared.impossible.is_empty() && compared.differences.len() == all.len());
    // What was asked for is told as that alone.
    old.header.plan.fixed.rcvbuf_bytes = Some(150 << 10);
    let compared = pair(&old, &new);
    assert_eq!((listed(&compared).len(), compared.differences.len()), (3, 4));
    // The receiver is at the far end, if there is one.
    let [mut old, new] = [old, new].map(two_machines);
    old.header.plan.fixed.rcvbuf_bytes = None;
    let ends = listed(&pair(&old, &new)).into_iter().filter(|each| each.0 == End::Far);
    assert!(ends.map(|each| each.1).eq(["SO_RCVBUF of sendfile and 3 more".to_owned()]));
}

#[test]
fn what_is_chosen_by_a_measured_round_trip_is_no_difference() {
    let timed = |seed, rtt_ns, warmup_ns, window_ns| {
        let mut run = two_machines(run(seed, 1.0, 1.0));
        run.header.remote.as_mut().unwrap().rtt_ns = rtt_ns;
        let timing = &mut run.header.plan.timing;
        (timing.warmup_ns, timing.window_ns) = (warmup_ns, window_ns);
        run
    };
    let usual = timed(1, 11_000, 8_220_000, 80_000_000);
    assert_eq!(pair(&usual, &timed(2, 9_000, 8_180_000, 80_000_000)).differences, []);
    // A long round trip decides the length of the window, too.
    let long = timed(1, 50_000_000, 1_008_000_000, 200_000_000);
    let longer = timed(2, 50_100_000, 1_010_000_000, 200_400_000);
    assert_eq!(pair(&long, &longer).differences, []);
    // A requested round trip is compared as requested, whatever was measured.
    let asked = |seed, rtt_ns, warmup_ns| timed(seed, rtt_ns, warmup_ns, 80_000_000);
    assert_eq!(pair(&asked(1, 11_000, 5_000_000), &asked(2, 9_000, 5_000_000)).differences, []);
    let found = pair(&usual, &asked(2, 9_000, 5_000_000)).differences;
    assert_eq!(found.iter().map(|each| each.what).collect::<Vec<_>>(), [Aspect::Timing]);
    // A round trip of another order explains much.
    let found = pair(&usual, &longer).differences;
    assert!(found.iter().any(|each| each.what == Aspect::RoundTrip), "{found:?}");
}

#[test]
fn sizes_that_the_kernel_derives_from_its_memory_differ_from_boot_to_boot() {
    let with = |seed, sizes: &str| {
        let mut run = run(seed, 1.0, 1.0);
        run.header.host.sysctls.insert("net.ipv4.tcp_mem".to_owned(), sizes.to_owned());
        run
    };
    let old = with(1, "284559\t379413\t569118");
    assert_eq!(pair(&old, &with(2, "284517\t379358\t569034")).differences, []);
    assert_eq!(pair(&old, &with(2, "4096\t8192\t16384")).differences.len(), 1);
}

#[test]
fn runs_without_blocks_or_common_cells_are_impossible_to_compare() {
    let (mut old, new) = (run(1, 1.0, 1.0), run(2, 1.0, 1.0));
    old.blocks.clear();
    assert_eq!(pair(&old, &new).impossible, [Impossible::NoKeptBlocks { name: "old".to_owned() }]);
    let mut other = run(3, 1.0, 1.0);
    for cell in &mut other.header.plan.cells {
        cell.label.push('x');
    }
    let compared = pair(&new, &other);
    assert_eq!(compared.impossible, [Impossible::NoCommonCell]);
    assert_eq!((compared.only_old.len(), compared.only_new.len()), (4, 4));
    let (_, judgement) = compare(&part("old", &old), &[part("new", &new)], Some(0.05), None);
    assert_eq!(judgement.unwrap().outcome, Outcome::NothingKept);
}

#[test]
fn a_few_blocks_have_figures_and_no_verdicts() {
    let few = |seed| {
        let mut run = run(seed, 1.0, 1.0);
        run.blocks.truncate(4);
        run
    };
    let compared = pair(&few(1), &few(2));
    let sendfile = change_of(&compared, "sendfile");
    assert_eq!(
        (sendfile.verdict, sendfile.relative.both.unwrap().low),
        (ChangeVerdict::Undecided, None)
    );
    assert_eq!(compared.none_worse_by, None);
}

#[test]
fn a_warning_that_withholds_leaves_no_verdicts() {
    let (old, mut new) = (run(1, 1.0, 1.0), run(2, 1.5, 1.0));
    new.header.warnings.push(Warning::new("sniffer", Severity::Withhold, "somebody listens in"));
    let (compared, judgement) = compare(&part("old", &old), &[part("new", &new)], Some(0.05), None);
    assert_eq!(compared[0].cells.len(), 4);
    assert!(compared[0].cells.iter().all(|cell| cell.verdict == ChangeVerdict::Withheld));
    assert_eq!(judgement.unwrap().outcome, Outcome::Withheld);
}

#[test]
fn the_margin_test_has_three_outcomes() {
    let outcome = |factor: f64, margin: f64| {
        let (old, new) = (run(1, 1.0, 1.0), run(2, factor, 1.0));
        compare(
            &cell("old", &old, "sendfile"),
            &[cell("new", &new, "sendfile")],
            Some(margin),
            None,
        )
        .1
        .unwrap()
        .outcome
    };
    assert_eq!(outcome(1.0, 0.1), Outcome::NoneWorse);
    assert_eq!(outcome(1.3, 0.1), Outcome::Worse);
    assert_eq!(outcome(1.1, 0.1), Outcome::Undecided);
    assert_eq!(outcome(0.7, 0.1), Outcome::NoneWorse);
}

#[test]
fn each_new_run_is_compared_with_the_old_one() {
    let (old, same, worse) = (run(1, 1.0, 1.0), run(2, 1.0, 1.0), run(3, 1.4, 1.0));
    let (compared, judgement) =
        compare(&part("old", &old), &[part("same", &same), part("worse", &worse)], Some(0.1), None);
    assert_eq!(compared.len(), 2);
    let judgement = judgement.unwrap();
    assert_eq!(
        (judgement.outcome, judgement.worse),
        (Outcome::Worse, vec!["worse: sendfile".to_owned()])
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_pair_of_runs_panics_or_gives_a_nan(
        seeds in (0u64..1000, 0u64..1000),
        blocks in (0usize..14, 0usize..14),
        noise in 0.0f64..2.0,
        cost in -50.0f64..300.0,
        margin in 0.001f64..0.5,
    ) {
        let play = |seed: u64, blocks| {
            let mut world = world(seed, 1.0, 1.0);
            world.blocks = blocks;
            world.noise = noise;
            world.cells[1].sender_ns_per_kib = cost;
            world.cells[1].receiver_ns_per_kib = cost;
            let mut run = world.run();
            run.header.started_at = format!("{seed}");
            run
        };
        let (old, new) = (play(seeds.0, blocks.0), play(seeds.1, blocks.1));
        let (compared, judgement) =
            compare(&part("old", &old), &[part("new", &new)], Some(margin), None);
        // serde_json writes NaN and infinities as null.
        let text = serde_json::to_string(&(&compared, &judgement)).unwrap();
        prop_assert!(!text.contains("\"ratio\":null"));
        for cell in compared.iter().flat_map(|compared| &compared.cells) {
            for change in [cell.cost.both, cell.relative.both].into_iter().flatten() {
                let paired = matches!(change.method, Method::Paired { .. });
                prop_assert!(change.ratio > 0.0 || paired);
                prop_assert!(change.low.is_none_or(|low| low <= change.ratio));
                prop_assert!(change.high.is_none_or(|high| high >= change.ratio));
                prop_assert!(change.p_value.is_none_or(|p| (0.0..=1.0).contains(&p)));
            }
        }
    }
}

#[test]
fn a_run_that_measured_its_harness_is_compared_gross_with_one_that_did_not() {
    let with = |seed: u64, harness_share: f64| {
        let mut run = Synthetic { harness_share, block_drift: 0.0, ..world(seed, 1.0, 1.0) }.run();
        run.header.started_at = format!("2026-11-21T12:00:{seed:02}Z");
        run
    };
    let (without, one, other) = (with(1, 0.0), with(2, 0.05), with(3, 0.05));
    let costs = |compared: &Compared| {
        let sendfile = change_of(compared, "sendfile");
        [sendfile.old_cost_ns_per_kib, sendfile.new_cost_ns_per_kib]
            .map(|cost| cost.sender.unwrap().value)
    };
    let near = |found: f64, truth: f64| (found - truth).abs() < 6.0;
    let mixed = pair(&without, &one);
    // A harness of 5 % of a CPU is 64 ns per KiB at 800 MB/s.
    assert!(!mixed.net && near(costs(&mixed)[0], 180.0), "{:?}", costs(&mixed));
    assert!(near(costs(&mixed)[1], 244.0), "{:?}", costs(&mixed));
    let both = pair(&one, &other);
    assert!(both.net && near(costs(&both)[0], 180.0), "{:?}", costs(&both));
    assert!(near(costs(&both)[1], 180.0), "{:?}", costs(&both));
}

#[test]
fn runs_that_began_a_day_apart_may_differ_by_more_than_runs_in_a_row() {
    let at = |seed, began: &str| {
        let mut run = Synthetic { block_drift: 0.02, ..world(seed, 1.0, 1.0) }.run();
        run.header.started_at = began.to_owned();
        run
    };
    let old = at(1, "2026-11-21T12:00:00Z");
    let between = |began: &str| {
        let compared = pair(&old, &at(2, began));
        let Method::Independent { between_runs, .. } =
            change_of(&compared, "read+send").cost.both.unwrap().method
        else {
            panic!("{compared:?}");
        };
        between_runs.unwrap()
    };
    let in_a_row = between("2026-11-21T12:00:10Z");
    assert!(in_a_row > 0.0);
    assert!(between("2026-11-22T12:00:00Z") > 1.5 * in_a_row);
    assert_eq!(between("2026-11-20T12:00:00Z"), between("2026-11-22T12:00:00Z"), "either way");
    assert_eq!(between("some day"), in_a_row, "a file that does not tell");
}
