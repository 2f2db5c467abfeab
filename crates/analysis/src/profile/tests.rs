//! Profiles of synthetic runs with known shares.

use super::*;
use zc_run::{Dropped, SampledTask, SendPath};
use zc_testkit::samples::{CpuShare, with_samples};
use zc_testkit::synthetic::{Synthetic, TrueCell, null_link};

const SYSCALL: &[&str] = &["entry_SYSCALL_64_after_hwframe", "do_syscall_64", "tcp_sendmsg"];
const COPY: &[&str] =
    &["entry_SYSCALL_64_after_hwframe", "do_syscall_64", "tcp_sendmsg", "_copy_from_iter"];
const SOFTIRQ: &[&str] = &["asm_sysvec_call_function_single", "handle_softirqs", "net_rx_action"];
const UNCLASSIFIED: &[&str] =
    &["entry_SYSCALL_64_after_hwframe", "do_syscall_64", "zc_made_this_up"];
const TICK: &[&str] = &["asm_sysvec_apic_timer_interrupt", "update_process_times"];

fn spent(cpu: usize, task: SampledTask, stack: &'static [&'static str], share: f64) -> CpuShare {
    CpuShare { cpu, task, stack, share }
}

/// `read+send` copies; `sendfile` does everything else that it does.
fn truth(cell: Option<&str>) -> Vec<CpuShare> {
    use SampledTask::{Receiver, Sender, Soaker};
    let mut all = vec![spent(0, Soaker, TICK, 0.02)];
    let Some(label) = cell else { return all };
    all.extend([
        spent(0, Sender, SYSCALL, 0.10),
        spent(0, Sender, &[], 0.02),
        spent(1, Soaker, SOFTIRQ, 0.05),
        spent(1, Receiver, SYSCALL, 0.02),
        spent(0, Sender, UNCLASSIFIED, 0.01),
        spent(0, SampledTask::Instrument, SYSCALL, 0.05),
    ]);
    if label != "sendfile" {
        all.push(spent(0, Sender, COPY, 0.20));
    }
    all
}

fn world() -> Synthetic {
    let (one, two) = (
        TrueCell::new(SendPath::ReadSend, 600.0, 200.0),
        TrueCell::new(SendPath::Sendfile, 300.0, 100.0),
    );
    let cells = vec![one.clone(), two, one.control()];
    Synthetic { cells, blocks: 24, noise: 0.02, block_drift: 0.0, ..Synthetic::default() }
}

fn run() -> Run {
    with_samples(world().run(), truth)
}

fn near(value: f64, truth: f64) -> bool {
    (value - truth).abs() < 0.05 * truth
}

#[test]
fn classes_and_contexts_add_up_to_the_cost_of_the_table() {
    let run = run();
    let profile = profile(&run).unwrap();
    let table = crate::estimate(&run);
    assert_eq!(profile.cells.len(), 3);
    for (cell, row) in profile.cells.iter().zip(&table.cells) {
        assert_eq!((&cell.label, cell.cost_ns_per_kib), (&row.label, row.cost_ns_per_kib.both));
        let all = cell.cost_ns_per_kib.unwrap().value;
        let sum = |parts: &mut dyn Iterator<Item = Part>| {
            parts.fold((0.0, 0.0), |sum, part| {
                (sum.0 + part.share, sum.1 + part.ns_per_kib.unwrap().value)
            })
        };
        let classes = sum(&mut cell.classes.iter().map(|each| each.part));
        let contexts = sum(&mut cell.contexts.iter().map(|each| each.part));
        for (shares, costs) in [classes, contexts] {
            assert!(
                (shares - 1.0).abs() < 1e-9 && (costs - all).abs() < 1e-6,
                "{shares} {costs} of {all}"
            );
        }
    }
}

#[test]
fn shares_exclude_work_that_exists_without_traffic() {
    let profile = profile(&run()).unwrap();
    let (one, two) = (&profile.cells[0], &profile.cells[1]);
    // The tick (0.02) and zc's own work (0.05) are not part of either.
    assert!(near(one.class(Class::Copy).share, 0.20 / 0.40), "{:?}", one.class(Class::Copy));
    assert!(near(one.class(Class::Tcp).share, 0.12 / 0.40));
    assert!(near(two.class(Class::Tcp).share, 0.12 / 0.20));
    assert!(near(two.class(Class::Netdev).share, 0.05 / 0.20));
    assert!(near(two.class(Class::Program).share, 0.02 / 0.20));
    assert!(two.class(Class::Timers).share.abs() < 0.02);
    let interval = one.class(Class::Copy).interval.unwrap();
    assert!(interval.contains(one.class(Class::Copy).share) && interval.low > 0.4);
    let context =
        |context| two.contexts.iter().find(|each| each.context == context).unwrap().part.share;
    assert!(near(context(Context::SoftirqElsewhere), 0.25));
    assert!(near(context(Context::Syscall), 0.65));
    assert!(near(two.own.share, 0.75));
    assert_eq!(two.unknown.len(), 1);
    assert_eq!(
        (two.unknown[0].function.as_str(), two.unknown[0].class),
        ("zc_made_this_up", Class::Unknown)
    );
}

