//! The text of profiles of synthetic runs with known shares.

use zc_analysis::{Estimates, estimate};
use zc_run::{Run, SampledEvent, SampledTask, SendPath};
use zc_testkit::samples::{CpuShare, with_samples};
use zc_testkit::synthetic::{Synthetic, TrueCell};

const SYSCALL: &[&str] = &["entry_SYSCALL_64_after_hwframe", "do_syscall_64", "tcp_sendmsg"];
const COPY: &[&str] =
    &["entry_SYSCALL_64_after_hwframe", "do_syscall_64", "tcp_sendmsg", "_copy_from_iter"];
const SPLICE: &[&str] =
    &["entry_SYSCALL_64_after_hwframe", "do_syscall_64", "do_sendfile", "splice_to_socket"];
const SOFTIRQ: &[&str] = &["asm_sysvec_call_function_single", "handle_softirqs", "net_rx_action"];
const UNCLASSIFIED: &[&str] =
    &["entry_SYSCALL_64_after_hwframe", "do_syscall_64", "zc_made_this_up"];

fn run(paths: &[SendPath], unknown: f64) -> Run {
    let mut cells: Vec<TrueCell> =
        paths.iter().map(|path| TrueCell::new(*path, 600.0, 200.0)).collect();
    for cell in cells.iter_mut().skip(1) {
        (cell.sender_ns_per_kib, cell.receiver_ns_per_kib) = (320.0, 180.0);
    }
    cells.push(cells[0].control());
    let world =
        Synthetic { cells, blocks: 24, noise: 0.02, block_drift: 0.0, ..Synthetic::default() };
    with_samples(world.run(), |cell| {
        use SampledTask::{Receiver, Sender, Soaker};
        let Some(label) = cell else { return Vec::new() };
        let cpu_share = |cpu, task, stack, share| CpuShare { cpu, task, stack, share };
        let way = if label.starts_with("read+send") {
            cpu_share(0, Sender, COPY, 0.20)
        } else {
            cpu_share(0, Sender, SPLICE, 0.04)
        };
        vec![
            way,
            cpu_share(0, Sender, SYSCALL, 0.10),
            cpu_share(0, Sender, &[], 0.01),
            cpu_share(0, Sender, UNCLASSIFIED, unknown),
            cpu_share(1, Soaker, SOFTIRQ, 0.06),
            cpu_share(1, Receiver, COPY, 0.05),
        ]
    })
}

fn table(run: &Run, columns: usize) -> String {
    crate::table(run, &estimate(run), crate::Layout::plain(columns))
}

#[test]
fn two_paths_are_shown_side_by_side() {
    let run = run(&[SendPath::ReadSend, SendPath::Sendfile], 0.001);
    insta::assert_snapshot!("profile_of_two", table(&run, 120));
    let short = crate::Layout { verbose: false, ..crate::Layout::plain(120) };
    insta::assert_snapshot!("profile_of_two_brief", crate::table(&run, &estimate(&run), short));
    insta::assert_snapshot!("profile_of_two_markdown", crate::markdown(&run, &estimate(&run)));
}

#[test]
fn several_paths_have_a_column_each() {
    let run = run(&[SendPath::ReadSend, SendPath::Sendfile, SendPath::Splice], 0.001);
    insta::assert_snapshot!("profile_of_three", table(&run, 120));
}

#[test]
fn where_a_path_spends_less_is_said_only_of_one_with_a_verdict() {
    let run = run(&[SendPath::ReadSend, SendPath::Sendfile], 0.001);
    let mut estimates = estimate(&run);
    let shown = |estimates: &Estimates| crate::table(&run, estimates, crate::Layout::plain(2000));
    let text = shown(&estimates);
    assert!(text.contains("sendfile spends ") && text.contains(" per KiB less"), "{text}");
    estimates.verdict.cells[0].comparison = zc_analysis::Comparison::Undecided;
    let text = shown(&estimates);
    assert!(text.contains("sendfile and read+send were not shown to differ in cost."), "{text}");
    assert!(!text.contains(" spends "), "{text}");
}

#[test]
fn a_headline_names_no_class_that_a_timer_does_not_resolve() {
    use SampledTask::{Sender, Soaker};
    const ENTRY: &[&str] = &["asm_sysvec_call_function_single", "handle_softirqs"];
    const IPI: &[&str] = &["entry_SYSCALL_64_after_hwframe", "do_syscall_64", "kvm_send_ipi_mask"];
    let plain = run(&[SendPath::ReadSend, SendPath::Sendfile], 0.001);
    let mut run = with_samples(plain, |cell| {
        let Some(label) = cell else { return Vec::new() };
        let times = if label.starts_with("read+send") { 4.0 } else { 1.0 };
        let cpu_share = |cpu, task, stack, share| CpuShare { cpu, task, stack, share };
        vec![
            cpu_share(1, Soaker, ENTRY, 0.06 * times),
            cpu_share(0, Sender, IPI, 0.04 * times),
            cpu_share(0, Sender, COPY, 0.03 * times),
        ]
    });
    run.header.link.rps = Some("sysfs".to_owned());
    let headline = |run: &Run| {
        let short = crate::Layout { verbose: false, ..crate::Layout::plain(400) };
        let text = crate::table(run, &estimate(run), short);
        let sentence = text.lines().find(|line| line.starts_with("sendfile spends"));
        (sentence.unwrap_or_else(|| panic!("{text}")).to_owned(), text.clone())
    };
    for event in [SampledEvent::Cycles, SampledEvent::CpuClock] {
        run.header.sampling.as_mut().unwrap().event = event;
        let (sentence, text) = headline(&run);
        let is_counter = event == SampledEvent::Cycles;
        for class in ["interrupts and softirq entry", "virtualisation"] {
            assert_eq!(sentence.contains(class), is_counter, "{sentence}");
        }
        assert!(sentence.contains("data copy"), "{sentence}");
        assert_eq!(text.contains("Not resolved without a counter"), !is_counter, "{text}");
        assert_eq!(text.contains("zc's own interrupts"), !is_counter, "{text}");
        assert_eq!(text.contains("cpu-clock is a timer"), !is_counter, "{text}");
    }
}

