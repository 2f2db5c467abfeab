//! SIGINT and SIGTERM while something is waited for: in each place of each command that takes the
//! name of a file, a FIFO that nobody writes to and /dev/zero; where it takes a host, one that
//! accepts connections and says nothing, and one that accepts none.
//!
//! The places are those of the help, so that a new one is in the table below or fails the test.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::support::{
    Bounded as _, LIMIT, at_once, measuring, saved_run, text, until, words, zc, zc_in,
};

/// Placeholders of values that name neither a file nor a host.
const PLAIN: &[&str] = &[
    "ADDRESS",
    "CELL=TIME",
    "CLIENT",
    "DEVICE",
    "DURATION",
    "FORMAT",
    "KIND",
    "KINDS",
    "LINE",
    "LINK",
    "LIST",
    "N",
    "N/s",
    "NAME",
    "NAME: VALUE",
    "NAMES",
    "NAME[:SIZE]",
    "NS",
    "NUMBER",
    "NUMBERS",
    "PERCENT",
    "PORT",
    "PRICE",
    "RATE",
    "REGEX",
    "REUSE",
    "S,L",
    "S,R",
    "SHARE",
    "SIZE",
    "SIZES",
    "TOKEN",
    "VERSION",
    "VERSIONS",
    "WHAT",
    "WHAT=KEY",
    "WHERE",
    "bytes|requests|transactions",
];

