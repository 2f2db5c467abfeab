//! The n-th system call of a kind fails. strace(1) injects the error; which calls there are is
//! found by tracing the same command once. strace counts the calls of each thread apart, so that
//! the n-th call fails in every thread that makes so many.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Command, Output};

use rustix::process::Signal;

use super::marked::{Host, as_nobody, finished, signal, start};
use super::verdict::{self, AROUND_A_COMMAND, End, NO_SENTENCE, shortened};
use super::{cases_of, dice, drawn, is_long, search, seed, turn};
use crate::support::{Bounded as _, NOTHING_KEPT, ZC, stderr, text};

/// Number of calls of a kind that are tried, from the first one of `main`.
const MOST: usize = 40;

/// Calls that cannot fail if their arguments are right, that do their work even where they report
/// an error (close(2)), or that end the thread. futex(2) is among them because waking cannot fail,
/// and strace cannot tell it from waiting; brk(2) reports its failure by another value than strace
/// returns.
const INFALLIBLE: [&str; 36] = [
    "futex",
    "brk",
    "arch_prctl",
    "clock_getres",
    "clock_gettime",
    "close",
    "execve",
    "exit",
    "exit_group",
    "getegid",
    "geteuid",
    "getgid",
    "getpid",
    "getppid",
    "getpgid",
    "gettid",
    "getuid",
    "munmap",
    "prlimit64",
    "restart_syscall",
    "rseq",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_yield",
    "set_robust_list",
    "set_tid_address",
    "sigaltstack",
    "umask",
    "uname",
    "rt_sigpending",
    "getpgrp",
    "getsid",
    "tgkill",
    "times",
    "vfork",
];

/// The errors that a call can plausibly end with, by its man page.
fn errors_of(call: &str) -> &'static [&'static str] {
    match call {
        "read" | "pread64" | "readv" | "preadv" | "getdents64" | "lseek" => {
            &["EIO", "EINTR", "EAGAIN"]
        }
        "recvfrom" | "recvmsg" | "recvmmsg" => &["ECONNRESET", "EINTR", "EAGAIN", "ENOMEM"],
        "sendto" | "sendmsg" | "sendmmsg" => &["EPIPE", "EINTR", "EAGAIN", "ENOBUFS", "EPERM"],
        "write" | "writev" | "pwrite64" | "pwritev" => {
            &["ENOSPC", "EIO", "EINTR", "EPIPE", "EFBIG"]
        }
        "sendfile" | "splice" | "vmsplice" | "tee" => {
            &["EIO", "EINTR", "EAGAIN", "ENOMEM", "EPERM"]
        }
        "fdatasync" | "fsync" | "ftruncate" | "fallocate" => &["EIO", "ENOSPC", "EINTR"],
        "open" | "openat" => &["EMFILE", "EACCES", "ENOENT", "EINTR", "ENOMEM"],
        "stat" | "fstat" | "lstat" | "statx" | "newfstatat" | "fstatfs" | "statfs" | "access"
        | "faccessat2" | "readlink" | "readlinkat" => &["EACCES", "ENOMEM", "ENOENT"],
        "mmap" | "mprotect" | "mremap" | "madvise" | "mlock" | "mbind" => &["ENOMEM"],
        "clone" | "clone3" | "fork" => &["EAGAIN", "ENOMEM", "EPERM"],
        "poll" | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait" => {
            &["EINTR", "ENOMEM"]
        }
        "nanosleep" | "clock_nanosleep" => &["EINTR"],
        "wait4" | "waitid" => &["EINTR", "ECHILD"],
        "connect" => &["ECONNREFUSED", "ETIMEDOUT", "EINTR", "ENETUNREACH"],
        "accept" | "accept4" => &["EMFILE", "ECONNABORTED", "EINTR", "ENOMEM"],
        "bind" | "listen" => &["EADDRINUSE", "EACCES", "ENOMEM"],
        "socket" | "socketpair" | "pipe2" | "pipe" | "eventfd2" | "memfd_create"
        | "epoll_create1" | "signalfd4" | "dup" | "dup2" | "dup3" | "pidfd_open"
        | "io_uring_setup" | "timerfd_create" => &["EMFILE", "ENOMEM", "EPERM"],
        "fcntl" => &["EMFILE", "EAGAIN", "EPERM"],
        "flock" => &["EWOULDBLOCK", "EINTR", "ENOLCK"],
        "getsockopt" | "setsockopt" => &["ENOPROTOOPT", "ENOMEM", "EPERM"],
        "getsockname" | "getpeername" => &["ENOBUFS", "ENOTCONN"],
        "shutdown" => &["ENOTCONN", "EPERM"],
        "getrandom" => &["EINTR", "ENOSYS"],
        "kill" | "pidfd_send_signal" => &["EPERM", "ESRCH"],
        "unlink" | "unlinkat" | "rename" | "renameat2" | "mkdir" | "mkdirat" | "rmdir" | "link"
        | "linkat" => &["EACCES", "EIO", "ENOSPC"],
        _ => &["EPERM", "ENOMEM", "ENOSYS"],
    }
}

