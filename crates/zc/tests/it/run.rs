//! `zc run` from outside, also when it is interrupted or killed, its files are truncated, the disk
//! is full, limits are low, namespaces are forbidden, there is one CPU, or another zc is running.
//! Speeds are not checked: the machine may be busy.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use zc_run::{Block, Dropped, EndReason, Header, Severity, TrialKind};

use crate::support::{
    Bounded as _, NOT_HERE, NOTHING_KEPT, Running, ZC, assert_ended, blocks_of, blocks_saved,
    failed, interrupted_when, measuring, on_small_disk, refused, saved, stderr, until,
    wait_for_blocks, zc_in,
};

/// Options of a run that ends by itself. If it is prepared in time, it begins a block.
const SHORT: [&str; 4] = ["--budget", "2s", "--paths", "sendfile"];

fn run_in(folder: &Path, args: &[&str]) -> Command {
    let mut command = zc_in(folder, &["run"]);
    command.args(args).args(["--out", "run.json"]);
    command
}

/// The same, started with its output in pipes.
fn started(folder: &Path, args: &[&str]) -> Running {
    run_in(folder, args).stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap()
}

/// The same through a shell, which can lower a limit first.
fn run_after(folder: &Path, setup: &str, args: &str) -> Output {
    let script = format!("{setup}; exec {ZC} run {args} --out run.json");
    Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder)
        .stdin(Stdio::null())
        .finish()
        .unwrap()
}

/// The network namespaces that a process or one of its threads is in, or holds open.
fn namespaces_of(process: &Path) -> BTreeSet<PathBuf> {
    let entries =
        |folder: &str| std::fs::read_dir(process.join(folder)).into_iter().flatten().flatten();
    let held = entries("fd").map(|entry| entry.path());
    let within = entries("task").map(|entry| entry.path().join("ns/net"));
    held.chain(within)
        .filter_map(|link| std::fs::read_link(link).ok())
        .filter(|target| target.to_string_lossy().starts_with("net:"))
        .collect()
}

/// All processes of this machine.
fn processes() -> impl Iterator<Item = PathBuf> {
    let is_process = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok())
    };
    std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).filter(is_process)
}

#[test]
fn a_run_prints_its_table_and_saves_what_show_prints_again() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &SHORT).finish().unwrap();
    assert_ended(&output);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("sendfile") && table.contains("read+send"), "{table}");
    let run = saved(folder.path());
    assert!(!run.blocks.is_empty());
    assert!(
        run.header
            .probes
            .iter()
            .any(|probe| matches!(probe, zc_run::Probe::Proof { cell, .. } if cell == "sendfile"))
    );
    let shown = zc_in(folder.path(), &["show", "run.json"]).finish().unwrap();
    assert_eq!(String::from_utf8(shown.stdout).unwrap(), table);
}

#[test]
fn every_trial_received_what_was_sent_and_every_block_holds_every_cell() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    blocks_of(folder.path(), &mut run_in(folder.path(), &["--link", "loopback"]), 3);
    let run = saved(folder.path());
    let is_whole =
        |block: &&zc_run::Block| !matches!(block.dropped, Some(zc_run::Dropped::Unfinished));
    let whole: Vec<&zc_run::Block> = run.blocks.iter().filter(is_whole).collect();
    assert!(!whole.is_empty(), "{:?}", run.end);
    let mut received = std::collections::BTreeMap::<&str, u64>::new();
    for block in whole {
        let (mut cells, mut paced) = (Vec::<&str>::new(), 0);
        for slot in &block.slots {
            if let zc_run::Slot::Trial(trial) = slot {
                if trial.kind == TrialKind::Paced {
                    assert_eq!((trial.whole_bytes, trial.closed.sent.calls), (0, 0));
                    paced += 1;
                    continue;
                }
                // Other programs may have had the CPUs for a whole trial, but not for all of a
                // cell.
                *received.entry(&trial.cell).or_default() += trial.whole_bytes;
                assert!(trial.closed.sent.bytes >= trial.opened.sent.bytes, "{}", trial.cell);
                assert!(trial.whole_bytes >= trial.closed.received.bytes, "{}", trial.cell);
                if trial.kind == TrialKind::Soaked {
                    cells.push(&trial.cell);
                }
            }
        }
        // The limit of locked memory holds for all processes of a user, and the tests of rings use
        // it up at the same time. Nothing else may fail.
        for failed in &block.failed {
            assert!(failed.reason.contains("RLIMIT_MEMLOCK"), "{failed:?}");
            cells.push(&failed.cell);
        }
        cells.sort_unstable();
        cells.dedup(); // an unsoaked trial may have failed
        let mut planned: Vec<&str> =
            run.header.plan.cells.iter().map(|cell| cell.label.as_str()).collect();
        planned.sort_unstable();
        assert_eq!(cells, planned);
        assert_eq!(paced, 1, "all cells are paced in the same way");
    }
    assert!(received.values().all(|bytes| *bytes > 0), "{received:?}");
}

