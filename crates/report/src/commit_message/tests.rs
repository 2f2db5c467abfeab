//! The messages of many kinds of runs, read as a patch's reader and git would.

use super::*;
use crate::compare::tests::{another_kernel, part, run as of_paths};
use crate::kernels::KernelsReport;
use crate::kernels::tests::{report as booted, run as boot};
use crate::tests::fixture::{iperf3, loopback, null, remote, veth, without_blocks};
use crate::tests::fixture_plans::{receive, sixty, sizes};
use crate::tests::server::{by_length, server};
use zc_analysis::compare::compare;
use zc_analysis::{Estimates, Withheld, estimate};
use zc_run::{Run, Severity, Warning};
use zc_testkit::synthetic::{Synthetic, TrueCell};

/// The lines of a message about runs, without their indent. Panics where it is not fit for a
/// commit.
fn lines(text: &str) -> Vec<&str> {
    lines_by(text, " blocks")
}

/// The same of one whose figures are by so many of these.
fn lines_by<'a>(text: &'a str, unit: &str) -> Vec<&'a str> {
    let lines: Vec<&str> = text.lines().collect();
    assert!((4..=8).contains(&lines.len()) && text.ends_with('\n'), "{text}");
    assert!(text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "{text}");
    for line in &lines {
        assert!(line.len() <= 72 && line.starts_with("  "), "{text}");
        assert!(!line.trim().is_empty() && *line == line.trim_end(), "{text}");
    }
    let lines: Vec<&str> = lines.into_iter().map(|line| &line[2..]).collect();
    assert!(lines[0].starts_with("$ zc"), "{text}");
    assert!(lines.iter().any(|line| line.starts_with("Linux ")), "{text}");
    let last = lines.last().unwrap();
    assert!(last.contains("A/A") && last.contains(unit), "{text}");
    lines
}

/// The message of a run with this command.
fn message_of((mut made, estimates): (Run, Estimates), command: &str) -> String {
    made.header.command = command.split(' ').map(str::to_owned).collect();
    let text = run(&made, &estimates);
    lines(&text);
    text
}

fn measured(run: Run) -> (Run, Estimates) {
    let estimates = estimate(&run);
    (run, estimates)
}

#[test]
fn many_cells_are_the_most_telling_ones_and_a_count() {
    let text = message_of(veth(), "/usr/bin/zc run --link veth --out before.json");
    assert!(text.contains("\n  sendfile ") && text.contains("\n  and 4 more, "), "{text}");
    assert!(!text.contains("msg-zerocopy"), "a failed zero-copy tells less: {text}");
    insta::assert_snapshot!("commit_veth", text);
    let text = message_of(sixty(), "zc run --plan sixty.toml");
    assert!(text.contains("\n  and 45 more, "), "{text}");
    insta::assert_snapshot!("commit_sixty", text);
}

#[test]
fn of_two_cells_both_are_there() {
    let mut world = Synthetic::default();
    world.cells.retain(|cell| ["read+send", "sendfile"].contains(&cell.cell.label.as_str()));
    world.cells.insert(1, world.cells[0].control());
    let text = message_of(measured(world.run()), "zc run --paths sendfile");
    assert!(text.contains("\n  sendfile ") && !text.contains(" more"), "{text}");
    insta::assert_snapshot!("commit_two_cells", text);
}

#[test]
fn every_kind_of_run_keeps_to_the_form() {
    let all = [null(), loopback(), remote(), iperf3(), receive(), sizes(), server(), by_length()];
    for (place, made) in all.into_iter().enumerate() {
        let text = message_of(made, "zc run");
        assert!(text.contains(" ratio to ") && text.contains(" to "), "{place}: {text}");
    }
    insta::assert_snapshot!("commit_server", message_of(server(), "zc run server --state a=b"));
}

#[test]
fn where_verdicts_are_withheld_the_reason_stands_in_place_of_ratios() {
    let (run, mut estimates) = veth();
    let high = Some(1.05);
    estimates.verdict.withheld = vec![Withheld::ControlDiffers { ratio: 1.03, low: 1.01, high }];
    let text = message_of((run, estimates), "zc run");
    assert!(text.contains("Verdict withheld: read+send differs from itself"), "{text}");
    assert!(!text.contains("sendfile"), "{text}");
    insta::assert_snapshot!("commit_withheld", text);
    let text = message_of(without_blocks(), "zc run");
    assert!(text.contains("withheld") && !text.contains("us/MB"), "{text}");
    insta::assert_snapshot!("commit_without_blocks", text);
}

#[test]
fn nothing_from_a_file_leaves_its_line_or_its_characters() {
    let (mut hostile, mut estimates) = veth();
    let evil = "\u{1b}[31mGröße\n---\ndiff --git a/x\n# Signed-off-by: é".repeat(3);
    for cell in &mut estimates.cells {
        cell.label = evil.clone() + &cell.label;
    }
    estimates.reference = evil.clone();
    let host = &mut hostile.header.host;
    for text in [&mut host.kernel_release, &mut host.machine, &mut host.cpu.model] {
        text.clone_from(&evil);
    }
    host.hypervisor = Some(evil.clone());
    hostile.header.zc_version.clone_from(&evil);
    hostile.header.command = vec!["zc".to_owned(), evil];
    lines(&run(&hostile, &estimates));
}