/// A command in whose calls faults are planted.
struct Target {
    name: &'static str,
    args: Vec<&'static str>,
    /// Whether it runs as a user other than root.
    unprivileged: bool,
    /// Calls that are left out, `read`, or one of their errors, `read:EIO`.
    not: &'static [&'static str],
    /// Exit codes besides those of all commands.
    codes: &'static [i32],
    /// Puts what the command needs into its folder.
    prepare: fn(&Path),
    /// The other end, which runs beside it.
    beside: Beside,
    /// Whether the result of a command that succeeded is whole; the second output is that without a
    /// fault.
    whole: fn(&Path, &Output, &Output) -> Result<(), String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    /// A server, whose address the command is given.
    Server(&'static [&'static str]),
    /// The command is a server, and this is its client, which is given the address.
    Client(&'static [&'static str]),
}

const RUN: &str = "run";
const SHORT: [&str; 6] = ["--paths", "sendfile", "--budget", "2s", "--out", "run.json"];

#[derive(Debug, Clone, PartialEq, Eq)]
struct Fault {
    call: String,
    error: &'static str,
    nth: usize,
}

impl Fault {
    /// The options of strace(1) that plant it.
    fn options(&self) -> [String; 4] {
        let Self { call, error, nth } = self;
        [
            "--seccomp-bpf".to_owned(),
            format!("--trace={call}"),
            format!("--inject={call}:error={error}:when={nth}"),
            "--output=/dev/null".to_owned(),
        ]
    }

    /// The reader of stdout has gone, which is no error, and leaves no result.
    fn is_reader_gone(&self) -> bool {
        self.call.starts_with("write") && self.error == "EPIPE"
    }
}

fn nothing(_: &Path) {}

fn a_saved_run(folder: &Path) {
    let run = zc_testkit::synthetic::Synthetic { blocks: 12, ..Default::default() }.run();
    std::fs::write(folder.join("run.json"), zc_run::run_lines(&run)).unwrap();
}

fn two_saved_runs(folder: &Path) {
    a_saved_run(folder);
    let mut run =
        zc_testkit::synthetic::Synthetic { blocks: 12, seed: 2, ..Default::default() }.run();
    run.header.started_at = "2026-11-22T10:00:00Z".to_owned();
    std::fs::write(folder.join("other.json"), zc_run::run_lines(&run)).unwrap();
}

fn a_file(folder: &Path) {
    std::fs::write(folder.join("file"), vec![7; 300_000]).unwrap();
}

fn whole_run(folder: &Path, output: &Output, _: &Output) -> Result<(), String> {
    verdict::saved_run(folder, End::Succeeded)?;
    verdict::table(output, End::Succeeded, &["read+send", "sendfile"])
}

/// A run of many paths, with the reference at least.
fn any_run(folder: &Path, output: &Output, _: &Output) -> Result<(), String> {
    verdict::saved_run(folder, End::Succeeded)?;
    verdict::table(output, End::Succeeded, &["read+send"])
}

/// The output must be the same as without a fault.
fn the_same(_: &Path, output: &Output, sound: &Output) -> Result<(), String> {
    if output.stdout == sound.stdout {
        return Ok(());
    }
    Err(format!("succeeded with another result: {}", shortened(&text(&output.stdout))))
}

/// Checks that it writes the same file as without a fault.
fn whole_page(folder: &Path, output: &Output, sound: &Output) -> Result<(), String> {
    the_same(folder, output, sound)?;
    let page =
        std::fs::read_to_string(folder.join("page.html")).map_err(|error| error.to_string())?;
    if page.trim_end().ends_with("</html>") {
        Ok(())
    } else {
        Err("succeeded with half a page".to_owned())
    }
}

