//! The texts about two kernels that do not exist.

use std::collections::BTreeMap;

use super::*;
use crate::ktap::tests::parse;
use crate::terminal::layout::Layout;
use zc_analysis::compare::kernels::{Arm, Boot, judgement, kernels};
use zc_run::{Run, SendPath};
use zc_testkit::synthetic::{TrueCell, boot, sendfile, two_machines};

/// A run in a boot.
pub(crate) fn run(seed: u64, factor: f64, emulated: bool) -> Run {
    let splice = TrueCell::new(SendPath::Splice, 200.0, 390.0);
    let mut run = boot(seed, 12, vec![sendfile(factor), splice]);
    if emulated {
        run.header.host.hypervisor = Some("qemu-tcg".to_owned());
    }
    run
}

fn kernel(name: &str, release: &str) -> KernelFacts {
    KernelFacts {
        name: name.to_owned(),
        given: format!("/src/linux-{release}"),
        release: release.to_owned(),
        version: format!("{release} (a@b) #1 SMP"),
        modules: true,
    }
}

/// Kernels of which the second one makes sendfile a tenth dearer; its boot of the second round
/// panics.
pub(crate) fn report(rounds: usize, emulated: bool) -> KernelsReport {
    report_of(rounds, emulated, |run| run)
}

fn report_of(rounds: usize, emulated: bool, made: fn(Run) -> Run) -> KernelsReport {
    let arms = [(Arm::New, 1.1), (Arm::Old, 1.0), (Arm::OldAgain, 1.0)];
    let mut boots = Vec::new();
    let mut runs = Vec::new();
    for round in 1..=rounds {
        for (place, (arm, factor)) in arms.into_iter().enumerate() {
            let outcome = if (round, arm) == (2, Arm::New) {
                BootOutcome::Dropped {
                    why: "the kernel panicked: Fatal exception in interrupt".to_owned(),
                    last_lines: vec![
                        "[    9.1] RIP: 0010:tcp_sendmsg_locked+0x2f/0xd00".to_owned(),
                    ],
                }
            } else {
                let run = run((3 * round + place) as u64, factor, emulated);
                runs.push((round, arm, made(run)));
                BootOutcome::Measured { file: format!("r{round:02}.jsonl.gz"), blocks: 12 }
            };
            boots.push(BootFacts { round, arm, took_s: 21.5, outcome });
        }
    }
    let measured: Vec<Boot<'_>> =
        runs.iter().map(|(round, arm, run)| Boot { round: *round, arm: *arm, run }).collect();
    let option = |name: &str, old: Option<&str>, new: Option<&str>| ConfigOption {
        name: name.to_owned(),
        old: old.map(str::to_owned),
        new: new.map(str::to_owned),
    };
    KernelsReport {
        kernels: [kernel("A", "6.12.1"), kernel("B", "6.12.1-patched")],
        machine: MachineFacts::Guest(GuestFacts {
            cpus: 2,
            memory_mib: 2048,
            far_kernel: None,
            emulated_because: emulated
                .then(|| "/dev/kvm cannot be opened: permission denied".to_owned()),
        }),
        seed: 17,
        command: vec!["zc".to_owned(), "run".to_owned()],
        folder: "zc-kernels-2026-11-28T20-00-00".to_owned(),
        boots,
        interrupted: emulated,
        config: Some(vec![
            option("CONFIG_HZ", Some("250"), Some("1000")),
            option("CONFIG_TCP_AO", None, Some("y")),
        ]),
        comparison: kernels(&measured),
        judgement: None,
    }
}

#[test]
fn the_table_of_two_kernels_and_that_of_two_emulated_ones() {
    insta::assert_snapshot!("kernels", text(&report(6, false), Layout::plain(100)));
    insta::assert_snapshot!("kernels_emulated", text(&report(3, true), Layout::plain(100)));
}

