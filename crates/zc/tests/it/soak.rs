//! `zc soak` from outside: a command has its own streams, signals and exit code, the soakers yield
//! to a process of another session, and no cgroups or processes are left.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::cgroup::Cgroup;
use crate::support::{
    Bounded as _, Running, STARVED, ZC, at_once, failed, has_costs, is_starved, measuring,
    on_emulated_cpu, on_small_disk, refused, stderr, undisturbed,
};

/// Whether other programs left the command without a result.
fn has_no_result(said: &str) -> bool {
    let ids = ["[cost-not-measured]", "[command-not-executed]"];
    is_starved(said) || ids.iter().any(|id| said.contains(id))
}

#[test]
fn what_a_command_prints_is_read_by_stream_in_english_and_once_is_enough() {
    let _turn = measuring();
    // As curl without -s: its meter is on stderr.
    let meter = "echo $LC_ALL >>log; printf '\\r 100 4096' >&2; printf 123456";
    let read = ["--per", "bytes", "--run-anyway", "--json", "--runs", "1", "--", "sh", "-c", meter];
    let (output, log) = log_of(&read);
    let said = stderr(&output);
    assert_eq!(log, "C\n", "{said}");
    if !has_no_result(&said) {
        let line = said.lines().find(|line| line.contains('{')).unwrap_or_default();
        let line = &line[line.find('{').unwrap_or_default()..];
        let result: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{said}"));
        assert_eq!(result["cost"]["per"]["count"].as_f64(), Some(123_456.0), "{said}");
    }
    let mute =
        ["--per", "bytes", "--run-anyway", "--budget", "600s", "--", "sh", "-c", "echo run >>log"];
    let (output, log) = log_of(&mute);
    assert_eq!((output.status.code(), log.as_str()), (Some(125), "run\n"), "{}", stderr(&output));
    // An expression of the user's is about what it prints to the user.
    let own = "echo ${LC_ALL-none} >>log; echo 5 files";
    let own = ["--per-regex", r"(\d+) files", "--run-anyway", "--runs", "1", "--", "sh", "-c", own];
    let folder = tempfile::tempdir().unwrap();
    let output = zc(&own).current_dir(folder.path()).env("LC_ALL", "C.UTF-8").finish().unwrap();
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(log, "C.UTF-8\n", "{}", stderr(&output));
}

fn zc(arguments: &[&str]) -> Command {
    let mut command = crate::support::zc(&["soak"]);
    command.args(arguments);
    command
}

/// Runs it, again if the soakers found no CPU time at all.
fn output(arguments: &[&str]) -> Output {
    output_unless(arguments, |output| stderr(output).contains(STARVED))
}

/// Runs it until it is not as `disturbed` says.
fn output_unless(arguments: &[&str], disturbed: impl Fn(&Output) -> bool) -> Output {
    undisturbed(|| zc(arguments).finish().unwrap(), disturbed)
}

/// Options for a command that must be executed once on a machine of any load.
const ONCE: [&str; 4] = ["--run-anyway", "--runs", "1", "--"];

/// The JSON document that a command's result is.
fn result(output: &Output) -> Value {
    let text = stderr(output);
    let line = text.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[track_caller]
fn until(what: &str, mut happened: impl FnMut() -> bool) {
    crate::support::until(what, || happened().then_some(()));
}

/// The processes whose parent is `pid`, by their name.
fn children(pid: u32) -> Vec<(String, u32)> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter_map(|number| {
            let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
            let parent: u32 = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
            let name = std::fs::read(format!("/proc/{number}/cmdline")).ok()?;
            let name =
                name.split(|byte| *byte == 0).next().map(String::from_utf8_lossy)?.into_owned();
            (parent == pid).then_some((name, number))
        })
        .collect()
}

/// A process that has ended may stay a zombie if nothing waits for orphans.
fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}

/// The current cgroups of zc.
fn cgroups() -> Vec<PathBuf> {
    ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"]
        .iter()
        .flat_map(|place| ["zc-soakers", "zc-competitors"].map(|name| Path::new(place).join(name)))
        .filter(|path| path.exists())
        .collect()
}