fn whole_cost(_: &Path, output: &Output, _: &Output) -> Result<(), String> {
    let said = stderr(output);
    // Where other programs leave the soakers hardly any time, nothing is told of the last row.
    let last = ["  unattributed ", "they hardly ran"];
    if said.contains("  cost ") && last.iter().any(|row| said.contains(row)) {
        Ok(())
    } else {
        Err(format!("succeeded without a result: {}", shortened(&said)))
    }
}

/// Checks that all bytes of the file have arrived, as the last line says.
fn whole_transfer(_: &Path, output: &Output, _: &Output) -> Result<(), String> {
    let said = text(&output.stdout);
    if said.contains("300000 bytes of 1 files") {
        Ok(())
    } else {
        Err(format!("succeeded with: {}", shortened(&said)))
    }
}

fn anything(_: &Path, _: &Output, _: &Output) -> Result<(), String> {
    Ok(())
}

/// The same for a command that takes seconds each time: a sample is two of five, different ones
/// each day.
fn sweep_by_turns(place: u64, target: &Target) {
    if is_long() || [0, 2].contains(&((seed() + place) % 5)) {
        return sweep(target, 3);
    }
    eprintln!("{}: not in the sample that ZC_SWEEP_SEED={} draws", target.name, seed());
}

/// Traces the command, and fails calls of it one by one.
fn sweep(target: &Target, sample: usize) {
    let Ok(found) = Command::new("strace").arg("-V").finish() else {
        return eprintln!("skipped: no strace");
    };
    assert!(found.status.success());
    let measures = ["run", "soak", "serve"].contains(&target.args[0]);
    let _turn = measures.then(turn);
    let host = Host::now();
    let mut dice = dice(target.name);
    let traced = tempfile::tempdir().unwrap();
    let trace = traced.path().join("trace");
    let sound = match once(target, &[format!("--output={}", trace.display())], traced.path()) {
        Ok(sound) => sound,
        Err(why)
            if why.contains("Operation not permitted") || why.contains("Permission denied") =>
        {
            return eprintln!(
                "skipped: {}: nothing can be traced here: {}",
                target.name,
                shortened(&why)
            );
        }
        Err(why) => panic!("{}: without a fault: {why}", target.name),
    };
    let sound_end = verdict::end(&sound, target.codes).unwrap();
    assert!(
        // 125: other programs had the CPUs.
        matches!(sound_end, End::Succeeded | End::Failed(NOTHING_KEPT | verdict::NOT_FIT | 125)),
        "{}: {}",
        target.name,
        stderr(&sound)
    );
    let calls = calls_in(&std::fs::read_to_string(&trace).unwrap());
    assert!(calls.len() > 10, "{calls:?}");
    let faults: Vec<Fault> = calls
        .iter()
        .flat_map(|(call, places)| {
            let errors = errors_of(call);
            places.clone().flat_map(move |nth| {
                errors.iter().map(move |error| Fault { call: call.clone(), error, nth })
            })
        })
        .filter(|Fault { call, error, .. }| {
            !target.not.contains(&call.as_str())
                && !target.not.contains(&format!("{call}:{error}").as_str())
        })
        .collect();
    eprintln!("{}: {} kinds of call, {} possible faults", target.name, calls.len(), faults.len());
    let cases = drawn(faults, cases_of(sample), &mut dice);
    search(
        target.name,
        &cases,
        |fault| format!("strace -f -qq {} zc {}", fault.options().join(" "), target.args.join(" ")),
        |fault| {
            let folder = tempfile::tempdir().unwrap();
            let output = once(target, &fault.options(), folder.path())?;
            let end = match verdict::end(&output, target.codes) {
                // What could not be written was the sentence.
                Err(wrong) if wrong.starts_with(NO_SENTENCE) && fault.call.starts_with("write") => {
                    return Ok(());
                }
                end => end?,
            };
            if target.args[0] == RUN {
                verdict::saved_run(folder.path(), end)?;
            }
            if end == End::Succeeded && !fault.is_reader_gone() {
                (target.whole)(folder.path(), &output, &sound)?;
            }
            Ok(())
        },
    );
    host.is_as_it_was().unwrap();
}