#[test]
fn the_table_of_two_guests_on_a_wire_says_whose_costs_it_has() {
    let mut report = report_of(6, false, two_machines);
    if let MachineFacts::Guest(guest) = &mut report.machine {
        guest.far_kernel = Some("A".to_owned());
    }
    insta::assert_snapshot!("kernels_wire", text(&report, Layout::plain(100)));
}

#[test]
fn an_emulated_machine_has_no_cost_in_any_form() {
    let report = report(2, true);
    let text = text(&report, Layout::plain(100));
    assert!(!text.contains("us/MB") && text.contains("no cost"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
    for cell in json["comparison"]["cells"].as_array().unwrap() {
        assert!(cell["cost"].is_null() && cell["old_cost"].is_null(), "{cell}");
        assert!(cell["old_bytes"].as_u64().unwrap() > 0, "{cell}");
    }
}

/// The tests of kernels by name, with a margin of 5 %: whether each is ok, and why it is skipped.
fn tests(report: &KernelsReport) -> (String, BTreeMap<String, (bool, Option<String>)>) {
    let text = tap(report, &judgement(&report.comparison, 0.05));
    let parsed = parse(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    (text, parsed.into_iter().map(|(is_ok, name, why)| (name, (is_ok, why))).collect())
}

#[test]
fn a_cell_is_a_test_that_fails_where_the_second_kernel_is_worse_or_has_it_not() {
    let mut report = report(6, false);
    let (text, found) = tests(&report);
    let names = ["boots of A", "boots of B", "read+send", "sendfile", "splice"];
    assert!(found.keys().eq(names), "{text}");
    let are_ok = names.map(|name| found[name].0);
    assert_eq!(are_ok, [true, false, true, false, true], "{text}");
    assert!(found.values().all(|(_, why)| why.is_none()), "{text}");
    insta::assert_snapshot!("kernels_tap", text);

    report.comparison.cells[2].new_bytes = None;
    let (text, found) = tests(&report);
    assert!(!found["splice"].0 && text.contains("splice: it can be measured under A"), "{text}");
    let told = super::text(&report, Layout::plain(100));
    assert!(told.contains("splice can be measured under A, and not under B"), "{told}");
    report.comparison.control_differs.push("read+send".to_owned());
    let (text, found) = tests(&report);
    let why = found["sendfile"].1.as_ref().unwrap();
    assert!(why.contains("A differs from itself in read+send"), "{text}");
}

#[test]
fn without_a_boot_of_the_second_kernel_no_cell_fails() {
    let mut report = report(1, false);
    report.boots.retain(|boot| boot.arm != Arm::New);
    report.comparison.cells.iter_mut().for_each(|cell| {
        (cell.new_bytes, cell.new_cost, cell.cost) = (None, None, None);
    });
    let (text, found) = tests(&report);
    let is_skipped = |name: &str| found[name].0 && found[name].1.is_some();
    assert!(
        ["boots of B", "read+send", "sendfile", "splice"].into_iter().all(is_skipped),
        "{text}"
    );
    let told = super::text(&report, Layout::plain(100));
    assert!(!told.contains("and not under B") && !told.contains("lost"), "{told}");
}

#[test]
fn on_an_emulated_machine_the_tests_say_what_was_shown_and_skip_costs() {
    let (text, found) = tests(&report(3, true));
    let (is_ok, why) = &found["sendfile"];
    assert!(is_ok & why.as_ref().unwrap().contains("emulated"), "{text}");
    assert!(text.contains("# sendfile: both pass bytes, 9.65 GB under A"), "{text}");
    assert!(found["boots of A"].0 && !text.contains(" the margin is"), "{text}");
}

#[test]
fn configurations_are_listed_by_option() {
    let report = report(1, true);
    let listed = config(report.config.as_ref().unwrap(), ["A", "B"]);
    let rows: Vec<Vec<&str>> =
        listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(rows.contains(&vec!["CONFIG_HZ", "250", "1000"]), "{listed}");
    assert!(rows.contains(&vec!["CONFIG_TCP_AO", "not", "set", "y"]), "{listed}");
    assert!(config(&[], ["A", "B"]).contains("the same"));
}