#[test]
fn many_unclassified_samples_are_listed_by_function() {
    let few = table(&run(&[SendPath::ReadSend, SendPath::Sendfile], 0.001), 120);
    assert!(!few.contains("UNKNOWN"), "{few}");
    let many = table(&run(&[SendPath::ReadSend, SendPath::Sendfile], 0.05), 120);
    let warning = many.lines().find(|line| line.starts_with("UNKNOWN")).unwrap();
    assert!(warning.contains("zc_made_this_up"), "{warning}");
}

#[test]
fn a_run_without_a_kept_block_has_a_sentence_about_it() {
    let mut run = run(&[SendPath::ReadSend, SendPath::Sendfile], 0.001);
    run.blocks.clear();
    let table = table(&run, 120);
    assert!(table.contains("no sample counts") && !table.contains("ns/KiB  "), "{table}");
}

#[test]
fn two_runs_are_compared_by_class() {
    let paths = [SendPath::ReadSend, SendPath::Sendfile];
    let (old, new) = (run(&paths, 0.001), run(&paths, 0.02));
    let pairs = vec![(
        "new against old".to_owned(),
        crate::profile::differences((&old, None), (&new, None)),
    )];
    insta::assert_snapshot!("profiles_compared", crate::profile::compared(&pairs, 100));
    assert!(
        crate::profile::compared_markdown(&pairs, 72)
            .lines()
            .all(|line| line.chars().count() <= 72)
    );
    let json: serde_json::Value =
        serde_json::from_str(&crate::profile::compared_json(&pairs)).unwrap();
    assert_eq!(json[0]["cells"][1]["cell"], "sendfile");
    assert!(!crate::profile::compared(&pairs, 100).contains("Not resolved"));
    let mut timed = new.clone();
    timed.header.sampling.as_mut().unwrap().event = SampledEvent::CpuClock;
    let timed = vec![("x".to_owned(), crate::profile::differences((&old, None), (&timed, None)))];
    let text = crate::profile::compared(&timed, 300);
    assert!(
        text.contains("counter of cycles (PMU): interrupts and softirq entry and virtualisation;"),
        "{text}"
    );
    let one = crate::profile::differences((&old, Some("read+send")), (&old, Some("sendfile")));
    assert_eq!(one.len(), 1);
    assert!(one[0].0 == "sendfile against read+send" && one[0].1.paired);
    let mut unsampled = old.clone();
    unsampled.header.sampling = None;
    let nothing =
        vec![("x".to_owned(), crate::profile::differences((&old, None), (&unsampled, None)))];
    assert!(crate::profile::compared(&nothing, 100).starts_with("x: no cell was sampled in both"));
}

#[test]
fn folded_stacks_show_no_control_characters() {
    let mut run = run(&[SendPath::ReadSend], 0.0);
    run.header.plan.cells[0].label = "read+send\u{1b}[2J\r\n\u{202e}".to_owned();
    let samples = run.blocks[0].samples.as_mut().unwrap();
    samples.symbols[0] = "entry;\u{9b}2J\n1 2".to_owned();
    for window in
        run.blocks.iter_mut().flat_map(|block| block.samples.as_mut().unwrap().windows.iter_mut())
    {
        if window.cell.as_deref() == Some("read+send") {
            window.cell = Some(run.header.plan.cells[0].label.clone());
        }
    }
    let folded = crate::folded(&run);
    assert!(
        folded.contains("read+send\\u{1b}[2J\\r\\n\\u{202e};sender;entry_\\u{9b}2J\\n1;"),
        "{folded}"
    );
    assert!(folded.chars().all(|c| zc_run::is_safe(c) || c == '\n'), "{folded}");
}

#[test]
fn folded_stacks_have_one_line_per_stack_and_no_separators_in_names() {
    let mut run = run(&[SendPath::ReadSend, SendPath::Sendfile], 0.001);
    for block in run.blocks.iter_mut().filter_map(|block| block.samples.as_mut()) {
        for name in &mut block.symbols {
            *name = name.replace("tcp_sendmsg", "evil;name\n7");
        }
    }
    let folded = crate::folded(&run);
    assert!(
        folded.lines().all(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap() > 0),
        "{folded}"
    );
    assert!(folded.contains(
        "read+send;sender;entry_SYSCALL_64_after_hwframe;do_syscall_64;evil_name\\n7;\
         _copy_from_iter "
    ));
    assert!(!folded.contains("(A/A)"));
}

#[test]
fn a_profile_of_an_emulated_machine_has_neither_costs_nor_shares() {
    let mut run = run(&[SendPath::ReadSend, SendPath::Sendfile], 0.001);
    let samples = |run: &Run| {
        zc_analysis::profile::profile(run)
            .unwrap()
            .cells
            .iter()
            .map(|cell| cell.samples)
            .sum::<u64>()
    };
    assert!(samples(&run) > 0 && table(&run, 120).contains("data copy"));
    run.header.host.hypervisor = Some(zc_run::EMULATOR.to_owned());
    assert_eq!(samples(&run), 0);
    assert!(!table(&run, 120).contains("data copy"));
}
