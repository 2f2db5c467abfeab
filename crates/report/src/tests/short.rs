//! Snapshots of the short report, and what its colours must not change.

use proptest::prelude::*;

use super::fixture::{iperf3, loopback, null, remote, veth, without_blocks};
use super::fixture_plans::{affinity, cork, mtu, offloads, receive, sixty, sizes, sockbuf};
use crate::*;
use zc_analysis::{Comparison, Estimates, Withheld, estimate};
use zc_run::{Dropped, Run, Severity, Warning};
use zc_testkit::synthetic::Synthetic;

type Made = (Run, Estimates);

fn brief(made: &Made, columns: usize) -> String {
    let text = table(&made.0, &made.1, Layout { verbose: false, ..Layout::plain(columns) });
    assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
    text
}

fn coloured(made: &Made, columns: usize, verbose: bool) -> String {
    table(&made.0, &made.1, Layout { columns, verbose, colour: true })
}

/// The text without SGR escapes. Panics on any other escape.
fn bare(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        let (code, after) = after.split_once('m').expect("an end of the escape");
        assert!(["0", "1", "2", "31", "32", "33"].contains(&code), "{code}");
        rest = after;
    }
    out + rest
}

#[test]
fn the_answer_is_the_last_of_at_most_twenty_five_lines() {
    for made in [veth(), null(), loopback(), remote(), iperf3()] {
        let text = brief(&made, 120);
        assert!(text.lines().count() <= 25, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        let last = text.lines().last().unwrap();
        assert!(
            last.starts_with("sendfile needs ") && last.contains(" less CPU than read+send"),
            "{text}"
        );
    }
    insta::assert_snapshot!("brief_120", brief(&veth(), 120));
    insta::assert_snapshot!("brief_null", brief(&null(), 120));
    insta::assert_snapshot!("brief_loopback", brief(&loopback(), 120));
    insta::assert_snapshot!("brief_remote", brief(&remote(), 120));
}

#[test]
fn a_narrow_terminal_gets_the_columns_that_fit() {
    for columns in [60, 72, 80, 90, 100, 110] {
        let text = brief(&veth(), columns);
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > columns).collect();
        assert!(wide.is_empty(), "{wide:#?}");
        assert!(text.contains("verdict") && text.contains("both"), "{text}");
    }
    let text = brief(&iperf3(), 60);
    assert!(text.contains("sender") && !text.contains("both "), "the only cost stays: {text}");
    insta::assert_snapshot!("brief_80", brief(&veth(), 80));
}

#[test]
fn a_plan_of_several_factors_has_one_grid_and_its_conclusion() {
    insta::assert_snapshot!("brief_sizes", brief(&sizes(), 100));
    insta::assert_snapshot!("brief_offloads", brief(&offloads(), 100));
    for made in [receive(), cork(), affinity(), sockbuf(), mtu(), sixty()] {
        let text = brief(&made, 100);
        assert_eq!(text.matches("Ratio of ").count(), 1, "{text}");
        assert!(!text.contains("As in 200") && !text.contains("memcpy"), "{text}");
    }
}

#[test]
fn withheld_verdicts_are_not_in_the_short_report() {
    let (run, mut estimates) = veth();
    estimates.verdict.withheld = vec![Withheld::NoControl];
    let text = brief(&(run, estimates), 120);
    assert!(text.lines().last().unwrap().starts_with("Verdict withheld: "), "{text}");
    assert!(!text.contains(" less") && !text.contains(" more"), "{text}");
    insta::assert_snapshot!("brief_without_blocks", brief(&without_blocks(), 100));
    for (run, _) in [veth(), sizes(), offloads()] {
        let estimates = estimate(&run);
        assert!(brief(&(run, estimates), 100).contains("Verdict withheld"));
    }
}