#[test]
fn ctrl_c_prints_and_saves_what_is_known() {
    let _turn = measuring();
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = started(folder.path(), &["--paths", "sendfile"]);
        wait_for_blocks(folder.path(), &mut child, 1);
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
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let mut child = run_in(folder.path(), &["--paths", "sendfile"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .start()
        .unwrap();
    wait_for_blocks(folder.path(), &mut child, 1);
    let process = PathBuf::from(format!("/proc/{}", child.id()));
    let mut held = namespaces_of(&process);
    held.remove(&std::fs::read_link("/proc/self/ns/net").unwrap());
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert!(!process.exists());
    let text = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    let (run, _) = zc_run::parse(&text).unwrap();
    assert!(!run.blocks.is_empty() && run.end.is_none());
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing but the run is left in the folder"
    );
    if run.header.link.kind == zc_run::LinkKind::Loopback {
        return eprintln!(
            "skipped: no link with network namespaces: {:?}",
            run.header.link.passed_over
        );
    }
    assert!(held.len() >= 2, "a namespace for each side: {held:?}");
    // A namespace lasts as long as a process is in it or holds it: the link's helpers end with zc,
    // and not at the same moment.
    until("no process has a namespace of the killed run", || {
        processes().all(|process| namespaces_of(&process).is_disjoint(&held)).then_some(())
    });
}

#[test]
fn a_file_that_becomes_shorter_ends_the_run_with_a_sentence_that_names_it() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cut-me");
    std::fs::write(&file, vec![7; 3 << 20]).unwrap();
    let mut child =
        started(folder.path(), &["--paths", "sendfile,mmap+write,splice", "--files", "cut-me"]);
    wait_for_blocks(folder.path(), &mut child, 1);
    std::fs::File::options().write(true).open(&file).unwrap().set_len(100_000).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(failed(&output, 3), "file-shrank");
    assert!(stderr(&output).contains("\"cut-me\""), "{}", stderr(&output));
    let run = saved(folder.path());
    assert!(matches!(run.end.unwrap().reason, EndReason::Failed { .. }));
}

#[test]
fn a_disk_that_fills_up_costs_the_file_and_not_the_result() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    // Smaller than what a run saves before its first block.
    let script = format!("exec {ZC} run --budget 2s --link loopback --out run.json");
    let Some(output) = on_small_disk(folder.path(), "8k", &script) else { return };
    assert_eq!(failed(&output, 5), "cannot-save-run");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("read+send"),
        "the table is printed all the same"
    );
}

#[test]
fn a_machine_that_is_always_busy_ends_a_strict_run_early_with_rough_figures() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let cpus = zc_kernel::sched::allowed_cpus().unwrap();
    let busy: Vec<Running> = cpus
        .iter()
        .map(|_| Command::new("sh").args(["-c", "while :; do :; done"]).start().unwrap())
        .collect();
    let run_within = |budget| {
        let _ = std::fs::remove_file(folder.path().join("run.json"));
        let args = ["--strict", "--budget", budget, "--paths", "sendfile", "--link", "loopback"];
        run_in(folder.path(), &args).finish().unwrap()
    };
    let mut output = run_within("12s");
    // One block says nothing. A machine may be so slow that there is no second one in that time.
    if saved(folder.path()).blocks.len() < 2 {
        output = run_within("60s");
    }
    assert_eq!(failed(&output, NOTHING_KEPT), "nothing-kept");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("Rough figures of ") && printed.contains("ended early"), "{printed}");
    let end = saved(folder.path()).end.unwrap();
    assert!(matches!(end.reason, EndReason::Failed { .. }), "{:?}", end.reason);

    let waiting = ["--wait-until-quiet", "1s", "--link", "loopback"];
    let other = tempfile::tempdir().unwrap();
    let output = run_in(other.path(), &waiting).finish().unwrap();
    assert_eq!(refused(&output, NOTHING_KEPT), "not-quiet");
    assert!(!other.path().join("run.json").exists());
    drop(busy);
}

