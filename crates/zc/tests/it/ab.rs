//! `zc run --ab`: two states of the host in one session, and how the host is restored. The results
//! are not checked.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use zc_run::{HostState, Slot, StatePlace};

use crate::support::{
    Bounded as _, at_once, blocks_of, failed, interrupted_when, link_is_unavailable, measuring,
    refused, saved, stderr, until, zc_in,
};

fn run_in(folder: &Path, args: &[&str]) -> Command {
    let mut command =
        zc_in(folder, &["run", "--paths", "sendfile", "--link", "loopback", "--ab-settle", "1ms"]);
    command.args(args).args(["--out", "run.json"]);
    command
}

/// The words that the commands wrote, one per line.
fn log(folder: &Path) -> Vec<String> {
    std::fs::read_to_string(folder.join("log"))
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Waits for the last line of the log.
#[track_caller]
fn wait_for(folder: &Path, last: &str) {
    until(&format!("the log ends with {last:?}"), || {
        log(folder).last().is_some_and(|line| line == last).then_some(())
    });
}

/// The usual three commands: each writes its state.
const LOGGING: [&str; 6] = [
    "--ab",
    "echo $ZC_STATE >> log",
    "--ab",
    "echo $ZC_STATE >> log",
    "--ab-restore",
    "echo restored >> log",
];

#[test]
fn a_block_holds_every_cell_in_both_states_and_a_command_was_run_before_each() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    blocks_of(folder.path(), &mut run_in(folder.path(), &LOGGING), 2);
    let run = saved(folder.path());
    let state = |label: &str| {
        run.header.plan.cells.iter().find(|cell| cell.label == label).unwrap().levels.state.clone()
    };
    let mut switches = 0;
    for block in run
        .blocks
        .iter()
        .filter(|block| !matches!(block.dropped, Some(zc_run::Dropped::Unfinished)))
    {
        let states: Vec<Option<HostState>> = block
            .slots
            .iter()
            .filter_map(|slot| match slot {
                Slot::Trial(trial) => Some(state(&trial.cell)),
                Slot::Idle(_) => None,
            })
            .collect();
        let mut groups = states.clone();
        groups.dedup();
        assert_eq!(groups.len(), 2, "{states:?}");
        switches += 1;
        // Trials may share an idle window, but not with those of the other state.
        let soaked = |trial: &&zc_run::Trial| trial.kind.is_soaked();
        let rows: Vec<Option<Option<HostState>>> = block
            .slots
            .iter()
            .filter_map(|slot| match slot {
                Slot::Trial(trial) => Some(trial).filter(soaked).map(|it| Some(state(&it.cell))),
                Slot::Idle(_) => Some(None),
            })
            .collect();
        assert_eq!((rows.first(), rows.last()), (Some(&None), Some(&None)), "{rows:?}");
        // Each state has an idle window of its own between its trials and the other's.
        let of_both = |apart: &[Option<Option<HostState>>]| match apart {
            [Some(one), None, Some(other)] => one != other,
            _ => false,
        };
        assert!(!rows.windows(3).any(of_both), "{rows:?}");
        let next_to_the_other = |pair: &[Option<Option<HostState>>]| match pair {
            [Some(one), Some(other)] => one != other,
            _ => false,
        };
        assert!(!rows.windows(2).any(next_to_the_other), "{rows:?}");
    }
    assert!(switches > 0);
    let written = log(folder.path());
    assert_eq!(written.last().unwrap(), "restored");
    // Both states of the first block, and at least one switch in each further one.
    assert!(written.len() >= switches + 2, "{written:?}");
    assert!(written[..written.len() - 1].iter().all(|line| line == "A" || line == "B"));
    // Neighbours differ: no command runs for a state that the host is in already.
    assert!(written.windows(2).all(|pair| pair[0] != pair[1]), "{written:?}");
    let shown = zc_in(folder.path(), &["show", "-v", "run.json"]).finish().unwrap();
    let table = String::from_utf8(shown.stdout).unwrap();
    assert!(table.contains("states"), "{table}");
    // Its two halves compare.
    let compared = Command::new(env!("CARGO_BIN_EXE_zc"))
        .args(["compare", "run.json:A", "run.json:B", "--json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&compared.stdout).unwrap();
    let basis = &document["comparisons"][0]["basis"];
    assert_eq!(basis, "one-run", "{document}");
}

#[test]
fn a_command_that_fails_ends_the_run_with_what_it_said_after_the_host_was_put_back() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "--ab",
        "echo A >> log",
        "--ab",
        "echo no such knob >&2; exit 3",
        "--ab-restore",
        "echo restored >> log",
    ];
    let output = run_in(folder.path(), &args).finish().unwrap();
    assert_eq!(failed(&output, 1), "state-command-failed");
    let said = stderr(&output);
    assert!(said.contains("\"B\"") && said.contains("no such knob"), "{said}");
    assert_eq!(log(folder.path()), ["A", "restored"]);
}

