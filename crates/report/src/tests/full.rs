//! Snapshots of the reports (`cargo insta review` after an intended change).

use proptest::prelude::*;

use super::fixture::{iperf3, loopback, null, remote, veth, without_blocks};
use crate::*;
use zc_analysis::{Estimates, Withheld, estimate};
use zc_run::{LinkKind, Run, Severity, Support, SupportRow, Unavailable, Warning};

fn all(run: &Run, estimates: &Estimates) -> [String; 5] {
    [
        table(run, estimates, Layout::plain(120)),
        table(run, estimates, Layout::plain(80)),
        markdown(run, estimates),
        csv(run, estimates),
        json(run, estimates),
    ]
}

fn doctor_rows() -> Vec<SupportRow> {
    let row = |what: &str, name: &str, support| SupportRow {
        what: what.to_owned(),
        name: name.to_owned(),
        support,
    };
    vec![
        row("send path", "sendfile", Support::Yes),
        row(
            "send path",
            "uring-send-zc",
            Support::No(
                Unavailable::refused(
                    "io_uring is switched off for this user (kernel.io_uring_disabled = 1)",
                )
                .remedy("sysctl kernel.io_uring_disabled=0"),
            ),
        ),
        row(
            "link",
            "veth",
            Support::No(
                Unavailable::unsupported("this kernel has no veth").remedy("modprobe veth"),
            ),
        ),
        row("link", "loopback", Support::Yes),
        row(
            "meter",
            "interrupts",
            Support::No(Unavailable::unknown("/proc/interrupts cannot be read")),
        ),
    ]
}

#[test]
fn a_wide_terminal_gets_one_table() {
    let (run, estimates) = veth();
    let text = table(&run, &estimates, Layout::plain(120));
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    insta::assert_snapshot!("table_120", text);
}

#[test]
fn a_cost_on_an_idle_host_that_is_not_known_to_be_above_0_is_left_out() {
    let (run, mut estimates) = null();
    let shown = |estimates: &Estimates| table(&run, estimates, Layout::plain(200));
    assert!(shown(&estimates).contains("idle host"));
    for cell in &mut estimates.cells {
        let idle = cell.idle_host_ns_per_kib.as_mut().unwrap();
        if cell.reference {
            idle.interval.as_mut().unwrap().low = 0.0;
        } else {
            (idle.interval, idle.half_width) = (None, None);
        }
    }
    // Neither a column nor a note is left.
    assert!(!shown(&estimates).contains("idle host"), "{}", shown(&estimates));
}

#[test]
fn a_narrow_terminal_gets_stacked_tables() {
    let (run, estimates) = veth();
    let text = table(&run, &estimates, Layout::plain(90));
    assert!(text.lines().all(|line| line.chars().count() <= 90), "{text}");
    insta::assert_snapshot!("table_90", text);
}

#[test]
fn on_loopback_the_columns_of_both_sides_are_empty() {
    let (run, estimates) = loopback();
    insta::assert_snapshot!("table_loopback", table(&run, &estimates, Layout::plain(120)));
}

#[test]
fn two_machines_are_named_above_the_table() {
    let (run, estimates) = remote();
    insta::assert_snapshot!("table_remote", table(&run, &estimates, Layout::plain(118)));
}

#[test]
fn the_figure_of_an_iperf3_server_is_separate_from_the_cost_of_the_sender() {
    let (run, estimates) = iperf3();
    insta::assert_snapshot!("table_iperf3", table(&run, &estimates, Layout::plain(118)));
}

#[test]
fn over_a_link_without_a_receiver_every_text_is_about_the_sender() {
    let (run, estimates) = null();
    insta::assert_snapshot!("table_null", table(&run, &estimates, Layout::plain(120)));
    for text in all(&run, &estimates).into_iter().take(3) {
        assert!(
            !text.contains("both ends")
                && !text.contains("received by")
                && !text.contains("receiver on"),
            "{text}"
        );
    }
}