#[test]
fn beside_other_programs_all_blocks_count_and_the_programs_are_named() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    // In a session of its own, as other users' programs are.
    let mut busy = Command::new("setsid");
    let Ok(busy) = busy.args(["-w", "sh", "-c", "while :; do :; done"]).start() else {
        return eprintln!("skipped: there is no setsid(1) here");
    };
    let args = ["--paths", "sendfile", "--link", "loopback"];
    blocks_of(folder.path(), &mut run_in(folder.path(), &args), 2);
    drop(busy);
    let run = saved(folder.path());
    if run.header.host.irq_time_accounting == Some(true) {
        return eprintln!("skipped: task clocks of this kernel leave out interrupts");
    }
    let dropped = |block: &&Block| {
        !matches!(block.dropped, None | Some(Dropped::Unfinished | Dropped::TrialFailed { .. }))
    };
    assert_eq!(run.blocks.iter().find(dropped), None);
    let end = run.end.unwrap();
    let is_named = end.other_programs.iter().any(|program| program.name == "sh");
    assert!(is_named, "{:?}", end.other_programs);
    let note = end.warnings.iter().find(|warning| warning.name == "other-programs").unwrap();
    assert!(note.text.contains("sh "), "{}", note.text);
    assert_eq!(note.severity, Severity::Note);
}

#[test]
fn one_cpu_is_enough_to_run_and_the_sides_are_not_separated() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    if Command::new("taskset").arg("-V").finish().is_err() {
        return eprintln!("skipped: there is no taskset(1) here");
    }
    let mut command = Command::new("taskset");
    command.args([
        "-c",
        &zc_kernel::sched::allowed_cpus().unwrap()[0].to_string(),
        ZC,
        "run",
        "--paths",
        "sendfile",
    ]);
    command.args(["--out", "run.json"]).current_dir(folder.path()).stdin(Stdio::null());
    blocks_of(folder.path(), &mut command, 1);
    let run = saved(folder.path());
    assert_eq!(run.header.plan.fixed.sender_cpu, run.header.plan.fixed.receiver_cpu);
    assert!(!run.header.link.sides_apart);
}

#[test]
fn few_descriptors_and_little_locked_memory_are_rows_and_sentences_and_no_panics() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let output = run_after(
        folder.path(),
        "ulimit -n 64 -l 64 2>/dev/null || ulimit -n 64",
        "--budget 8s --link loopback",
    );
    let text = stderr(&output);
    assert!(!text.contains("panicked"), "{text}");
    match output.status.code() {
        Some(0 | NOTHING_KEPT) => assert!(saved(folder.path()).header.plan.cells.len() >= 2),
        // 63 files and the rig's own descriptors do not fit into 64: a sentence and a hint.
        code => assert!(code == Some(4) && text.contains("hint: "), "{code:?} {text}"),
    }
}

#[test]
fn the_null_link_is_taken_where_it_can_be_had_and_its_zero_copy_sends_are_not_copied() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let output =
        blocks_of(folder.path(), &mut run_in(folder.path(), &["--paths", "msg-zerocopy", "-v"]), 2);
    let run = saved(folder.path());
    if run.header.link.kind != zc_run::LinkKind::Null {
        let why = run.header.link.passed_over.iter().find(|why| why.starts_with("null: "));
        assert!(why.is_some(), "{:?}", run.header.link);
        return eprintln!("skipped: {}", why.unwrap());
    }
    let trials = || {
        run.blocks.iter().flat_map(|block| &block.slots).filter_map(|slot| match slot {
            zc_run::Slot::Trial(trial) => Some(trial),
            zc_run::Slot::Idle(_) => None,
        })
    };
    let (completions, copied) = trials()
        .filter(|trial| trial.cell == "msg-zerocopy")
        .fold((0, 0), |sum, trial| (sum.0 + trial.whole_completions, sum.1 + trial.whole_copied));
    assert!(completions > 0);
    assert_eq!(copied, 0);
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("no receiver"), "{table}");

    // Counting costs time for each packet, so no window whose cost is measured has it.
    let counts = |kind: TrialKind| trials().filter(move |trial| trial.kind == kind);
    assert!(counts(TrialKind::Soaked).all(|trial| trial.fragments.is_none()));
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return eprintln!("skipped: no kernel BTF, so fragments are not counted");
    }
    assert!(counts(TrialKind::TopSpeed).next().is_some());
    for trial in counts(TrialKind::TopSpeed) {
        let counted = trial.fragments.unwrap_or_default();
        assert!(counted.packets > 0 && counted.fragments >= counted.packets, "{counted:?}");
    }
}