#[test]
fn a_command_that_hangs_is_killed_with_what_it_started() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "--ab",
        "sleep 1000 & echo $! > pid; wait",
        "--ab",
        "true",
        "--ab-restore",
        "echo restored >> log",
        "--ab-limit",
        "300ms",
    ];
    let output = run_in(folder.path(), &args).finish().unwrap();
    assert_eq!(failed(&output, 1), "state-command-timed-out");
    assert!(stderr(&output).contains("\"A\""), "{}", stderr(&output));
    assert_eq!(log(folder.path()), ["restored"]);
    let pid: i32 =
        std::fs::read_to_string(folder.path().join("pid")).unwrap().trim().parse().unwrap();
    // On a busy machine a killed process takes time to end, and it stays a zombie if nothing waits
    // for orphans.
    until("the sleeper is gone", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.map_or(true, |stat| stat.contains(") Z ")).then_some(())
    });
}

#[test]
fn a_restore_that_fails_says_what_would_restore() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let args = ["--ab", "true", "--ab", "exit 1", "--ab-restore", "echo broken >&2; false"];
    let output = run_in(folder.path(), &args).finish().unwrap();
    assert_eq!(failed(&output, 1), "state-command-failed");
    let said = stderr(&output);
    assert!(said.contains(" --ab-restore "), "{said}");
    assert!(said.contains(": echo broken >&2; false"), "{said}");
}

#[test]
fn the_host_is_put_back_at_ctrl_c_and_also_at_sigkill() {
    let _turn = measuring();
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::KILL] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = run_in(folder.path(), &[&LOGGING[..], &["--budget", "60s"]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .start()
            .unwrap();
        wait_for(folder.path(), "B");
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        let status = child.wait().unwrap();
        let expected = if signal == rustix::process::Signal::KILL {
            (Some(9), None)
        } else {
            (None, Some(130))
        };
        assert_eq!((status.signal(), status.code()), expected);
        wait_for(folder.path(), "restored");
    }
}

/// The id of the error of a run whose states are not fit to be compared, and what it says.
#[track_caller]
fn unfit(folder: &Path, link: &str, args: &[&str]) -> Option<(String, String)> {
    let mut command = zc_in(folder, &["run", "--paths", "sendfile", "--link", link]);
    command.args(["--ab-settle", "1ms", "--out", "run.json"]).args(args);
    let output = command.finish().unwrap();
    if link_is_unavailable(&output) {
        eprintln!("skipped: {}", stderr(&output));
        return None;
    }
    assert!(!folder.join("run.json").exists(), "nothing was measured");
    Some((refused(&output, 1), stderr(&output)))
}

