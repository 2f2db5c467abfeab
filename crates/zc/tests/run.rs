//! `zc run` for real, from outside, and its bad days: interrupted, killed, its files cut, its disk full, its limits low,
//! its namespaces forbidden, its CPU alone, another zc beside it. What is measured here is not looked at: other tests run at
//! the same time.

mod common;

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::saved;
use zc_run::EndReason;

/// A run that has a block or two.
const SHORT: [&str; 4] = ["--budget", "6s", "--paths", "sendfile"];

fn zc() -> &'static str {
    env!("CARGO_BIN_EXE_zc")
}

fn run_in(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(zc());
    command.arg("run").args(args).args(["--out", "run.json"]).current_dir(folder).stdin(Stdio::null());
    command
}

/// The same through a shell, which can lower a limit first.
fn run_after(folder: &Path, setup: &str, args: &str) -> Output {
    let script = format!("{setup}; exec {} run {args} --out run.json", zc());
    Command::new("sh").args(["-c", &script]).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Waits until the saved run holds a block; panics when the run ends without one.
fn wait_for_a_block(folder: &Path, child: &mut Child) {
    let patience = Instant::now() + Duration::from_secs(120);
    loop {
        let text = std::fs::read_to_string(folder.join("run.json")).unwrap_or_default();
        if text.contains("{\"index\":0") {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended without a block");
        assert!(Instant::now() < patience, "no block in two minutes");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Network namespaces that some process of this machine is in.
fn namespaces() -> std::collections::BTreeSet<String> {
    let links = std::fs::read_dir("/proc").unwrap().flatten();
    let name = |entry: std::fs::DirEntry| std::fs::read_link(entry.path().join("ns/net")).ok();
    links.filter_map(name).map(|name| name.to_string_lossy().into_owned()).collect()
}

#[test]
fn a_run_prints_its_table_and_saves_what_show_prints_again() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &SHORT).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("sendfile") && table.contains("read+send"), "{table}");
    let run = saved(folder.path());
    assert!(!run.blocks.is_empty());
    assert!(
        run.header.probes.iter().any(|probe| matches!(probe, zc_run::Probe::Proof { cell, .. } if cell == "sendfile"))
    );
    let shown = Command::new(zc()).args(["show", "run.json"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(String::from_utf8(shown.stdout).unwrap(), table);
}

#[test]
fn every_trial_received_what_was_sent_and_every_block_holds_every_cell() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &["--budget", "8s", "--link", "loopback"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let run = saved(folder.path());
    let whole = run.blocks.iter().filter(|block| !matches!(block.dropped, Some(zc_run::Dropped::Unfinished)));
    for block in whole {
        let mut cells: Vec<&str> = Vec::new();
        for slot in &block.slots {
            if let zc_run::Slot::Trial(trial) = slot {
                // Other tests may have had the CPUs for the whole of a window of 12 ms, but not for the whole trial.
                assert!(trial.closed.sent.bytes >= trial.opened.sent.bytes && trial.whole_bytes > 0, "{}", trial.cell);
                assert!(trial.whole_bytes >= trial.closed.received.bytes, "{}", trial.cell);
                if trial.kind == zc_run::TrialKind::Soaked {
                    cells.push(&trial.cell);
                }
            }
        }
        cells.sort_unstable();
        let mut planned: Vec<&str> = run.header.plan.cells.iter().map(|cell| cell.label.as_str()).collect();
        planned.sort_unstable();
        assert_eq!(cells, planned);
    }
}

#[test]
fn ctrl_c_prints_and_saves_what_is_known() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = run_in(folder.path(), &["--paths", "sendfile"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for_a_block(folder.path(), &mut child);
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains("read+send"));
        let run = saved(folder.path());
        assert_eq!(run.end.unwrap().reason, EndReason::Interrupted);
    }
}

#[test]
fn sigkill_loses_no_finished_block_and_leaves_no_namespace() {
    let folder = tempfile::tempdir().unwrap();
    let mut child =
        run_in(folder.path(), &["--paths", "sendfile"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    wait_for_a_block(folder.path(), &mut child);
    let pid = child.id();
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    let text = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    let (run, _) = zc_run::parse(&text).unwrap();
    assert!(!run.blocks.is_empty() && run.end.is_none());
    let left: Vec<_> = namespaces().into_iter().collect();
    assert!(!left.is_empty()); // at least our own; that none of them is zc's is held by tests/link.rs
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing but the run is left in the folder");
}

#[test]
fn a_file_that_becomes_shorter_ends_the_run_with_a_sentence_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cut-me");
    std::fs::write(&file, vec![7; 3 << 20]).unwrap();
    let mut child = run_in(folder.path(), &["--paths", "sendfile,mmap+write,splice", "--files", "cut-me"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_a_block(folder.path(), &mut child);
    std::fs::File::options().write(true).open(&file).unwrap().set_len(100_000).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("\"cut-me\" became shorter"), "{}", stderr(&output));
    let run = saved(folder.path());
    assert!(matches!(run.end.unwrap().reason, EndReason::Failed { .. }));
}

#[test]
fn a_disk_that_fills_up_costs_the_file_and_not_the_result() {
    let folder = tempfile::tempdir().unwrap();
    // A mount namespace of our own, so that the small file system goes with it. Without root: of a user namespace.
    let small = format!(
        "mount -t tmpfs -o size=16k tmpfs . && cd \"$PWD\" && exec {} run --budget 8s --link loopback --out run.json",
        zc()
    );
    let mut unshare = Command::new("unshare");
    if rustix::process::geteuid().is_root() {
        unshare.arg("-m");
    } else {
        unshare.args(["-Urm"]);
    }
    let output = unshare.args(["sh", "-c", &small]).current_dir(folder.path()).stdin(Stdio::null()).output();
    let Ok(output) = output else { return eprintln!("skipped: there is no unshare(1) here") };
    if stderr(&output).contains("unshare:") || stderr(&output).contains("mount:") {
        return eprintln!("skipped: a file system cannot be mounted here");
    }
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("no space left") || stderr(&output).contains("No space left"),
        "{}",
        stderr(&output)
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("read+send"), "the table is printed all the same");
}

#[test]
fn one_cpu_is_enough_to_run_and_the_sides_are_not_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("taskset")
        .args(["-c", &zc_kernel::sched::allowed_cpus().unwrap()[0].to_string(), zc(), "run"])
        .args(SHORT)
        .args(["--out", "run.json"])
        .current_dir(folder.path())
        .output();
    let Ok(output) = output else { return eprintln!("skipped: there is no taskset(1) here") };
    assert!(output.status.success(), "{}", stderr(&output));
    let run = saved(folder.path());
    assert_eq!(run.header.plan.fixed.sender_cpu, run.header.plan.fixed.receiver_cpu);
    assert!(!run.header.link.sides_apart);
}

#[test]
fn few_descriptors_and_little_locked_memory_are_rows_and_sentences_and_no_panics() {
    let folder = tempfile::tempdir().unwrap();
    let output =
        run_after(folder.path(), "ulimit -n 64 -l 64 2>/dev/null || ulimit -n 64", "--budget 8s --link loopback");
    let text = stderr(&output);
    assert!(!text.contains("panicked"), "{text}");
    match output.status.code() {
        Some(0) => assert!(saved(folder.path()).header.plan.cells.len() >= 2),
        // 63 files and the rig's own descriptors do not fit into 64: a sentence and a hint.
        code => assert!(code == Some(4) && text.contains("hint: "), "{code:?} {text}"),
    }
}

#[test]
fn the_null_link_is_taken_where_it_can_be_had_and_its_zero_copy_sends_are_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &["--budget", "8s", "--paths", "msg-zerocopy"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let run = saved(folder.path());
    if run.header.link.kind != zc_run::LinkKind::Null {
        let why = run.header.link.passed_over.iter().find(|why| why.starts_with("null: "));
        assert!(why.is_some(), "{:?}", run.header.link);
        return eprintln!("skipped: {}", why.unwrap());
    }
    let trials = run.blocks.iter().flat_map(|block| &block.slots).filter_map(|slot| match slot {
        zc_run::Slot::Trial(trial) if trial.cell == "msg-zerocopy" => Some(trial),
        _ => None,
    });
    let (completions, copied) =
        trials.fold((0, 0), |sum, trial| (sum.0 + trial.whole_completions, sum.1 + trial.whole_copied));
    assert!(completions > 0);
    assert_eq!(copied, 0);
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("there is no receiver"), "{table}");
}

#[test]
fn without_network_namespaces_the_run_takes_loopback_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "echo 0 > /proc/sys/user/max_net_namespaces && exec {} run --budget 6s --paths sendfile --out run.json",
        zc()
    );
    let output = Command::new("unshare").args(["-Ur", "sh", "-c", &script]).current_dir(folder.path()).output();
    let Ok(output) = output else { return eprintln!("skipped: there is no unshare(1) here") };
    // The shell says what it could not write to; what zc says has no such path in it.
    if stderr(&output).contains("unshare:") || stderr(&output).contains("/proc/sys/user/max_net_namespaces") {
        return eprintln!("skipped: a user namespace whose limits can be set cannot be made here");
    }
    assert!(output.status.success(), "{}", stderr(&output));
    let run = saved(folder.path());
    assert_eq!(run.header.link.kind, zc_run::LinkKind::Loopback);
    assert!(
        run.header.link.passed_over.iter().any(|why| why.starts_with("veth: ")),
        "{:?}",
        run.header.link.passed_over
    );
}