#[test]
fn without_network_namespaces_the_run_takes_loopback_and_says_so() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "(echo 0 > /proc/sys/user/max_net_namespaces) || exit {NOT_HERE}; \
         exec {ZC} run --budget 2s --paths sendfile --out run.json"
    );
    let mut unshare = Command::new("unshare");
    let output = unshare
        .args(["-Ur", "sh", "-c", &script])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .finish();
    let Ok(output) = output else { return eprintln!("skipped: there is no unshare(1) here") };
    // The shell's message contains the path that it could not write to; zc's does not.
    let no_limits = stderr(&output).contains("/proc/sys/user/max_net_namespaces");
    if output.status.code() == Some(NOT_HERE)
        || stderr(&output).starts_with("unshare: ")
        || no_limits
    {
        return eprintln!(
            "skipped: a user namespace cannot be made here: {}",
            stderr(&output).trim_end()
        );
    }
    assert_ended(&output);
    let run = saved(folder.path());
    assert_eq!(run.header.link.kind, zc_run::LinkKind::Loopback);
    assert!(
        run.header.link.passed_over.iter().any(|why| why.starts_with("veth: ")),
        "{:?}",
        run.header.link.passed_over
    );
}

/// A network namespace and one of processes, in which nothing else runs. They end, with all that is
/// in them, when this is dropped.
struct Namespace {
    _holder: Running,
    /// The first process in it.
    init: String,
}

impl Namespace {
    /// `None`, with the reason on stderr, if this user may not create one.
    fn new() -> Option<Self> {
        let mut unshare = Command::new("unshare");
        unshare.arg(if rustix::process::geteuid().is_root() { "-np" } else { "-Urnp" });
        unshare.args(["--fork", "--kill-child", "--mount-proc"]);
        unshare.args(["sh", "-c", "ip link set lo up && echo ready && exec cat"]);
        let holder =
            unshare.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).start();
        let Ok(mut holder) = holder else {
            eprintln!("skipped: there is no unshare(1) here");
            return None;
        };
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line != "ready\n" {
            eprintln!(
                "skipped: no namespace of networks and processes: {}",
                stderr(&holder.wait_with_output().unwrap()).trim_end()
            );
            return None;
        }
        let id = holder.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let Some(init) = children.ok().and_then(|all| Some(all.split_whitespace().next()?.into()))
        else {
            eprintln!("skipped: this kernel does not list the children of a process");
            return None;
        };
        Some(Self { _holder: holder, init })
    }

    /// `zc run` over its loopback, or over that of a network namespace of its own.
    fn run(&self, folder: &Path, in_its_own: bool) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.init, "-n", "-p", "-m"]);
        if !rustix::process::geteuid().is_root() {
            command.args(["-U", "--preserve-credentials"]);
        }
        if in_its_own {
            command.args(["unshare", "-n", "sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""]);
        }
        // It begins in another folder.
        command.args([ZC, "run", "--link", "loopback", "--paths", "sendfile", "--out"]);
        command.arg(folder.join("run.json")).stdin(Stdio::null());
        command
    }
}