#[test]
fn where_the_receiver_was_not_measured_every_text_is_about_the_sender() {
    let (mut run, estimates) = null();
    run.header.plan.fixed.link = LinkKind::Remote;
    let text = table(&run, &estimates, Layout::plain(200));
    assert!(
        text.contains(
            "over remote the receiver was not measured, so every figure is the sender's alone"
        ),
        "{text}"
    );
    assert!(text.contains("over remote at 400 MB/s, for the sender alone,"), "{text}");
    assert!(
        !text.contains("both ends")
            && !text.contains("received by")
            && !text.contains("has no receiver"),
        "{text}"
    );
}

#[test]
fn a_run_without_blocks_is_shown_with_what_it_has() {
    let (run, estimates) = without_blocks();
    insta::assert_snapshot!("table_without_blocks", table(&run, &estimates, Layout::plain(120)));
    for text in all(&run, &estimates) {
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}

#[test]
fn estimates_of_a_run_without_blocks_can_be_printed() {
    let (run, _) = without_blocks();
    let estimates = estimate(&run);
    for text in all(&run, &estimates) {
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}

#[test]
fn a_withheld_verdict_has_a_reason_and_no_word_in_the_table() {
    let (mut run, mut estimates) = veth();
    run.header.warnings.push(
        Warning::new("sniffer", Severity::Withhold, "a packet socket listens to all protocols")
            .remedy("stop tcpdump"),
    );
    estimates.verdict.withheld = vec![
        Withheld::ControlDiffers { ratio: 1.043, low: 1.01, high: Some(1.076) },
        Withheld::Warning { name: "sniffer".to_owned(), severity: Severity::Withhold },
        Withheld::BusyMachine { dropped: 90, measured: 150 },
    ];
    if let Some(control) = &mut estimates.control {
        control.fits = Some(false);
    }
    let text = table(&run, &estimates, Layout::plain(120));
    assert!(!text.contains(" less") && !text.contains(" more"), "{text}");
    insta::assert_snapshot!("table_withheld", text);
    assert!(csv(&run, &estimates).contains(",withheld,"));
}

#[test]
fn time_on_other_cpus_is_a_note() {
    let (run, mut estimates) = veth();
    assert!(!table(&run, &estimates, Layout::plain(120)).contains("other CPUs"));
    estimates.cells[0].other_cpus_ns_per_kib = estimates.cells[0].cost_ns_per_kib.sender;
    let text = table(&run, &estimates, Layout::plain(120));
    assert!(
        text.contains("other CPUs    175.8 (sendfile) to 175.8 (sendfile) us/MB were used"),
        "{text}"
    );
}

#[test]
fn markdown_has_the_same_content() {
    let (run, estimates) = veth();
    insta::assert_snapshot!("markdown", markdown(&run, &estimates));
}

#[test]
fn csv_has_one_line_per_cell() {
    let (run, estimates) = veth();
    let text = csv(&run, &estimates);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let columns = reader.headers().unwrap().len();
    let records: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), estimates.cells.len() + run.header.unavailable.len());
    assert!(records.iter().all(|record| record.len() == columns));
    insta::assert_snapshot!("csv", text);
}

#[test]
fn csv_has_a_later_column_only_where_a_cell_has_a_value() {
    let (run, mut estimates) = veth();
    let has = |estimates: &Estimates, name: &str| {
        let text = csv(&run, estimates);
        text.lines().next().unwrap().split(',').any(|column| column == name)
    };
    assert!(!has(&estimates, "acks_per_mb"));
    estimates.cells[1].traffic.acks_per_mb = Some(7.5);
    assert!(has(&estimates, "acks_per_mb"));
    // One that was published stays.
    assert!(has(&estimates, "fragments_per_packet"));
    assert!(estimates.cells.iter().all(|cell| cell.traffic.fragments_per_packet.is_none()));
}

#[test]
fn json_is_one_document_with_numbers_and_nulls() {
    let (run, estimates) = loopback();
    let value: serde_json::Value = serde_json::from_str(&json(&run, &estimates)).unwrap();
    assert_eq!(value["run"]["zc_run"], zc_run::MAJOR);
    assert_eq!(value["run"]["plan"]["fixed"]["link"], "loopback");
    assert_eq!(value["run"]["blocks"], 0);
    assert!(value["estimates"]["cells"][0]["cost_us_per_mb"]["both"]["value"].is_number());
    assert!(value["estimates"]["cells"][0]["cost_us_per_mb"]["sender"].is_null());
}