/// The calls of each kind that can fail: from the first one of `main` to the last one of the thread
/// that made most of them, and no more than [`MOST`].
///
/// Calls before `main` are the dynamic loader's and the standard library's, and no program can make
/// these survive. The last thing that the standard library does there is to set up a stack for
/// signal handlers.
fn calls_in(trace: &str) -> BTreeMap<String, RangeInclusive<usize>> {
    let mut of_thread: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut before_main: Option<BTreeMap<&str, usize>> = None;
    for line in trace.lines() {
        // `1234 read(3, ...`, and not `1234 <... read resumed>`.
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let Some((call, _)) = rest.trim_start().split_once('(') else { continue };
        if !call.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            continue;
        }
        *of_thread.entry((thread, call)).or_default() += 1;
        if call == "sigaltstack" && before_main.is_none() {
            before_main =
                Some(of_thread.iter().map(|((_, call), count)| (*call, *count)).collect());
        }
    }
    let before_main = before_main.unwrap_or_default();
    let mut calls = BTreeMap::new();
    for ((_, call), count) in of_thread {
        let first = before_main.get(call).copied().unwrap_or_default() + 1;
        let last = count.min(first + MOST - 1);
        if last >= first && !INFALLIBLE.contains(&call) {
            let known = calls.entry(call.to_owned()).or_insert(first..=last);
            *known = first..=last.max(*known.end());
        }
    }
    calls
}

/// Runs the command once under strace with these options. Nothing of it may be left afterwards.
fn once(target: &Target, options: &[String], folder: &Path) -> Result<Output, String> {
    (target.prepare)(folder);
    let mut server = match target.beside {
        Beside::Server(words) => Some(start(Command::new(ZC).args(words))?),
        _ => None,
    };
    let address = server.as_mut().map(|server| server.says(address_in)).transpose()?;
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "--signal=none"]).args(options).arg(ZC);
    command.args(with_address(&target.args, address.as_deref())).current_dir(folder);
    if target.unprivileged {
        as_nobody(&mut command, folder);
    }
    let output = match target.beside {
        Beside::Client(words) => served(&mut command, words, folder)?,
        _ => finished(&mut command)?,
    };
    // A server in whose calls nothing fails is none the worse.
    if let Some(server) = server {
        signal(server.pid(), Signal::TERM);
        let ended = server.ends()?;
        if verdict::end(&ended, &[])? != End::Succeeded {
            return Err(format!("the server: {}", shortened(&stderr(&ended))));
        }
    }
    Ok(output)
}

/// The command's words, with the address of the other end.
pub(super) fn with_address(words: &[&str], address: Option<&str>) -> Vec<String> {
    let address = address.unwrap_or_default();
    let port = address.rsplit(':').next().unwrap_or_default();
    words.iter().map(|word| word.replace("ADDRESS", address).replace("PORT", port)).collect()
}

/// A server that a client calls, both to their ends.
fn served(command: &mut Command, client: &[&str], folder: &Path) -> Result<Output, String> {
    let mut server = start(command)?;
    // It may end before it listens.
    if let Ok(address) = server.says(address_in) {
        let called = finished(
            Command::new(ZC).args(with_address(client, Some(&address))).current_dir(folder),
        )?;
        verdict::end(&called, &[]).map_err(|wrong| format!("the client: {wrong}"))?;
    }
    // strace(1) would not pass the signal on.
    if let Some(pid) = server.zc() {
        signal(pid, Signal::TERM);
    }
    server.ends()
}

/// Address on which a server says that it listens.
pub(super) fn address_in(said: &str) -> Option<String> {
    let line = said.lines().find(|line| line.contains("listening on "))?;
    if !said.contains(&format!("{line}\n")) {
        return None;
    }
    match line.split_once("listening on port ") {
        Some((_, port)) => Some(format!("127.0.0.1:{}", port.trim())),
        None => Some(line.split_once("listening on ")?.1.split(';').next()?.trim().to_owned()),
    }
}