/// Starts a command under `zc soak` and waits for its first output.
fn started(script: &str) -> (Running, BufReader<std::process::ChildStdout>) {
    // A shell starts what it puts in the background with SIGINT ignored, a shell cannot trap what
    // was ignored when it was started, and the test would wait for ever. What is caught here has
    // its default again in the child (execve(2)).
    let default = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    signal_hook::flag::register_conditional_default(signal_hook::consts::SIGINT, default).unwrap();
    let mut child = zc(&[&ONCE[..], &["sh", "-c", script]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .start()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, stdout)
}

fn kill(pid: u32, signal: &str) {
    assert!(
        Command::new("kill")
            .args([&format!("-{signal}"), &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

// What is soaked here is not held against a figure: several series run at the same time, and mostly
// wait for their idle windows.

#[test]
fn a_command_is_executed_as_wanted_and_what_it_does_is_its_own() {
    let _turn = measuring();
    let parts: [fn(); 6] = [
        a_command_s_exit_code_and_streams_are_its_own,
        a_command_killed_by_a_signal_is_128_and_the_signal,
        a_command_is_prepared_executed_and_cleaned_up_as_often_as_wanted,
        an_execution_that_fails_is_the_last_one,
        failed_executions_are_ignored_where_that_is_wanted,
        each_execution_reads_the_same_file_from_stdin,
    ];
    at_once(&parts, |part| part());
}

#[test]
fn signals_reach_the_command_and_end_its_series() {
    let _turn = measuring();
    let parts: [fn(); 4] = [
        signals_are_passed_on_to_the_command,
        a_stopped_zc_stops_the_command_and_both_go_on,
        a_signal_ends_the_series_and_what_was_measured_is_told,
        a_command_that_outlives_a_signal_is_not_executed_again,
    ];
    at_once(&parts, |part| part());
}

#[test]
fn live_load_is_told_until_its_end_or_its_reader_s() {
    if !has_costs() {
        return;
    }
    let _turn = measuring();
    let parts: [fn(); 4] = [
        live_load_is_a_line_for_each_period_and_says_how_old_its_calibration_is,
        live_load_in_json_has_a_document_to_a_line,
        ctrl_c_ends_live_load_cleanly,
        a_reader_that_goes_away_ends_live_load,
    ];
    at_once(&parts, |part| part());
}

const RIGHTS_AND_STREAMS: &str = "grep NoNewPrivs: /proc/self/status; cat; echo err >&2; exit 7";

fn a_command_s_exit_code_and_streams_are_its_own() {
    let mut child = zc(&[&ONCE[..], &["sh", "-c", RIGHTS_AND_STREAMS]].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .start()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"through\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    // It may be set-user-ID, as sudo is.
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let own = own.lines().find(|line| line.starts_with("NoNewPrivs:")).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{own}\nthrough\n"));
    let stderr = stderr(&output);
    assert!(stderr.starts_with("err\n"), "{stderr}");
    if is_starved(&stderr) {
        return;
    }
    assert!(stderr.contains("exited with 7") && stderr.contains("the command"), "{stderr}");
}

fn a_command_killed_by_a_signal_is_128_and_the_signal() {
    let output = output(&[&ONCE[..], &["sh", "-c", "kill -KILL $$"]].concat());
    assert_eq!(output.status.code(), Some(137));
    let said = stderr(&output);
    assert!(is_starved(&said) || said.contains("killed by signal 9"), "{said}");
}

#[test]
fn what_cannot_be_run_is_126_or_127_and_zc_s_own_failure_125() {
    let _turn = measuring();
    let out = "/proc/nothing/out";
    let cases: [(&[&str], i32, &str, &str); 8] = [
        (&["--run-anyway", "--", "zc-no-such"], 127, "command-not-found", "\"zc-no-such\""),
        (&["--run-anyway", "--", "/etc/passwd"], 126, "cannot-run-command", "\"/etc/passwd\""),
        (&["--cpus", "99999", "--", "true"], 125, "cannot-bind-to-cpu", "\"99999\""),
        (&["--output", out, "--", "true"], 125, "cannot-write", "\"/proc/nothing/out\""),
        (&["--output", "/etc/passwd", "--", "true"], 125, "cannot-write", "\"/etc/passwd\""),
        (
            &["--run-anyway", "--per", "bytes", "--link", "no-such", "--", "true"],
            125,
            "counters-unreadable",
            "\"no-such\"",
        ),
        (
            &["--run-anyway", "--prepare", "exit 3", "--", "true"],
            125,
            "command-failed",
            "--prepare",
        ),
        (&["--run-anyway", "--warmup", "1", "--", "false"], 1, "command-failed", ""),
    ];
    at_once(&cases, |(arguments, code, id, names)| {
        let output = output(arguments);
        assert_eq!(failed(&output, *code), *id, "{arguments:?}");
        assert!(stderr(&output).contains(names), "{arguments:?}: {}", stderr(&output));
    });
}

/// Whether this process ignores a signal, and with it what it starts: `SigIgn` of
/// proc_pid_status(5).
fn ignored(signal: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

fn signals_are_passed_on_to_the_command() {
    let passed_on: Vec<&str> = [("TERM", 15), ("INT", 2), ("HUP", 1), ("USR1", 10)]
        .into_iter()
        .filter(|(signal, number)| {
            // A shell cannot trap what was ignored when it began (POSIX, 2.12): under nohup it
            // would wait for ever.
            let is_ignored = ignored(*number);
            if is_ignored {
                eprintln!("skipped: SIG{signal} is ignored in this environment");
            }
            !is_ignored
        })
        .map(|(signal, _)| signal)
        .collect();
    let traps: String =
        passed_on.iter().map(|signal| format!("trap 'echo {signal}' {signal}; ")).collect();
    let script = format!("{traps} trap 'exit 3' USR2; echo ready; while :; do sleep 0.02; done");
    let (child, mut stdout) = started(&script);
    for signal in passed_on {
        kill(child.id(), signal);
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, format!("{signal}\n"));
    }
    kill(child.id(), "USR2");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(3));
}

fn a_stopped_zc_stops_the_command_and_both_go_on() {
    let (child, mut stdout) =
        started("echo ready; while [ ! -e /dev/null/x ]; do sleep 0.02; done");
    let stopped = |pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with('T')
    };
    let command = children(child.id()).into_iter().find(|(name, _)| name == "sh").unwrap().1;
    kill(child.id(), "TSTP");
    until("both have stopped", || stopped(child.id()) && stopped(command));
    kill(child.id(), "CONT");
    until("both go on", || !stopped(child.id()) && !stopped(command));
    kill(child.id(), "TERM");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
}

#[test]
fn nothing_is_left_behind_when_zc_is_killed() {
    let _turn = measuring();
    let (mut child, stdout) = started("echo ready; exec sleep 1000");
    let pid_of = |wanted: &str| {
        children(child.id()).into_iter().find(|(name, _)| name == wanted).map(|(_, pid)| pid)
    };
    // The shell says that it is ready and becomes sleep after that.
    until("soakers and command run", || {
        pid_of("zc-soakers").is_some() && pid_of("sleep").is_some()
    });
    let (soakers, command) = (pid_of("zc-soakers").unwrap(), pid_of("sleep").unwrap());
    kill(child.id(), "KILL");
    // Its pipes stay open: the command has them.
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    until("the soakers are gone", || is_gone(soakers));
    // The command is not zc's: it goes on, as under time(1).
    assert!(!is_gone(command));
    kill(command, "KILL");
    drop(stdout);
    // No other test has soakers now.
    until("their cgroup is gone", || cgroups().is_empty());
}

#[test]
fn the_cost_of_a_known_load_is_found() {
    let _turn = measuring();
    // A shell loop whose CPU time getrusage knows; the machine may be busy, so only gross errors
    // are errors.
    let script = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
    let disturbed = |output: &Output| {
        let said = stderr(output);
        [STARVED, "something else used", "was not measured"].iter().any(|it| said.contains(it))
    };
    let arguments = ["--json", "--raw", "--runs", "3", "--", "sh", "-c", script];
    let output = output_unless(&arguments, disturbed);
    if disturbed(&output) {
        eprintln!("skipped: something else uses this machine");
        return;
    }
    let result = result(&output);
    let cost = &result["cost"];
    let number = |value: &Value| value.as_f64().unwrap();
    let found = number(&cost["cpu_s"]["value"]);
    let own = number(&cost["user_cpu_s"]) + number(&cost["system_cpu_s"]);
    assert!(own > 0.0);
    assert!((0.5..2.0).contains(&(found / own)), "{cost}");
    assert_eq!(cost["executions"], 3);
    assert_eq!(result["seen"]["runs"][2]["end"]["code"], 0);
    // Without --raw a result is short.
    let mut short = result.clone();
    short.as_object_mut().unwrap().remove("seen");
    assert!(short.to_string().len() < 3000, "{short}");
}

/// Runs a command whose executions write lines to the file `log`, and returns these.
fn log_of(arguments: &[&str]) -> (Output, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = zc(arguments).current_dir(folder.path()).finish().unwrap();
    (output, std::fs::read_to_string(folder.path().join("log")).unwrap_or_default())
}

fn a_command_is_prepared_executed_and_cleaned_up_as_often_as_wanted() {
    let steps = [
        "--run-anyway",
        "--runs",
        "2",
        "--warmup",
        "1",
        "--prepare",
        "echo prepare >>log",
        "--cleanup",
        "echo cleanup >>log",
        "--",
        "sh",
        "-c",
        "echo run >>log",
    ];
    let (output, log) = log_of(&steps);
    assert_eq!(log, "prepare\nrun\ncleanup\n".repeat(3), "{}", stderr(&output));
}

const FAILS_SECOND: &str = "echo run >>log; [ $(wc -l <log) != 2 ] || exit 5";

fn an_execution_that_fails_is_the_last_one() {
    let (output, log) = log_of(&["--run-anyway", "--runs", "3", "--", "sh", "-c", FAILS_SECOND]);
    assert_eq!((log.lines().count(), output.status.code()), (2, Some(5)), "{}", stderr(&output));
}

fn failed_executions_are_ignored_where_that_is_wanted() {
    let ignored =
        ["--run-anyway", "--ignore-failure", "--runs", "3", "--", "sh", "-c", FAILS_SECOND];
    let (output, log) = log_of(&ignored);
    assert_eq!(log.lines().count(), 3, "{}", stderr(&output));
    let said = stderr(&output);
    assert!(is_starved(&said) || said.contains("left out: 1 that did not exit with 0"), "{said}");
}

#[test]
fn a_cost_is_that_of_a_request_where_the_command_prints_how_many() {
    let _turn = measuring();
    let count = |arguments: &[&str], printed: &str| {
        let script = format!("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo {printed}");
        let base = ["--json", "--run-anyway", "--runs", "2"];
        zc(&[&base[..], arguments, &["--", "sh", "-c", &script]].concat()).finish().unwrap()
    };
    for (arguments, printed, unit) in [
        (["--per", "requests"], "'Complete requests:      500'", "requests"),
        (["--per-regex", r"(\d+) files"], "500 files", "units"),
    ] {
        let output = count(&arguments, printed);
        let said = stderr(&output);
        assert!(String::from_utf8_lossy(&output.stdout).contains("500"), "it is passed on");
        if has_no_result(&said) {
            continue;
        }
        let per = &result(&output)["cost"]["per"];
        assert_eq!((&per["unit"], per["count"].as_f64()), (&unit.into(), Some(500.0)), "{said}");
    }
    let output = count(&["--per", "bytes"], "nothing");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(125), "{said}");
    let known = [STARVED, "was not measured", "did not print a number of bytes"];
    assert!(known.iter().any(|it| said.contains(it)), "{said}");
}

/// A server that answers each connection with a body, made from the connection's number, and closes
/// it.
fn answering(body: impl Fn(usize) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/stub_status", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (number, connection) in listener.incoming().enumerate() {
            let mut connection = connection.unwrap();
            let _ = connection.read(&mut [0; 512]);
            let text = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", body(number));
            let _ = connection.write_all(text.as_bytes());
        }
    });
    url
}