#[test]
fn a_state_that_changes_nothing_is_an_error() {
    let _turn = measuring();
    let sack = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_sack").unwrap();
    let sets = 1 - sack.trim().parse::<u32>().unwrap();
    let sets = format!("true || sysctl -qw net.ipv4.tcp_sack={sets}");
    let (same, verify) = ("states-do-not-differ", "--verify-state");
    let cases: [(&[&str], &str, &str); 6] = [
        (&["true", &sets], same, "net.ipv4.tcp_sack"),
        (&["true", "true || ethtool -K lo tso off"], same, " lo "),
        (
            &["true", "true || sysctl net.ipv4.zc_no_such=1"],
            "no-such-sysctl",
            "net.ipv4.zc_no_such",
        ),
        (&["true", "true", verify, "echo as before"], same, "\"as before\""),
        // It is not told which state it is asked about.
        (&["true", "true", verify, "echo $ZC_STATE"], same, verify),
        (&["true", "true", verify, "echo lost >&2; exit 3"], "state-command-failed", "lost"),
    ];
    at_once(&cases, |(args, id, names)| {
        let folder = tempfile::tempdir().unwrap();
        let args = [&["--ab", args[0], "--ab", args[1]], &args[2..]].concat();
        let Some((found, said)) = unfit(folder.path(), "loopback", &args) else { return };
        assert_eq!(found, *id, "{said}");
        assert!(said.contains(names), "{args:?}: {said}");
    });
}

#[test]
fn a_state_that_becomes_another_one_ends_the_run_with_what_was_measured() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    // The second state forgets itself once blocks are measured.
    let args = ["--ab", "echo A > now", "--ab", "test -e forgets || echo B > now"];
    let verify = ["--verify-state", "cat now", "--ab-restore", "echo restored >> log"];
    let mut zc = run_in(folder.path(), &[&args[..], &verify, &["--budget", "600s"]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .start()
        .unwrap();
    crate::support::wait_for_blocks(folder.path(), &mut zc, 1);
    std::fs::write(folder.path().join("forgets"), "").unwrap();
    let output = zc.wait_with_output().unwrap();
    assert_eq!(failed(&output, 1), "state-drifted");
    let said = stderr(&output);
    assert!(said.contains("\"B\"") && said.contains("\"A\""), "{said}");
    assert_eq!(log(folder.path()), ["restored"]);
    let run = saved(folder.path());
    assert!(!run.blocks.is_empty());
    let answers = &run.header.state_readings[0];
    let values: Vec<_> = answers.values.iter().filter_map(|it| it.value.as_deref()).collect();
    assert_eq!((answers.name.as_str(), values), ("cat now", vec!["A\n", "B\n"]));
}

#[test]
fn network_sysctls_are_set_where_the_traffic_runs_by_any_user() {
    const SACK: &str = "/proc/sys/net/ipv4/tcp_sack";
    let _turn = measuring();
    let before = std::fs::read_to_string(SACK).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let users: &[bool] = if is_root { &[false, true] } else { &[false] };
    for as_nobody in users {
        let folder = tempfile::tempdir().unwrap();
        let mut zc = zc_in(folder.path(), &["run", "--paths", "sendfile", "--link", "veth"]);
        // On the host the sysctl would be refused to nobody.
        let restore =
            if *as_nobody { "sysctl -qw net.ipv4.tcp_sack=1" } else { "echo restored >> log" };
        zc.args(["--ab-settle", "1ms", "--out", "run.json", "--ab-restore", restore]);
        zc.args([
            "--ab",
            "sysctl -qw net.ipv4.tcp_sack=0",
            "--ab",
            "echo 1 > /proc/sys/net/ipv4/tcp_sack",
        ]);
        if *as_nobody {
            std::os::unix::fs::chown(folder.path(), Some(65_534), Some(65_534)).unwrap();
            std::os::unix::process::CommandExt::uid(&mut zc, 65_534);
            std::os::unix::process::CommandExt::gid(&mut zc, 65_534);
        }
        let ready = || crate::support::blocks_saved(folder.path()) > 0;
        zc.args(["--budget", "600s"]);
        let output = interrupted_when("a block is saved", &mut zc, ready);
        if link_is_unavailable(&output) {
            eprintln!("skipped: {}", stderr(&output));
            continue;
        }
        let run = saved(folder.path());
        let readings: Vec<_> =
            run.header.state_readings.iter().map(|it| (&*it.name, it.place)).collect();
        let name = "net.ipv4.tcp_sack";
        assert_eq!(readings, [(name, StatePlace::Sender), (name, StatePlace::Receiver)]);
        for reading in &run.header.state_readings {
            let values: Vec<_> = reading.values.iter().map(|it| it.value.as_deref()).collect();
            assert_eq!(values, [Some("0"), Some("1")]);
        }
        assert!(!stderr(&output).contains("the host is not as it was"), "{}", stderr(&output));
        let restored: &[&str] = if *as_nobody { &[] } else { &["restored"] };
        assert_eq!(log(folder.path()), restored);
        assert_eq!(std::fs::read_to_string(SACK).unwrap(), before);
        let shown = zc_in(folder.path(), &["show", "run.json"]).finish().unwrap();
        let table = String::from_utf8(shown.stdout).unwrap();
        let line = "net.ipv4.tcp_sack is 0 in A and 1 in B where the traffic runs";
        assert!(table.contains(line), "{table}");
    }
}

#[test]
fn a_setting_of_the_host_that_the_traffic_does_not_see_is_an_error_over_veth() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    // Run by a shell, as each does something else too; what they do to the host is nothing.
    let args = |command: &'static str| ["--ab", "true", "--ab", command];
    let own = "true || nsenter --net=$ZC_SENDER_NETNS sysctl -qw net.ipv4.tcp_sack=0";
    for (command, names) in
        [(own, " net.ipv4.tcp_sack "), ("true || ethtool -K eth0 tso off", " zc0 and zc1 ")]
    {
        let Some((id, said)) = unfit(folder.path(), "veth", &args(command)) else { return };
        assert_eq!(id, "states-do-not-differ", "{said}");
        assert!(said.contains(names) && said.contains("nsenter"), "{said}");
    }
}