fn args(parts: &[&[&'static str]]) -> Vec<&'static str> {
    parts.concat()
}

/// A command alone, as a user without privileges.
fn alone(name: &'static str, args: &[&'static str]) -> Target {
    Target {
        name,
        args: args.to_vec(),
        unprivileged: true,
        not: &[],
        codes: &[],
        prepare: nothing,
        beside: Beside::Nothing,
        whole: anything,
    }
}

#[test]
fn a_run_over_veth_ends_well_whatever_call_fails() {
    let args = args(&[&[RUN, "--link", "veth"], &SHORT]);
    sweep_by_turns(0, &Target { whole: whole_run, ..alone("faults of a run over veth", &args) });
}

/// Every way of sending, and the way of receiving that makes most calls of its own.
#[test]
fn every_path_ends_well_whatever_call_fails() {
    let args = [
        RUN,
        "--link",
        "loopback",
        "--recv",
        "uring-multishot",
        "--budget",
        "4s",
        "--out",
        "run.json",
    ];
    sweep_by_turns(1, &Target { whole: any_run, ..alone("faults of every path", &args) });
}

#[test]
fn a_run_over_null_ends_well_whatever_call_fails() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: the link null needs root");
    }
    let args = args(&[&[RUN, "--link", "null"], &SHORT]);
    let of_root = Target {
        unprivileged: false,
        whole: whole_run,
        ..alone("faults of a run over null", &args)
    };
    sweep_by_turns(2, &of_root);
}

#[test]
fn a_command_s_cost_ends_well_whatever_call_fails() {
    // The only one waits on a socket pair of Command::spawn for the child's exec(3), and a failure
    // of it would have the standard library wait for the child's end.
    let not = &["recvfrom"];
    // What follows is what it did three times before.
    let args = ["soak", "--runs", "3", "--", "true"];
    let of_soak = alone("faults of zc soak -- true", &args);
    sweep(&Target { not, codes: &AROUND_A_COMMAND, whole: whole_cost, ..of_soak }, 3);
}

#[test]
fn the_near_end_of_two_ends_well_whatever_call_fails() {
    let args = args(&[&[RUN, "--remote", "ADDRESS"], &SHORT]);
    let near = alone("faults of zc run --remote", &args);
    let beside = Beside::Server(&["serve", "--listen", "127.0.0.1:0"]);
    sweep_by_turns(3, &Target { beside, whole: whole_run, ..near });
}

#[test]
fn the_far_end_of_two_ends_well_whatever_call_fails() {
    const CLIENT: [&str; 9] = [
        "run", "--remote", "ADDRESS", "--paths", "sendfile", "--budget", "3s", "--out", "run.json",
    ];
    let far = alone("faults of zc serve", &["serve", "--listen", "127.0.0.1:0"]);
    sweep_by_turns(4, &Target { beside: Beside::Client(&CLIENT), ..far });
}

#[test]
fn what_reads_a_saved_run_ends_well_whatever_call_fails() {
    let reads = |name, args: &[&'static str]| Target {
        prepare: a_saved_run,
        whole: the_same,
        ..alone(name, args)
    };
    sweep(&reads("faults of zc show", &["show", "-v", "run.json"]), 6);
    let page = reads("faults of zc report", &["report", "run.json", "-o", "page.html"]);
    sweep(&Target { whole: whole_page, ..page }, 6);
    let compares = reads("faults of zc compare", &["compare", "run.json", "other.json"]);
    sweep(&Target { prepare: two_saved_runs, ..compares }, 6);
    sweep(&alone("faults of zc doctor", &["doctor"]), 2);
}

#[test]
fn the_tools_of_2001_end_well_whatever_call_fails() {
    let client = alone("faults of zcc", &["zcc", "-s", "0", "-p", "PORT", "file"]);
    let beside = Beside::Server(&["zcs", "-p", "0"]);
    sweep(&Target { prepare: a_file, beside, whole: whole_transfer, ..client }, 6);
    // What it reads is a signalfd in which a signal is: neither can be.
    let not = &["read:EIO", "read:EAGAIN"];
    let server = alone("faults of zcs", &["zcs", "-p", "0"]);
    let beside = Beside::Client(&["zcc", "-s", "0", "-p", "PORT", "file"]);
    sweep(&Target { not, prepare: a_file, beside, ..server }, 6);
}

#[test]
fn calls_are_counted_by_thread_and_resumed_ones_are_not_counted_twice() {
    let trace = "7 mmap(NULL, 1) = 0\n7 sigaltstack(0) = 0\n7 read(3, \"\", 1) = 0\n\
                 7 read(3, <unfinished ...>\n\
                 8 read(3) = 0\n7 <... read resumed>) = 0\n8 mmap(NULL, 1) = 1\n\
                 9 mmap(NULL, 1) = 1\n\
                 8 mmap(NULL, 1) = 1\n8 +++ exited with 0 +++\n7 close(3) = 0\n";
    let counted = calls_in(trace);
    assert_eq!(counted, BTreeMap::from([("mmap".to_owned(), 2..=2), ("read".to_owned(), 1..=2)]));
}