#[test]
fn what_a_command_did_may_be_counted_by_a_status_page_or_a_device() {
    let _turn = measuring();
    let page = answering(|reading| {
        // Each execution serves 500 requests, and this page is one.
        let requests = 1000 + reading.div_ceil(2) * 501 + reading / 2;
        format!("server accepts handled requests\n 1 1 {requests} \n")
    });
    let file = answering(|_| "x".repeat(5000));
    let base = ["--run-anyway", "--runs", "2", "--json"];
    let load = [ZC, "http", &file, "--close", "--requests", "20"];
    for (arguments, counts) in [
        (["--per", "requests", "--status-url", &page], 500.0..=500.0),
        // 100 kB leave loopback and arrive at it, among whatever else goes over it.
        (["--per", "bytes", "--link", "lo"], 200_000.0..=f64::INFINITY),
    ] {
        let output = output(&[&base[..], &arguments, &["--"], &load].concat());
        let said = stderr(&output);
        if has_no_result(&said) {
            continue;
        }
        let count = result(&output)["cost"]["per"]["count"].as_f64();
        assert!(count.is_some_and(|count| counts.contains(&count)), "{count:?}: {said}");
    }
    let nobody = ["--per", "requests", "--status-url", "http://127.0.0.1:1/", "--", "true"];
    let output = output(&[&base[..], &nobody].concat());
    assert_eq!(failed(&output, 125), "status-page-unusable");
}