/// Values to try in place of a name.
#[derive(Debug, Clone, Copy)]
enum Try {
    /// A FIFO and /dev/zero in place of `{}`; `RUN` is a saved run.
    File(&'static str),
    /// A server that says nothing, and one that is full, in place of `{}`.
    Host(&'static str),
    /// It is not tried, for this reason.
    Not(#[expect(dead_code, reason = "for who reads the table")] &'static str),
}

use Try::{File, Host, Not};

const COMMAND: &str = "a command of the user's, with its own signals";

const PROGRAMS: &str = "a file that is read as that of fleet plan, once there is a plan";

/// Each place that takes a name: the command, and the option or the placeholder.
const PLACES: &[(&str, &str, Try)] = &[
    ("run", "--plan", File("run --plan {}")),
    ("run", "--like", File("run --like {}")),
    ("run", "--files", File("run --files {}")),
    ("run", "--with", File("run memory --with {}")),
    ("run", "--ab", Not(COMMAND)),
    ("run", "--ab-restore", Not(COMMAND)),
    ("run", "--verify-state", Not(COMMAND)),
    ("run", "--remote", Host("run --remote {} --budget 60s")),
    ("run", "--remote", Host("run --remote iperf3://{} --budget 60s")),
    ("run", "--via", Host("run --via 'exec sleep 1000 #' --budget 60s")),
    ("run", "--token-file", File("run --remote 127.0.0.1:9 --token-file {}")),
    ("run", "--far-address", Not("an address that --via is told")),
    ("run", "--carry", File("run --via false --carry {}")),
    ("run", "--state", Host("run server --state a=http://{}/ --state b=http://{}/ --budget 60s")),
    ("run", "--url", Not("the same as in --state")),
    ("run", "--serve", Not("sweep::kills has it")),
    (
        "run",
        "--cacert",
        File(
            "run server --state a=https://127.0.0.1:9/ --state b=https://127.0.0.1:9/ --cacert {}",
        ),
    ),
    ("run", "LOADGEN", Not(COMMAND)),
    ("run", "--nfs-server", Not("a program, or a server at a port that no test may take")),
    ("run", "--nfs-file", Not("a file of the server's export")),
    ("run", "--nfs-reader", Not("a program")),
    ("run", "--log", File("run replay --log {} --budget 60s")),
    ("run", "--kernel", File("run --kernel a={} --kernel b={}")),
    ("run", "--build", Not(COMMAND)),
    ("run", "--boot", Not(COMMAND)),
    ("run", "--out", File("run --out {}")),
    ("profile", "PATH", Not("a send path")),
    ("profile", "--files", File("profile --files {}")),
    ("profile", "--out", File("profile --out {}")),
    ("profile", "--folded", File("profile --folded {}")),
    ("serve", "--listen", Not("an address of this machine")),
    ("serve", "--token-file", File("serve --listen 127.0.0.1:0 --token-file {}")),
    ("show", "FILE", File("show {}")),
    ("convert", "FILE", File("convert {}")),
    ("convert", "--out", Not("as that of report")),
    ("report", "RUN", File("report {}")),
    ("report", "--out", File("report RUN -o {}")),
    ("compare", "OLD", File("compare {} RUN")),
    ("compare", "NEW", File("compare RUN {}")),
    ("compare", "--calibration", File("compare RUN RUN --calibration {}")),
    ("compare", "--out", File("compare RUN RUN -o {}")),
    ("bisect", "--good", File("bisect --good {} --path sendfile --worse 5% --steps 1")),
    (
        "bisect",
        "--kernel",
        File("bisect --kernel {} --good {} --path sendfile --worse 5% --steps 1"),
    ),
    (
        "bisect",
        "--like",
        File("bisect --like {} --ab true --ab true --path x --worse 5% --steps 1"),
    ),
    ("bisect", "--ab", Not(COMMAND)),
    ("bisect", "--ab-restore", Not(COMMAND)),
    ("bisect", "--verify-state", Not(COMMAND)),
    ("bisect", "--log", Not("as that of report")),
    ("bisect", "COMMAND", Not(COMMAND)),
    ("calibrate", "RUN", File("calibrate {} RUN RUN")),
    ("fleet plan", "FLEET.toml", File("fleet plan {} -o plan")),
    ("fleet plan", "--out", File("fleet plan none.toml -o {}")),
    ("fleet submit", "DIR", File("fleet submit {}")),
    ("fleet submit", "--programs", Not(PROGRAMS)),
    ("fleet status", "--programs", Not(PROGRAMS)),
    ("fleet collect", "--programs", Not(PROGRAMS)),
    ("fleet cancel", "--programs", Not(PROGRAMS)),
    ("fleet status", "DIR", File("fleet status {}")),
    ("fleet collect", "DIR", File("fleet collect {} --archive archive")),
    ("fleet collect", "--archive", Not("a folder that is made")),
    ("fleet report", "DIR", File("fleet report {}")),
    ("fleet report", "--out", Not("as that of report")),
    ("fleet cancel", "DIR", File("fleet cancel {}")),
    ("trend", "DIR", File("trend {}")),
    ("trend", "--events", File("trend . --events {}")),
    ("trend", "--out", Not("as that of report")),
    ("export", "DIR", File("export {}")),
    ("export", "--out", Not("as that of report")),
    ("soak", "COMMAND", Not(COMMAND)),
    ("soak", "--cgroup", File("soak --cgroup {} --for 60s")),
    (
        "soak",
        "--status-url",
        Host("soak --run-anyway --per requests --status-url http://{}/ -- true"),
    ),
    ("soak", "--status-url", Host("soak --pid 1 --for 60s --per requests --status-url http://{}/")),
    ("soak", "--openmetrics", Not("as that of report")),
    ("soak", "--log", File("soak --pid 1 --openmetrics meter.prom --log {}")),
    ("soak", "--output", File("soak --output {} -- true")),
    ("http", "URL", Host("http http://{}/ --timeout 100s")),
    ("http", "URL", Host("http https://{}/ --timeout 100s --insecure")),
    ("http", "URL", Host("http http://{}/ --timeout 100s --close")),
    ("http", "--from", File("http http://127.0.0.1:9/ --from {}")),
    ("http", "--cacert", File("http https://127.0.0.1:9/ --cacert {}")),
    ("advise", "LOG", File("advise {}")),
    ("advise", "--from-run", File("advise RUN --from-run {}")),
    ("advise", "--server-run", File("advise RUN --server-run {}")),
    ("advise", "--host", File("advise --from-run RUN --host a={}")),
    ("advise", "--tls-run", File("advise RUN --tls-run {}")),
    ("advise", "--today", Not("a send path")),
    ("advise", "--out", Not("as that of report")),
    ("tune nginx", "--conf", File("tune nginx --conf {}")),
    ("tune nginx", "--log", File("tune nginx --log {}")),
    ("tune nginx", "--root", Not("a folder")),
    ("tune nginx", "--runs", Not("a folder")),
    ("tune nginx", "--out", Not("as that of report")),
    ("tune apache", "--conf", File("tune apache --conf {}")),
    ("tune apache", "--log", File("tune apache --log {}")),
    ("tune apache", "--root", Not("a folder")),
    ("tune apache", "--runs", Not("a folder")),
    ("tune apache", "--out", Not("as that of report")),
    ("tune haproxy", "--conf", File("tune haproxy --conf {}")),
    ("tune haproxy", "--log", File("tune haproxy --log {}")),
    ("tune haproxy", "--root", Not("a folder")),
    ("tune haproxy", "--runs", Not("a folder")),
    ("tune haproxy", "--out", Not("as that of report")),
    ("tune caddy", "--conf", File("tune caddy --conf {}")),
    ("tune caddy", "--log", File("tune caddy --log {}")),
    ("tune caddy", "--root", Not("a folder")),
    ("tune caddy", "--runs", Not("a folder")),
    ("tune caddy", "--out", Not("as that of report")),
    ("install-classic", "DIR", File("install-classic {}")),
    ("generate", "DIR", File("generate man {}")),
];

/// Commands whose arguments are not in a help of this form: they are those of 2001.
const CLASSIC: &[(&str, &str)] =
    &[("zcs", ""), ("zcc", "zcc -s 127.0.0.1 {}"), ("cyclesoak", ""), ("run-rr", ""), ("ttcp", "")];

/// Longest time between a signal and the end. It is a second on a machine that does nothing else.
const SOON: Duration = Duration::from_secs(8);

/// Memory of a program that reads /dev/zero, in KiB.
const MOST_KIB: u64 = 300 << 10;

fn help_of(words: &[&str]) -> String {
    text(&zc(&[words, &["--help"]].concat()).finish().unwrap().stdout)
}

/// The commands of zc, which its help lists in groups.
fn commands_of_zc() -> Vec<String> {
    names(help_of(&[]).lines())
}

/// The subcommands that the help of a command lists.
fn subcommands(help: &str) -> Vec<String> {
    let is_heading = |line: &str| line == "Commands:" || line.starts_with("Experiments with");
    let lines = help.lines().skip_while(|line| !is_heading(line)).skip(1);
    names(lines.take_while(|line| line.starts_with("  ")))
}

/// The first word of each line that has two blanks before it.
fn names<'h>(lines: impl Iterator<Item = &'h str>) -> Vec<String> {
    let lines = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Places of a help at which something takes a value: the option or the placeholder, and what the
/// value is called.
fn places(help: &str) -> Vec<(String, String)> {
    let own = |line: &str| {
        let line = line.trim_start();
        if let Some(at) = line.find("--").filter(|at| line.starts_with('-') && *at <= 4) {
            let option = line[at..].split([' ', '=']).next()?;
            let value = line[at..].split_once('<')?.1.split('>').next()?;
            return line[at..]
                .starts_with(&format!("{option} <"))
                .then(|| (option.to_owned(), value.to_owned()));
        }
        let name = line.strip_prefix(['<', '['])?.split([']', '>']).next()?;
        line.starts_with(['<', '[']).then(|| (name.to_owned(), name.to_owned()))
    };
    let is_entry = |line: &&str| line.starts_with("  ") && !line.starts_with("          ");
    help.lines().filter(is_entry).filter_map(own).collect()
}

#[test]
fn every_place_that_takes_a_name_is_in_the_table() {
    let mut commands = Vec::new();
    for command in commands_of_zc() {
        let further = subcommands(&help_of(&[&command]));
        let names = further.iter().filter(|name| *name != "help" && command != "help");
        commands.extend(names.map(|name| format!("{command} {name}")));
        if further.is_empty() || command == "run" {
            commands.push(command);
        }
    }
    commands.retain(|command| command != "help");
    assert!(commands.len() > 20, "{commands:?}");
    let mut found = BTreeSet::new();
    for command in &commands {
        if CLASSIC.iter().any(|(classic, _)| classic == command) {
            continue;
        }
        let words: Vec<&str> = command.split(' ').collect();
        // The table has the options of all experiments under `run`.
        let command = if words[0] == "run" { "run" } else { command };
        for (place, value) in places(&help_of(&words)) {
            if !PLAIN.contains(&value.as_str()) {
                found.insert((command.to_owned(), place));
            }
        }
    }
    let known: BTreeSet<_> = PLACES
        .iter()
        .map(|(command, place, _)| ((*command).to_owned(), (*place).to_owned()))
        .collect();
    let missing: Vec<_> = found.difference(&known).collect();
    assert!(missing.is_empty(), "places without a line in the table: {missing:?}");
    let gone: Vec<_> =
        known.difference(&found).filter(|(_, place)| place != "--far-address").collect();
    assert!(gone.is_empty(), "places that no help has: {gone:?}");
}

/// A listener whose backlog is full: a further client waits.
fn full() -> (TcpListener, Vec<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut taken = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
        taken.push(stream);
        assert!(taken.len() < 100, "the backlog has no end");
    }
    (listener, taken)
}

/// One run of the program: its words, and the target of the signal.
struct Case {
    line: String,
    signal: Signal,
}

fn cases(folder: &Path, silent: SocketAddr, full: SocketAddr) -> Vec<Case> {
    let fifo = folder.join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    std::fs::write(folder.join("run.json"), saved_run()).unwrap();
    let mut cases = Vec::new();
    let mut both = |line: &str, first: String, second: String| {
        let line = line.replace("RUN", "run.json");
        cases.push(Case { line: line.replace("{}", &first), signal: Signal::INT });
        cases.push(Case { line: line.replace("{}", &second), signal: Signal::TERM });
    };
    let (fifo, zero) = (fifo.display().to_string(), "/dev/zero".to_owned());
    for (_, _, how) in PLACES {
        match how {
            File(line) => both(line, fifo.clone(), zero.clone()),
            Host(line) => both(line, silent.to_string(), full.to_string()),
            Not(_) => {}
        }
    }
    CLASSIC
        .iter()
        .filter(|(_, line)| !line.is_empty())
        .for_each(|(_, line)| both(line, fifo.clone(), zero.clone()));
    cases
}

/// A line of /proc/PID/status; `None` once the process has ended.
fn status(process: &Child, name: &str) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    value.map(|value| value.trim().to_owned())
}

/// Peak resident memory of a process in KiB.
fn peak_kib(process: &Child) -> Option<u64> {
    status(process, "VmHWM:")?.strip_suffix(" kB")?.parse().ok()
}

/// Whether a process ignores a signal, as those of a shell's background do with SIGINT until they
/// have a handler.
fn ignores(process: &Child, signal: Signal) -> bool {
    let ignored = status(process, "SigIgn:").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    ignored.is_some_and(|mask| mask >> (signal.as_raw() - 1) & 1 == 1)
}

#[test]
fn whatever_is_waited_for_a_signal_ends_it_soon() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (listener, _taken) = full();
    let cases = cases(folder.path(), silent.local_addr().unwrap(), listener.local_addr().unwrap());
    assert!(cases.len() > 60, "{}", cases.len());
    at_once(&cases, |case| {
        let words = words(&case.line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut zc = zc_in(folder.path(), &words);
        let mut zc = zc.stdout(Stdio::null()).stderr(Stdio::piped()).start().unwrap();
        // It has begun to wait, has refused, or is about to: a signal is to end it at any moment.
        let begun = Instant::now();
        until("it waits", || {
            let has_ended = zc.try_wait().unwrap().is_some();
            let waits = begun.elapsed() > Duration::from_millis(700) && !ignores(&zc, case.signal);
            (has_ended || waits).then_some(())
        });
        let peak_kib = peak_kib(&zc).unwrap_or_default();
        assert!(peak_kib < MOST_KIB, "{}: {peak_kib} KiB", case.line);
        let was_signalled = zc.try_wait().unwrap().is_none();
        if was_signalled {
            let _ = rustix::process::kill_process(Pid::from_child(&zc), case.signal);
        }
        let signalled = Instant::now();
        let output = zc.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert!(signalled.elapsed() < SOON, "{}: {:?}: {said}", case.line, signalled.elapsed());
        assert!(!said.contains("panicked"), "{}: {said}", case.line);
        if was_signalled {
            let by_itself = output.status.signal() == Some(case.signal.as_raw());
            let code = output.status.code();
            // 0 ends `zc serve`. Others: it had refused by then.
            let is_interrupted = by_itself || code == Some(130) || code == Some(0)
                // Where it stands for the command, with env(1)'s code.
                || said.contains("interrupted");
            let refused = said.contains("error: ") && !said.contains("interrupted");
            assert!(is_interrupted || refused, "{}: {} {said}", case.line, output.status);
        }
    });
}

#[test]
fn a_load_that_waits_for_its_last_response_ends_soon_too() {
    use std::io::{Read as _, Write as _};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (asked, is_asked) = std::sync::mpsc::channel();
    // Answers the first request, and then none.
    std::thread::spawn(move || {
        for (number, connection) in listener.incoming().enumerate() {
            let (mut connection, asked) = (connection.unwrap(), asked.clone());
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                let mut answers = u32::from(number == 0);
                while matches!(connection.read(&mut request), Ok(1..)) {
                    if answers > 0 {
                        answers = 0;
                        connection
                            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                            .unwrap();
                    } else {
                        let _ = asked.send(());
                    }
                }
            });
        }
    });
    let words = [
        "http",
        &url,
        "--connections",
        "1",
        "--rate",
        "100/s",
        "--for",
        "600s",
        "--timeout",
        "100s",
    ];
    let zc = zc(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    is_asked.recv_timeout(LIMIT).unwrap();
    rustix::process::kill_process(Pid::from_child(&zc), Signal::TERM).unwrap();
    let signalled = Instant::now();
    let output = zc.wait_with_output().unwrap();
    assert!(signalled.elapsed() < SOON, "{:?}", signalled.elapsed());
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("no response"), "{}", text(&output.stdout));
}