#[test]
fn a_run_on_a_busy_machine_has_a_table_of_rough_figures_in_every_form() {
    let mut run = Synthetic { blocks: 8, ..Synthetic::default() }.run();
    for block in &mut run.blocks {
        block.dropped = Some(Dropped::Foreign { share: 0.9 });
    }
    let estimates = estimate(&run);
    let page = html(&[(&run, &estimates)]);
    let made = (run, estimates);
    let text = brief(&made, 100);
    insta::assert_snapshot!("brief_rough", text);
    let whole = table(&made.0, &made.1, Layout::plain(100));
    for form in [&text, &whole, &markdown(&made.0, &made.1), &page] {
        assert!(form.contains("Rough figures of 8 blocks that were dropped."), "{form}");
    }
}

#[test]
fn where_nothing_costs_less_the_answer_counts_the_verdicts() {
    let (run, mut estimates) = veth();
    for verdict in &mut estimates.verdict.cells {
        if let Comparison::Cheaper { .. } = verdict.comparison {
            verdict.comparison = Comparison::Undecided;
        }
    }
    let text = brief(&(run, estimates), 120);
    let last = text.lines().last().unwrap();
    let expected = "No path was shown to need less CPU than read+send over veth: 1 more, 1 the \
        same and 3 undecided.";
    assert_eq!(last, expected);
}

#[test]
fn doubts_and_failed_trials_are_named_and_notes_are_not() {
    let (mut run, estimates) = offloads();
    run.header.warnings.push(Warning::new("steal", Severity::Doubt, "the same name once more"));
    run.header.warnings.push(Warning::new(
        "sniffer",
        Severity::Withhold,
        "a packet socket listens",
    ));
    let text = brief(&(run, estimates), 100);
    assert!(
        text.contains(
            "\ndoubts        what weakens figures: sniffer, steal; zc show -v explains\n"
        ),
        "{text}"
    );
    assert!(text.contains("\nfailed        2 trials; zc show -v explains\n"), "{text}");
    assert!(!text.contains("virtual"), "{text}");
}