fn each_execution_reads_the_same_file_from_stdin() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("input"), "one\ntwo\n").unwrap();
    let file = std::fs::File::open(folder.path().join("input")).unwrap();
    let output = zc(&["--run-anyway", "--runs", "2", "--", "cat"]).stdin(file).finish().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "one\ntwo\n".repeat(2));
}

fn a_signal_ends_the_series_and_what_was_measured_is_told() {
    let arguments = ["--run-anyway", "--runs", "1000", "--", "sh", "-c", "echo run"];
    let mut child = zc(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        assert_eq!(lines.next().unwrap().unwrap(), "run");
    }
    kill(child.id(), "INT");
    // What it still writes.
    lines.for_each(drop);
    let output = child.wait_with_output().unwrap();
    let said = stderr(&output);
    // The signal may have hit the shell, before it could echo or after.
    assert!(matches!(output.status.code(), Some(0 | 125 | 130)), "{said}");
    assert!(is_starved(&said) || said.contains(" times, ") || said.contains("withheld"), "{said}");
}

fn a_command_that_outlives_a_signal_is_not_executed_again() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap '' INT; echo run; while [ ! -e go ]; do sleep 0.02; done";
    let arguments = ["--run-anyway", "--runs", "1000", "--", "sh", "-c", script];
    let mut child = zc(&arguments)
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .start()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "run");
    kill(child.id(), "INT");
    // From now on an execution would end at once.
    std::fs::write(folder.path().join("go"), "").unwrap();
    assert!(lines.next().is_none(), "it is executed again");
    let output = child.wait_with_output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 125)), "{}", stderr(&output));
}