#[test]
fn a_second_zc_is_noticed_and_its_verdicts_withheld() {
    let folder = tempfile::tempdir().unwrap();
    let mut first =
        run_in(folder.path(), &["--paths", "sendfile"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_a_block(folder.path(), &mut first);
    let other = tempfile::tempdir().unwrap();
    let second = run_in(other.path(), &SHORT).output().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(second.status.success(), "{}", stderr(&second));
    assert!(saved(other.path()).header.warnings.iter().any(|warning| warning.name == "another-zc"));
    assert!(String::from_utf8_lossy(&second.stdout).contains("withheld"));
}

/// Opens packet sockets that hear everything in all network namespaces that `process` holds and this one is not in.
fn listen_in_on(process: u32) -> Vec<std::os::fd::OwnedFd> {
    use rustix::net::{AddressFamily, Protocol, SocketType, socket};
    const ETH_P_ALL: u16 = 3;
    let own = std::fs::read_link("/proc/self/ns/net").unwrap();
    let fds = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().flatten();
    let held = fds.map(|entry| entry.path()).filter(|fd| {
        std::fs::read_link(fd).is_ok_and(|target| target != own && target.to_string_lossy().starts_with("net:"))
    });
    held.filter_map(|namespace| {
        // A namespace belongs to a thread.
        let listen = || {
            let namespace = std::fs::File::open(namespace).ok()?;
            let kind = rustix::thread::LinkNameSpaceType::Network;
            rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&namespace), Some(kind)).ok()?;
            let protocol = Protocol::from_raw(std::num::NonZeroU32::new(u32::from(ETH_P_ALL.to_be()))?);
            socket(AddressFamily::PACKET, SocketType::RAW, Some(protocol)).ok()
        };
        std::thread::scope(|scope| scope.spawn(listen).join().unwrap())
    })
    .collect()
}