#[test]
fn a_word_of_zc_s_own_is_explained_where_it_is_first_printed() {
    let full = table(&null().0, &null().1, Layout::plain(1000));
    for (text, label, clause) in [
        (brief(&null(), 1000), "positive", "a known cost of "),
        (brief(&null(), 1000), "harness", "the cost of zc itself (pacing, metering), "),
        (brief(&null(), 1000), "perturbation", "soakers (which count idle time) changed "),
        (brief(&null(), 1000), "doubts", "what weakens figures: "),
        (full, "run", "soakers (threads of lowest priority, which count idle CPU time)"),
    ] {
        let line = text.lines().find(|line| line.starts_with(&format!("{label} ")));
        assert!(line.is_some_and(|line| line.contains(clause)), "{label}: {line:?}");
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    for made in [veth(), null(), loopback(), without_blocks(), sizes(), offloads(), sockbuf()] {
        for columns in [60, 80, 120] {
            assert_eq!(bare(&coloured(&made, columns, false)), brief(&made, columns));
            assert_eq!(
                bare(&coloured(&made, columns, true)),
                table(&made.0, &made.1, Layout::plain(columns))
            );
        }
    }
    let text = coloured(&veth(), 120, false);
    for painted in [
        "\u{1b}[32m33 % less\u{1b}[0m",
        "\u{1b}[31m17 % more\u{1b}[0m",
        "\u{1b}[33mundecided\u{1b}[0m",
    ] {
        assert!(text.contains(painted), "{text:?}");
    }
    assert!(text.contains("\u{1b}[1msendfile needs"), "{text:?}");
    let text = coloured(&sizes(), 120, false);
    assert!(text.contains("\u{1b}[32m0.643 ±1.3 %\u{1b}[0m"), "{text:?}");
    assert!(
        text.contains("\u{1b}[31m1.835 ±0.8 %\u{1b}[0m")
            && text.contains("\u{1b}[33m1.02 ±2.8 %!?"),
        "{text:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_and_no_width_makes_a_short_report_panic(
        text in any::<String>(),
        columns in 0_usize..300,
    ) {
        let (mut run, mut estimates) = veth();
        run.header.host.hostname.clone_from(&text);
        run.header.host.cpu.model.clone_from(&text);
        run.header.plan.files.origin.clone_from(&text);
        run.header.unavailable[0].name.clone_from(&text);
        run.header.warnings = vec![Warning::new(&text, Severity::Doubt, text.clone())];
        for cell in &mut estimates.cells {
            cell.label.clone_from(&text);
        }
        for verdict in &mut estimates.verdict.cells {
            verdict.label.clone_from(&text);
        }
        estimates.reference = text;
        let made = (run, estimates);
        let plain = brief(&made, columns);
        prop_assert!(!plain.chars().any(|c| c.is_control() && c != '\n'));
        prop_assert_eq!(bare(&coloured(&made, columns, false)), plain);
    }
}

#[test]
fn traffic_that_takes_as_little_as_windows_scatter_is_named_where_controls_are_wide() {
    let mut made = veth();
    let said = "traffic       at 700 kB/s it takes some ";
    made.0.header.plan.fixed.rate_bytes_per_s = 7e5;
    assert!(!brief(&made, 120).contains(said));
    made.1.control.as_mut().unwrap().resolution = None;
    let text = brief(&made, 120);
    assert!(text.contains(said) && text.contains("a higher --rate"), "{text}");
    // As much traffic as usual is not what makes them wide.
    made.0.header.plan.fixed.rate_bytes_per_s = 4e8;
    assert!(!brief(&made, 120).contains("traffic  "));
}

#[test]
fn the_line_of_blocks_says_what_was_beside_the_traffic() {
    let (run, estimates) = veth();
    let line = |change: fn(&mut zc_analysis::Estimates)| {
        let mut estimates = estimates.clone();
        estimates.blocks.dropped = zc_analysis::DropCounts::default();
        (estimates.blocks.kept, estimates.blocks.measured) = (135, 135);
        estimates.conditions.steal_share = Some(0.015);
        estimates.other_programs.as_mut().unwrap().windows_left_out = 3;
        change(&mut estimates);
        crate::run::account::blocks(&run, &estimates, &[]).text
    };
    assert_eq!(
        line(|_| ()),
        "135 of 135; other programs used 11 % of 2 CPUs (CPU 1 22 %), the hypervisor 1.5 %: \
         neither is in the costs; 3 of 1,890 windows left out: the soakers hardly ran"
    );
    let alone = line(|estimates| {
        estimates.conditions.steal_share = None;
        estimates.other_programs.as_mut().unwrap().by_cpu.clear();
        estimates.other_programs.as_mut().unwrap().windows_left_out = 0;
    });
    assert_eq!(alone, "135 of 135; other programs used 11 % of 2 CPUs, which is not in the costs");
    let mut named = run.clone();
    named.end.as_mut().unwrap().other_programs =
        vec![zc_run::OtherProgram { name: "rustc".to_owned(), cpus: 0.8 }];
    let text = crate::run::account::blocks(&named, &estimates, &[]).text;
    assert!(text.contains("of 2 CPUs (rustc 0.80 CPUs; CPU 1 22 %)"), "{text}");
    let by_wall = line(|estimates| estimates.other_programs = None);
    assert_eq!(by_wall, "135 of 135 kept; the hypervisor took 1.5 %");
}

#[test]
fn work_of_other_tasks_is_said_to_be_there_or_not() {
    let (_, mut estimates) = veth();
    let said = |estimates: &zc_analysis::Estimates| {
        crate::run::account::unattributed(estimates).map(|note| note.text)
    };
    let nothing = said(&estimates).unwrap();
    assert!(nothing.starts_with("+0.3 ±1.2 us/MB at most"), "{nothing}");
    assert!(nothing.ends_with(": no other task worked for the traffic"), "{nothing}");
    estimates.unattributed.as_mut().unwrap().added = true;
    assert!(said(&estimates).unwrap().ends_with("is in the costs"));
    estimates.unattributed = None;
    assert_eq!(said(&estimates), None);
}