#[test]
fn on_a_busy_machine_a_command_costs_what_its_clocks_say() {
    if !has_costs() {
        return;
    }
    let _turn = measuring();
    // In sessions of their own, which the soakers rank below.
    let cpus = std::thread::available_parallelism().unwrap().get();
    let burners: Vec<Running> = (0..cpus)
        .map(|_| {
            let mut burner = Command::new("setsid");
            burner.args(["sh", "-c", "while :; do :; done"]).start().unwrap()
        })
        .collect();
    let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let output = zc(&["--runs", "2", "--json", "--", "sh", "-c", script]).finish().unwrap();
    drop(burners);
    let said = stderr(&output);
    if said.contains("[command-not-executed]") {
        return eprintln!("skipped: the clocks of tasks leave interrupts out here");
    }
    assert!(output.status.success(), "{said}");
    let cost = &result(&output)["cost"];
    let number = |name: &str| cost[name].as_f64().unwrap();
    let own = number("user_cpu_s") + number("system_cpu_s");
    let ratio = cost["cpu_s"]["value"].as_f64().unwrap() / own;
    assert!((0.8..1.5).contains(&ratio) && cost["by"] == "own-clocks", "{cost}");
}

fn live_load_is_a_line_for_each_period_and_says_how_old_its_calibration_is() {
    let output = output(&["--period", "50ms", "--count", "3"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if is_starved(&stderr(&output)) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(
        text.starts_with("  calibrated") && text.lines().last().unwrap().contains(" s ago"),
        "{text}"
    );
    assert!(stderr(&output).contains("soakers on CPU"), "{}", stderr(&output));
}

fn live_load_in_json_has_a_document_to_a_line() {
    let output = output(&["--period", "50ms", "--count", "2", "--json"]);
    if is_starved(&stderr(&output)) {
        return;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0]["start"]["idle"].as_array().unwrap().len() > 1);
    assert!(lines[2]["load"]["busy_cpus"].is_number() && lines[2]["calibrated_ns_ago"].is_number());
}

fn ctrl_c_ends_live_load_cleanly() {
    let mut child =
        zc(&["--period", "20ms"]).stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while stdout.read_line(&mut line).unwrap() > 0 && line.lines().count() < 2 {}
    if line.is_empty() {
        let said = stderr(&child.wait_with_output().unwrap());
        return assert!(is_starved(&said), "{said}");
    }
    kill(child.id(), "INT");
    std::io::copy(&mut stdout, &mut std::io::sink()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

fn a_reader_that_goes_away_ends_live_load() {
    let mut child =
        zc(&["--period", "20ms"]).stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.code() == Some(0) || is_starved(&stderr(&output)), "{}", stderr(&output));
}

#[test]
fn on_an_emulated_machine_no_load_is_told() {
    for what in [
        "soak --count 1",
        "soak --count 1 --json",
        "soak --verify --budget 1s",
        "cyclesoak -C",
        "cyclesoak",
        "zcc -c -s 127.0.0.1 cpuinfo",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("exec {ZC} {what}");
        let Some(output) = on_emulated_cpu(folder.path(), &script) else { return };
        assert_eq!(refused(&output, 13), "load-not-measurable", "{what}");
        assert!(!folder.path().join("counts_per_sec").exists(), "{what}");
    }
}

#[test]
fn a_result_that_cannot_be_written_is_125_and_leaves_no_empty_file() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    // A file can be made on a full disk, and nothing be written to it.
    let script = format!(
        "head -c 4096 /dev/zero >filler; for command in true 'exit 7'; do {ZC} soak --output cost \
         --run-anyway --runs 1 -- sh -c \"$command\"; echo \"code $?\"; done; ls"
    );
    let Some(output) = on_small_disk(folder.path(), "4k", &script) else { return };
    let said = stderr(&output);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "code 125\ncode 7\nfiller\n", "{said}");
    assert!(is_starved(&said) || said.contains("[cannot-write]"), "{said}");
}