/// The congestion controls that a network namespace may have as its default (`allowed`), or that
/// there are (`available`).
fn congestion_controls(which: &str) -> Vec<String> {
    let path = format!("/proc/sys/net/ipv4/tcp_{which}_congestion_control");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_congestion_control_that_states_set_is_that_of_the_sockets() {
    let _turn = measuring();
    let [one, other] = congestion_controls("allowed").into_iter().take(2).collect::<Vec<_>>()[..]
        .to_vec()
        .try_into()
        .unwrap_or_default();
    if other.is_empty() {
        return eprintln!("skipped: a network namespace may have one congestion control here");
    }
    let command = |name: &str| format!("sysctl -qw net.ipv4.tcp_congestion_control={name}");
    let hidden = |folder: &Path, name: &str| {
        let text = format!("nsenter --net=$ZC_SENDER_NETNS {}", command(name));
        std::fs::write(folder.join(name), text).unwrap();
        format!("sh {name}")
    };
    let is_root = rustix::process::geteuid().is_root();
    // In a script, where zc does not see what it sets, too.
    for is_hidden in [false, true].into_iter().filter(|is_hidden| is_root || !is_hidden) {
        let folder = tempfile::tempdir().unwrap();
        let commands = [&one, &other].map(|name| match is_hidden {
            true => hidden(folder.path(), name),
            false => command(name),
        });
        let mut zc = zc_in(folder.path(), &["run", "--paths", "sendfile", "--link", "veth"]);
        zc.args(["--ab-settle", "1ms", "--out", "run.json", "--budget", "600s"]);
        zc.args(["--ab", &commands[0], "--ab", &commands[1]]);
        let ready = || crate::support::blocks_saved(folder.path()) > 0;
        let output = interrupted_when("a block is saved", &mut zc, ready);
        if link_is_unavailable(&output) {
            return eprintln!("skipped: {}", stderr(&output));
        }
        let run = saved(folder.path());
        assert_eq!(run.header.plan.fixed.set_congestion(), None);
        let mut used = std::collections::BTreeSet::new();
        for slot in run.blocks.iter().flat_map(|block| &block.slots) {
            let Slot::Trial(trial) = slot else { continue };
            let cells = &run.header.plan.cells;
            let cell = cells.iter().find(|cell| cell.label == trial.cell).unwrap();
            let is_b = cell.levels.state == Some(HostState::b());
            let sockets = trial.sockets.as_ref().unwrap();
            assert_eq!(&sockets.congestion, if is_b { &other } else { &one }, "{}", trial.cell);
            used.insert(is_b);
        }
        assert_eq!(used.len(), 2, "trials in both states");
        let shown = zc_in(folder.path(), &["show", "-v", "run.json"]).finish().unwrap();
        let table = String::from_utf8(shown.stdout).unwrap();
        let both = [format!("{one} and {other}"), format!("{other} and {one}")];
        assert!(both.iter().any(|names| table.contains(names)), "{table}");
    }
}

#[test]
fn a_state_that_an_option_of_the_run_replaces_is_an_error() {
    let _turn = measuring();
    let congestion = "true || sysctl -qw net.ipv4.tcp_congestion_control=reno";
    let wmem = ["4096 16384 4194304", "4096 16384 2097152"];
    let wmem = wmem.map(|value| format!("sysctl -qw net.ipv4.tcp_wmem='{value}'"));
    let cases: [(&[&str], &str); 2] = [
        (
            &["--congestion", "reno", "--ab", congestion, "--ab", congestion],
            "net.ipv4.tcp_congestion_control",
        ),
        (&["--sndbuf", "64k", "--ab", &wmem[0], "--ab", &wmem[1]], "net.ipv4.tcp_wmem"),
    ];
    at_once(&cases, |(args, names)| {
        let folder = tempfile::tempdir().unwrap();
        let Some((id, said)) = unfit(folder.path(), "veth", args) else { return };
        assert_eq!(id, "state-overridden", "{said}");
        assert!(said.contains(names) && said.contains("\"read+send A\""), "{args:?}: {said}");
        assert!(said.contains(&format!(" {} ", args[0])), "{said}");
    });
}

#[test]
fn a_congestion_control_that_no_namespace_may_have_is_an_error_with_what_allows_it() {
    let allowed = congestion_controls("allowed");
    let available = congestion_controls("available");
    let Some(name) = available.iter().find(|name| !allowed.contains(name)) else {
        return eprintln!("skipped: every congestion control is allowed to every user here");
    };
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let set = |name: &str| format!("sysctl -qw net.ipv4.tcp_congestion_control={name}");
    let args = ["--ab", &*set(&allowed[0]), "--ab", &*set(name)];
    let Some((id, said)) = unfit(folder.path(), "veth", &args) else { return };
    assert_eq!(id, "state-not-settable", "{said}");
    let hint = format!("net.ipv4.tcp_allowed_congestion_control='{} {name}'", allowed.join(" "));
    assert!(said.contains(&hint), "{said}");
}

#[test]
fn a_command_can_enter_the_namespaces_of_the_link() {
    // Whether this user can have namespaces at all, and nsenter(1).
    let can = Command::new("nsenter")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !can || !rustix::process::geteuid().is_root() {
        eprintln!("skipped: nsenter(1) and root are needed");
        return;
    }
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let set = |value: &str| {
        format!(
            "nsenter --net=$ZC_SENDER_NETNS sh -c 'echo {value} > \
             /proc/sys/net/ipv4/tcp_autocorking; cat /proc/sys/net/ipv4/tcp_autocorking' >> log"
        )
    };
    // Containers often have a /proc/sys that is mounted read-only.
    if let Err(error) =
        std::fs::File::options().write(true).open("/proc/sys/net/ipv4/tcp_autocorking")
    {
        return eprintln!("skipped: tcp_autocorking cannot be set here: {error}");
    }
    let before = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_autocorking").unwrap();
    let are_made =
        || ["0", "1"].iter().all(|state| log(folder.path()).contains(&(*state).to_owned()));
    let output = interrupted_when(
        "both states are made",
        zc_in(folder.path(), &["run", "--paths", "sendfile", "--link", "veth"]).args([
            "--ab-settle",
            "1ms",
            "--ab",
            &set("0"),
            "--ab",
            &set("1"),
            "--out",
            "run.json",
        ]),
        are_made,
    );
    if link_is_unavailable(&output) {
        eprintln!("skipped: {}", stderr(&output));
        return;
    }
    // Nothing is written to stdout of a command, and the shell's own redirection is what fills the
    // log.
    assert!(are_made(), "{}", stderr(&output));
    assert_eq!(
        std::fs::read_to_string("/proc/sys/net/ipv4/tcp_autocorking").unwrap(),
        before,
        "the host's own is untouched"
    );
}