#[test]
fn the_same_document_gives_the_same_bytes() {
    let (run, estimates) = veth();
    assert_eq!(all(&run, &estimates), all(&run.clone(), &estimates.clone()));
}

#[test]
fn the_doctor_groups_what_is_available() {
    let (mut run, _) = veth();
    let kept = [("init_on_alloc", "on"), ("transparent hugepages", "madvise")];
    let kept = kept.map(|(name, value)| (name.to_owned(), value.to_owned()));
    run.header.host.conditions.extend(kept);
    let text = doctor::text(&run.header.host, &doctor_rows(), &run.header.warnings, 100);
    insta::assert_snapshot!("doctor", text);
}

#[test]
fn the_doctor_of_a_perfect_machine_finds_nothing() {
    let (run, _) = veth();
    let text = doctor::text(&run.header.host, &[], &[], 100);
    assert!(
        text.ends_with("This machine is fit to measure: nothing was found against it.\n"),
        "{text}"
    );
}

/// A run in which every string from outside is `text`.
fn hostile(text: &str) -> (Run, Estimates) {
    let (mut run, mut estimates) = veth();
    let header = &mut run.header;
    header.zc_version = text.to_owned();
    header.started_at = text.to_owned();
    header.host.hostname = text.to_owned();
    header.host.kernel_release = text.to_owned();
    header.host.machine = text.to_owned();
    header.host.cpu.model = text.to_owned();
    header.host.hypervisor = Some(text.to_owned());
    header.host.clocksource = Some(text.to_owned());
    header.host.cpu.governor = Some(text.to_owned());
    header.plan.experiment = text.to_owned();
    header.plan.fixed.congestion = text.to_owned();
    header.plan.files.origin = text.to_owned();
    header.plan.files.filesystem = text.to_owned();
    header.link.passed_over = vec![text.to_owned()];
    header.warnings = vec![Warning::new(text, Severity::Withhold, text).remedy(text)];
    header.unavailable = vec![SupportRow {
        what: text.to_owned(),
        name: text.to_owned(),
        support: Support::No(Unavailable::failed(text).remedy(text)),
    }];
    if let Some(end) = &mut run.end {
        end.reason = zc_run::EndReason::Failed { reason: text.to_owned() };
    }
    for cell in &mut estimates.cells {
        cell.label = text.to_owned();
    }
    for verdict in &mut estimates.verdict.cells {
        verdict.label = text.to_owned();
    }
    estimates.reference = text.to_owned();
    estimates.verdict.cheapest = vec![text.to_owned(), text.to_owned()];
    (run, estimates)
}

#[test]
fn nothing_from_outside_can_move_the_cursor() {
    let (run, mut estimates) = hostile("a\u{1b}[2J\u{9b}1A\r\n\u{202e}|b");
    for withheld in [
        vec![],
        vec![Withheld::Warning { name: "a\u{1b}[2J".to_owned(), severity: Severity::Withhold }],
    ] {
        estimates.verdict.withheld = withheld;
        let rows = run.header.unavailable.clone();
        for text in [
            table(&run, &estimates, Layout::plain(120)),
            table(&run, &estimates, Layout::plain(60)),
            markdown(&run, &estimates),
            doctor::text(&run.header.host, &rows, &run.header.warnings, 80),
        ] {
            let control = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
            assert_eq!(control, None, "{text}");
            assert!(!text.lines().any(|line| line.starts_with("|b")), "{text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_and_no_width_panics(text in any::<String>(), columns in 0_usize..300) {
        let (run, estimates) = hostile(&text);
        let rows = run.header.unavailable.clone();
        let printed = table(&run, &estimates, Layout::plain(columns))
            + &doctor::text(&run.header.host, &rows, &run.header.warnings, columns);
        prop_assert!(!printed.chars().any(|c| c.is_control() && c != '\n'));
        let _ = (markdown(&run, &estimates), csv(&run, &estimates), json(&run, &estimates));
    }
}