#[test]
fn a_second_zc_is_noticed_and_withholds_verdicts_of_strict_runs() {
    let _turn = measuring();
    // zc finds others by a name in its network namespace, and by their soakers from any other. In
    // separate ones no other program of this machine is found.
    let Some(namespace) = Namespace::new() else { return };
    let is_noticed = |folder: &Path, output: &Output| {
        assert!(matches!(output.status.code(), Some(0 | NOTHING_KEPT)), "{}", stderr(output));
        saved(folder).header.warnings.iter().any(|warning| warning.name == "another-zc")
    };
    let short = |folder: &Path, in_its_own: bool| {
        namespace.run(folder, in_its_own).args(["--strict", "--budget", "2s"]).finish().unwrap()
    };
    let alone = tempfile::tempdir().unwrap();
    let output = short(alone.path(), true);
    assert!(!is_noticed(alone.path(), &output), "there was no other");

    let first = tempfile::tempdir().unwrap();
    let mut other = namespace.run(first.path(), false);
    // It ends when it is dropped; and by itself after a quarter of its budget in which it kept
    // nothing.
    let mut other = other
        .args(["--budget", "600s"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .start()
        .unwrap();
    wait_for_blocks(first.path(), &mut other, 1);
    for in_its_own in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let output = short(folder.path(), in_its_own);
        assert!(other.try_wait().unwrap().is_none(), "the other has ended before");
        assert!(is_noticed(folder.path(), &output), "in a network of its own: {in_its_own}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("withheld"));
    }
    let folder = tempfile::tempdir().unwrap();
    namespace.run(folder.path(), false).args(["--budget", "2s"]).finish().unwrap();
    let Header { host, warnings, .. } = saved(folder.path()).header;
    let noticed = warnings.iter().find(|warning| warning.name == "another-zc").unwrap();
    let is_note = noticed.severity == Severity::Note;
    assert_eq!(is_note, host.irq_time_accounting != Some(true), "costs leave it out");
}

/// Opens packet sockets for all packets in the network namespaces that `process` holds and this
/// process is not in.
fn listen_in_on(process: u32) -> Vec<std::os::fd::OwnedFd> {
    use rustix::net::{AddressFamily, Protocol, SocketType, socket};
    const ETH_P_ALL: u16 = 3;
    let own = std::fs::read_link("/proc/self/ns/net").unwrap();
    let fds = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().flatten();
    let held = fds.map(|entry| entry.path()).filter(|fd| {
        std::fs::read_link(fd)
            .is_ok_and(|target| target != own && target.to_string_lossy().starts_with("net:"))
    });
    held.filter_map(|namespace| {
        // A namespace belongs to a thread.
        let listen = || {
            let namespace = std::fs::File::open(namespace).ok()?;
            let kind = rustix::thread::LinkNameSpaceType::Network;
            rustix::thread::move_into_link_name_space(
                std::os::fd::AsFd::as_fd(&namespace),
                Some(kind),
            )
            .ok()?;
            let protocol =
                Protocol::from_raw(std::num::NonZeroU32::new(u32::from(ETH_P_ALL.to_be()))?);
            socket(AddressFamily::PACKET, SocketType::RAW, Some(protocol)).ok()
        };
        std::thread::scope(|scope| scope.spawn(listen).join().unwrap())
    })
    .collect()
}

#[test]
fn sessions_follow_one_another_and_are_saved_with_their_blocks() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let args = ["--paths", "sendfile", "--link", "loopback", "--sessions", "1000000"];
    blocks_of(folder.path(), &mut run_in(folder.path(), &args), 3);
    let run = saved(folder.path());
    let sessions: Vec<usize> = run.blocks.iter().map(|block| block.session).collect();
    // Each is shorter than a block.
    assert_eq!(sessions, (0..run.blocks.len()).collect::<Vec<_>>());
}

#[test]
fn a_run_like_another_has_its_rate_plan_and_options() {
    let _turn = measuring();
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let args = ["--paths", "sendfile", "--link", "loopback", "--flows", "2", "--seed", "7"];
    blocks_of(first.path(), &mut run_in(first.path(), &args), 1);
    let old = first.path().join("run.json");
    let args = ["--like", old.to_str().unwrap()];
    blocks_of(second.path(), &mut run_in(second.path(), &args), 1);
    let (old, new) = (saved(first.path()).header.plan, saved(second.path()).header.plan);
    assert_eq!((new.fixed, new.seed), (old.fixed, old.seed));
    let of = |cells: &[zc_run::Cell]| -> Vec<_> {
        cells.iter().map(|cell| (cell.label.clone(), cell.levels.clone())).collect()
    };
    assert_eq!(of(&new.cells), of(&old.cells));
}

#[test]
fn real_time_flows_are_saved_shown_and_kept_from_who_may_not_have_them() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let args = [&SHORT[..], &["--link", "loopback", "--realtime"]].concat();
    let output = run_in(folder.path(), &args).finish().unwrap();
    if stderr(&output).contains("[realtime-not-permitted]") {
        assert!(stderr(&output).contains("hint: "), "{}", stderr(&output));
        assert!(!folder.path().join("run.json").exists(), "nothing was measured");
        return eprintln!("skipped: {}", stderr(&output));
    }
    assert_ended(&output);
    assert!(saved(folder.path()).header.plan.fixed.realtime);
    let shown = zc_in(folder.path(), &["show", "-v", "run.json"]).finish().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains("their threads real-time"), "{shown}");
}