/// The message of a comparison.
fn compared(old: &Run, new: &Run) -> String {
    let (compared, _) = compare(&part("old.json", old), &[part("new.json", new)], None, None);
    comparison(old, new, &compared[0])
}

#[test]
fn two_kernels_are_old_and_new() {
    let (mut old, new) = another_kernel();
    old.header.command = "zc run --out old.json".split(' ').map(str::to_owned).collect();
    let text = compared(&old, &new);
    let lines = lines(&text);
    assert!(lines[1].contains(" -> 6.19.0 "), "{text}");
    assert!(lines.iter().any(|line| line.starts_with("also: sysctl net.ipv4.tcp_wmem")), "{text}");
    assert!(lines.iter().any(|line| line.starts_with("sendfile ")), "{text}");
    insta::assert_snapshot!("commit_two_kernels", text);
}

#[test]
fn two_cells_of_one_run_and_what_cannot_be_compared_keep_to_the_form() {
    let mut run = of_paths(1, 1.0);
    run.header.command = vec!["zc".to_owned(), "run".to_owned()];
    let cell = |name: &str| zc_analysis::compare::Selection {
        cell: Some(name.to_owned()),
        ..part(name, &run)
    };
    let (found, _) = compare(&cell("read+send"), &[cell("sendfile")], None, None);
    let text = comparison(&run, &run, &found[0]);
    assert!(lines(&text).iter().any(|it| it.starts_with("read+send -> sendfile ")), "{text}");

    let mut withheld = of_paths(2, 1.0);
    withheld.header.warnings.push(Warning::new("a-doubt", Severity::Withhold, "text"));
    let text = compared(&run, &withheld);
    assert!(lines(&text).iter().any(|it| it.starts_with("Verdicts withheld: ")), "{text}");
    withheld.header.plan.fixed.rate_bytes_per_s = 4e8;
    let text = compared(&run, &withheld);
    assert!(lines(&text).iter().any(|it| it.starts_with("Cannot be compared: ")), "{text}");
}

#[test]
fn of_many_cells_of_two_runs_the_changed_ones_are_named() {
    let world = |seed, vmsplice| {
        let mut world = Synthetic { seed, blocks: 60, noise: 0.01, ..Synthetic::default() };
        world.block_drift = 0.002;
        world.cells.push(TrueCell::new(zc_run::SendPath::Vmsplice, vmsplice, 300.0));
        let mut run = world.run();
        run.header.command = vec!["zc".to_owned(), "run".to_owned()];
        run.header.started_at = format!("2026-11-2{seed}T12:00:00Z");
        run
    };
    let text = compared(&world(1, 400.0), &world(2, 700.0));
    let lines = lines(&text);
    assert!(lines[3].starts_with("vmsplice ") && lines[3].contains("worse, "), "{text}");
    assert!(lines.iter().any(|line| line.starts_with("and 7 more, ")), "{text}");
}

/// The message about kernels that were booted in turn.
fn of_boots(report: &KernelsReport, made: Option<&Run>) -> String {
    let command = "zc run --kernel A=old/bzImage --kernel B=new/bzImage --build 'make -j8'";
    let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
    let text = kernels(report, &command, made);
    let lines = lines_by(&text, " boots");
    assert!(lines.iter().any(|line| line.contains(" 6.12.1 -> 6.12.1-patched")), "{text}");
    text
}

#[test]
fn kernels_that_were_booted_in_turn_have_ratios_by_boot() {
    let run = boot(1, 1.0, false);
    let mut report = booted(6, false);
    let text = of_boots(&report, Some(&run));
    assert!(text.contains("  sendfile  ") && text.contains("worse, "), "{text}");
    assert!(text.contains("2 options of .config") && text.contains("12+5 boots, 1 dropped"));
    insta::assert_snapshot!("commit_kernels", text);
    report.comparison.control_differs.push("read+send".to_owned());
    let text = of_boots(&report, Some(&run));
    assert!(text.contains("Verdicts withheld: A differs from itself in read+send."), "{text}");
    assert!(text.contains("A/A") && text.contains(" DIFFERS of read+send"), "{text}");
    of_boots(&booted(1, false), None);
    report.comparison = zc_analysis::compare::kernels::kernels(&[]);
    let text = of_boots(&report, None);
    assert!(text.contains("no round has figures of both kernels"), "{text}");
}

/// Its words, wherever a line ends.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn without_costs_a_message_says_what_was_shown_and_has_no_figure() {
    let mut report = booted(3, true);
    let text = of_boots(&report, Some(&boot(1, 1.0, true)));
    assert!(text.contains("so nothing has a cost") && !text.contains("us/MB"), "{text}");
    assert!(words(&text).contains("both pass bytes by read+send, sendfile and splice"), "{text}");
    insta::assert_snapshot!("commit_kernels_emulated", text);
    report.comparison.cells[1].new_bytes = None;
    let text = of_boots(&report, Some(&boot(1, 1.0, true)));
    let lost = "A alone can be measured with sendfile, B cannot.";
    assert!(words(&text).contains(lost), "{text}");
    let evil = "\u{1b}[31mGröße\n---\n# Signed-off-by: é".repeat(3);
    report.comparison.cells.iter_mut().for_each(|cell| cell.label.clone_from(&evil));
    report.comparison.differences.clear();
    of_boots(&report, Some(&boot(1, 1.0, true)));
}