#[test]
fn a_sniffer_that_comes_in_the_middle_of_a_run_and_goes_again_is_told() {
    if zc_kernel::process::euid() != 0 || !zc_kernel::process::may_make_namespaces() {
        eprintln!("skipped: who is not root may not enter the namespaces of another process");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = run_in(folder.path(), &["--budget", "12s", "--paths", "msg-zerocopy", "--link", "veth"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_a_block(folder.path(), &mut child);
    let sniffers = listen_in_on(child.id());
    assert_eq!(sniffers.len(), 2);
    let text = || std::fs::read_to_string(folder.path().join("run.json")).unwrap_or_default();
    let blocks = || text().matches("{\"index\":").count();
    let (before, patience) = (blocks(), Instant::now() + Duration::from_secs(120));
    // A block that has begun and ended with it.
    while blocks() < before + 2 && child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < patience, "no further block");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(sniffers);
    let output = child.wait_with_output().unwrap();
    let warnings = saved(folder.path()).end.unwrap().warnings;
    let sniffer = warnings.iter().find(|warning| warning.name == "sniffer");
    let sniffer = sniffer.unwrap_or_else(|| panic!("{warnings:?}, {}", stderr(&output)));
    assert!(sniffer.text.contains("(seen after block "), "{}", sniffer.text);
    assert!(stderr(&output).contains("listens in on the link"), "{}", stderr(&output));
}