#[test]
fn a_quick_run_ends_once_its_comparisons_are_decided_or_after_15_seconds() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let args = ["--quick", "--paths", "sendfile"];
    assert_ended(&run_in(folder.path(), &args).finish().unwrap());
    let run = saved(folder.path());
    assert!(run.header.plan.quick);
    assert_eq!(run.header.plan.budget_ns, 15_000_000_000);
    match run.end.unwrap().reason {
        EndReason::Decided | EndReason::BudgetSpent => {}
        // The tests that run beside this one may leave its soakers no time.
        EndReason::Failed { reason } if reason.starts_with("other programs have CPU") => {
            eprintln!("skipped: {reason}");
        }
        reason => panic!("{reason:?}"),
    }
}

#[test]
fn a_sniffer_that_runs_only_in_the_middle_of_a_run_is_reported() {
    let _turn = measuring();
    if zc_kernel::process::euid() != 0 || !zc_kernel::process::may_make_namespaces() {
        eprintln!("skipped: who is not root may not enter the namespaces of another process");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut child =
        started(folder.path(), &["--paths", "msg-zerocopy", "--link", "veth", "--budget", "600s"]);
    wait_for_blocks(folder.path(), &mut child, 1);
    let sniffers = listen_in_on(child.id());
    assert_eq!(sniffers.len(), 2);
    // A block that has begun and ended with it.
    let before = blocks_saved(folder.path());
    wait_for_blocks(folder.path(), &mut child, before + 2);
    drop(sniffers);
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::INT,
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    let warnings = saved(folder.path()).end.unwrap().warnings;
    let sniffer = warnings.iter().find(|warning| warning.name == "sniffer");
    let sniffer = sniffer.unwrap_or_else(|| panic!("{warnings:?}, {}", stderr(&output)));
    assert!(sniffer.text.contains("(seen after block "), "{}", sniffer.text);
    assert!(stderr(&output).contains("listens in on the link"), "{}", stderr(&output));
}

#[test]
fn a_run_has_the_rate_of_the_one_before_it_in_its_folder() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let run = |out: &str, more: &[&str]| {
        let paths = ["run", "--paths", "sendfile", "--link", "loopback", "--out", out];
        let mut zc = zc_in(folder.path(), &[&paths, more].concat());
        zc.args(["--budget", "600s"]);
        let is_saved = || {
            let text = std::fs::read_to_string(folder.path().join(out)).unwrap_or_default();
            text.lines().count() > 2
        };
        interrupted_when("a block is saved", &mut zc, is_saved);
        let text = std::fs::read_to_string(folder.path().join(out)).unwrap();
        zc_run::parse(&text).unwrap().0
    };
    let mut first = run("first.json", &["--rate", "auto"]);
    assert!(first.header.plan.fixed.rate_chosen);
    // One that is never chosen. It is kept at every top speed above 280 MB/s: no more than 0.75 of
    // that, and no less than a quarter of the highest rate that is chosen.
    let earlier = 210e6;
    first.header.plan.fixed.rate_bytes_per_s = earlier;
    std::fs::write(folder.path().join("first.json"), zc_run::run_lines(&first)).unwrap();
    let second = run("second.json", &[]);
    assert_eq!(second.header.plan.fixed.rate_bytes_per_s, earlier);
    let note = second.header.warnings.iter().find(|warning| warning.name == "earlier-rate");
    assert!(note.unwrap().text.contains("that of \"first.json\""), "{note:?}");
    let anew = run("third.json", &["--rate", "auto"]);
    assert_ne!(anew.header.plan.fixed.rate_bytes_per_s, earlier);
    assert!(anew.header.warnings.iter().all(|warning| warning.name != "earlier-rate"));
}

#[test]
fn no_budget_is_overrun_for_the_size_of_a_call() {
    let _turn = measuring();
    // All files by calls of a byte take more than a minute on either side.
    for size in [["--buffer", "1"], ["--recv", "splice:1"]] {
        let folder = tempfile::tempdir().unwrap();
        let began = std::time::Instant::now();
        let args = [&["--link", "loopback", "--paths", "sendfile", "--budget", "2s"], &size[..]];
        let output = run_in(folder.path(), &args.concat()).finish().unwrap();
        // Of this machine's other work may be some of it.
        assert!(began.elapsed().as_secs() < 20, "{size:?}: {:?}", began.elapsed());
        let text = stderr(&output);
        match output.status.code() {
            Some(0) => {}
            Some(NOTHING_KEPT) => {
                let ids = ["[budget-spent]", "[nothing-kept]"];
                assert!(ids.iter().any(|id| text.contains(id)), "{text}");
            }
            other => panic!("{other:?}: {text}"),
        }
    }
}