#[test]
fn the_result_of_a_command_goes_where_it_is_wanted() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cost.json");
    let output = output(&[
        "--json",
        "--runs",
        "1",
        "--output",
        file.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        "exit 0",
    ]);
    if has_no_result(&stderr(&output)) {
        eprintln!("skipped: something else uses this machine");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    let result: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert!(result["cost"]["elapsed_s"]["value"].as_f64().unwrap() > 0.0);
    let rank = &result["rank"]["by"];
    assert!(["cgroup", "autogroup", "class"].iter().any(|by| rank == by), "{rank}");
    match result["taken"]["soakers"].as_f64() {
        Some(share) => assert!((-0.01..0.5).contains(&share), "{share}"),
        None => eprintln!("skipped: the machine was too busy to see what the soakers take"),
    }
}

#[test]
fn in_a_cgroup_that_may_not_use_the_cpus_its_limit_is_no_load() {
    let _turn = measuring();
    let cgroup = match Cgroup::of_cpu(50) {
        Ok(cgroup) => cgroup,
        Err(error) => return eprintln!("skipped: no cgroup with a CPU limit: {error}"),
    };
    let finished = |words: &[&str]| cgroup.zc(words).finish().unwrap();
    let why = "this cgroup may use 0.50 CPUs and";
    let live = finished(&["soak", "--count", "1"]);
    assert_eq!(refused(&live, 13), "load-not-measurable");
    let command = finished(&["soak", "--", "echo", "run"]);
    assert_eq!(refused(&command, 125), "command-not-executed");
    assert!(stderr(&command).contains(why), "{}", stderr(&command));
    let anyway = finished(&["soak", "--run-anyway", "--json", "--runs", "1", "--", "true"]);
    assert_eq!(anyway.status.code(), Some(125), "{}", stderr(&anyway));
    // Or a soaker had no CPU time at all.
    if !stderr(&anyway).contains(STARVED) {
        let cost = &result(&anyway)["cost"];
        assert!(cost["cpu_s"].is_null() && cost["soaked_cpu_s"].is_null(), "{cost}");
        assert!(cost["withheld"].as_str().is_some_and(|it| it.starts_with(why)), "{cost}");
    }
}