#[test]
fn the_difference_of_two_paths_is_in_the_classes_that_differ() {
    let run = run();
    let found = difference((&run, "read+send"), (&run, "sendfile")).unwrap();
    assert!(found.paired);
    let first = &found.classes[0];
    assert_eq!(first.what, Class::Copy);
    assert!(
        near(first.first_ns_per_kib, 400.0) && first.second_ns_per_kib.abs() < 1e-9,
        "{first:?}"
    );
    let interval = first.difference.interval.unwrap();
    assert!(interval.contains(-400.0) && !interval.contains(0.0), "{interval:?}");
    assert!(near(-found.all.unwrap().value, 400.0));
    assert_eq!(difference((&run, "read+send"), (&run, "splice")), None);
}

#[test]
fn the_difference_of_two_runs_is_in_the_function_that_one_of_them_lacks() {
    let other = with_samples(Synthetic { seed: 99, ..world() }.run(), truth);
    // Small functions are named where they are large in the other run.
    for found in [
        difference((&run(), "read+send"), (&other, "sendfile")).unwrap(),
        difference((&other, "read+send"), (&other, "sendfile")).unwrap(),
    ] {
        let function = &found.functions[0];
        assert_eq!(function.what, "_copy_from_iter");
        assert!(near(function.first_ns_per_kib, 400.0), "{function:?}");
        assert!(function.second_ns_per_kib.abs() < 1e-9, "{function:?}");
        let interval = function.difference.interval.unwrap();
        assert!(interval.contains(-400.0) && !interval.contains(0.0), "{interval:?}");
        let same = found.functions.iter().find(|each| each.what == "tcp_sendmsg").unwrap();
        assert!(same.difference.interval.unwrap().contains(0.0), "{same:?}");
        let own: f64 = found.functions.iter().map(|each| each.first_ns_per_kib).sum();
        assert!(own > 700.0 && own < 800.0, "all but user mode: {own}");
    }
}

#[test]
fn intervals_of_the_difference_of_a_path_to_itself_contain_0_as_often_as_stated() {
    let (mut intervals, mut missed) = (0, 0);
    for seed in 0..20 {
        let run = with_samples(Synthetic { seed, ..world() }.run(), truth);
        let same = difference((&run, "read+send"), (&run, "read+send (A/A)")).unwrap();
        for interval in same.classes.iter().filter_map(|class| class.difference.interval) {
            intervals += 1;
            missed += usize::from(!interval.contains(0.0));
        }
    }
    // 5 % on average; the errors of the classes of one run are correlated.
    assert!(intervals > 100 && missed * 10 <= intervals, "{missed} of {intervals}");
}

#[test]
fn two_runs_are_resampled_independently() {
    let (one, other) = (run(), with_samples(Synthetic { seed: 99, ..world() }.run(), truth));
    let found = difference((&one, "read+send"), (&other, "sendfile")).unwrap();
    assert!(!found.paired);
    assert_eq!(found.classes[0].what, Class::Copy);
    let interval = found.classes[0].difference.interval.unwrap();
    assert!(interval.contains(-400.0) && !interval.contains(0.0), "{interval:?}");
}

#[test]
fn dropped_blocks_contribute_their_tables_and_no_samples() {
    let mut run = run();
    // All symbols and frames are saved with the first block.
    run.blocks[0].dropped = Some(Dropped::Steal { share: 0.5 });
    let profile = profile(&run).unwrap();
    assert_eq!(profile.cells[0].blocks, 23);
    assert!(near(profile.cells[0].class(Class::Copy).share, 0.5));
}

#[test]
fn few_blocks_have_shares_without_intervals_and_no_blocks_have_no_shares() {
    let mut run = run();
    run.blocks.truncate(2);
    let two = profile(&run).unwrap();
    let copy = two.cells[0].class(Class::Copy);
    assert!(
        copy.share > 0.4 && copy.interval.is_none() && copy.ns_per_kib.unwrap().interval.is_none()
    );
    run.blocks.clear();
    let none = profile(&run).unwrap();
    assert_eq!((none.cells[0].blocks, none.cells[0].class(Class::Copy)), (0, Part::default()));
    assert_eq!(difference((&run, "read+send"), (&run, "sendfile")), None);
    assert_eq!(tree(&run, "sendfile").unwrap().samples, 0);
    assert_eq!(profile_of_nothing(), None);
}

fn profile_of_nothing() -> Option<ProfileEstimates> {
    profile(&world().run())
}

#[test]
fn the_cpu_of_the_ack_generator_does_not_count() {
    let profile = profile(&with_samples(null_link(world().run()), truth)).unwrap();
    let one = &profile.cells[0];
    assert!(near(one.class(Class::Copy).share, 0.20 / 0.33), "{:?}", one.class(Class::Copy));
    assert_eq!(one.class(Class::Netdev).share, 0.0);
}

#[test]
fn a_tree_has_every_sample_of_the_cost_once() {
    let run = run();
    let root = tree(&run, "read+send").unwrap();
    assert_eq!(root.name, "read+send");
    fn itself(flame: &Flame) -> u64 {
        flame.itself() + flame.called.iter().map(itself).sum::<u64>()
    }
    assert_eq!(itself(&root), root.samples);
    assert_eq!(root.called[0].name, "sender");
    assert_eq!(root.called[0].called[0].name, "entry_SYSCALL_64_after_hwframe");
    let names: Vec<&str> = root.called.iter().map(|each| each.name.as_str()).collect();
    assert_eq!(names, ["sender", "soaker, interrupted", "receiver"]);
    assert!(root.called.iter().all(|each| each.class != Class::Unknown));
    assert_eq!(tree(&run, "splice"), None);
}
