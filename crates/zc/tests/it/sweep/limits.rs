//! zc under limits: of memory, processes, descriptors, file sizes and stack, on a full disk, behind
//! the system call filter of a container, without parts of /proc, on one CPU, stopped and
//! continued. It works, or it ends with a sentence.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use rustix::process::Signal;

use super::forbidden::{self, as_in_a_container};
use super::marked::{Host, NOBODY, as_nobody, finished, signal, start};
use super::verdict::{self, AROUND_A_COMMAND, End};
use super::{cases_of, dice, drawn, is_long, search, turn};
use crate::support::cgroup::Cgroup;
use crate::support::{NOT_HERE, NOTHING_KEPT, ZC, blocks_saved, stderr};

/// A limit, and how a program gets it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    /// A memory cgroup of so many MiB.
    Memory(u64),
    /// prlimit(1) with this option, as a user of its own, whose other processes do not count.
    Resource(&'static str, u64),
    /// Words before those of zc, of a script that is run by sh(1) in a mount namespace.
    Mounted(&'static str),
    /// The filter of system calls of a container.
    Filter,
    /// A filter that forbids this call.
    Without(i64),
    OneCpu,
}

/// Every limit, in the order of docs/reliability.md.
fn limits() -> Vec<Limit> {
    let resource = |name, values: &[u64]| {
        values.iter().map(|value| Limit::Resource(name, *value)).collect::<Vec<_>>()
    };
    [
        [128, 192, 256, 512, 1024].map(Limit::Memory).to_vec(),
        resource("nproc", &[1, 2, 3, 4, 5, 6, 8, 12, 20]),
        resource("nofile", &[8, 9, 10, 12, 16, 20, 24, 32, 40, 48, 56, 64]),
        resource("fsize", &[2048, 4096, 32_768, 262_144]),
        resource("stack", &[65_536, 131_072, 262_144, 1_048_576]),
        resource("as", &[64 << 20, 128 << 20, 256 << 20, 1 << 30]),
        resource("memlock", &[0, 4096, 65_536]),
        resource("data", &[8 << 20, 64 << 20, 256 << 20]),
        vec![
            Limit::Mounted("mount -t tmpfs -o size=4k,nr_inodes=2 tmpfs \"$PWD\" && cd \"$PWD\""),
            Limit::Mounted("mount -t tmpfs -o size=32k tmpfs \"$PWD\" && cd \"$PWD\""),
            Limit::Mounted("mount -t tmpfs -o size=256k tmpfs \"$PWD\" && cd \"$PWD\""),
            // The program becomes zc and keeps its number.
            Limit::Mounted("mkdir -p none && mount --bind none /proc/$$/net"),
            Limit::Mounted("mount -t proc -o subset=pid proc /proc"),
            Limit::Mounted("mount -t tmpfs tmpfs /sys"),
            Limit::Mounted("mount -t tmpfs tmpfs /tmp && mount -o remount,ro /tmp"),
            Limit::Filter,
            Limit::Without(libc::SYS_getrandom),
            Limit::OneCpu,
        ],
    ]
    .concat()
}

/// Commands run under each limit.
const COMMANDS: [&[&str]; 5] = [
    &["run", "--paths", "sendfile,uring-send,splice", "--budget", "2s", "--out", "run.json"],
    &["soak", "--", "true"],
    &["show", "saved.json"],
    &["serve", "--listen", "127.0.0.1:0"],
    &["doctor"],
];

#[derive(Debug)]
struct Case {
    limit: Limit,
    args: &'static [&'static str],
}

/// A skip is no finding.
enum Ended {
    With(Output),
    Skipped(String),
}

#[test]
fn under_any_limit_zc_works_or_ends_with_a_sentence() {
    let _turn = turn();
    let host = Host::now();
    let mut dice = dice("limits");
    let all = limits().into_iter().flat_map(|limit| COMMANDS.map(|args| Case { limit, args }));
    let cases = drawn(all.collect(), cases_of(6), &mut dice);
    search("limits", &cases, |case| format!("{case:?}"), one);
    host.is_as_it_was().unwrap();
}

fn one(case: &Case) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let run = zc_testkit::synthetic::Synthetic { blocks: 12, ..Default::default() }.run();
    std::fs::write(folder.path().join("saved.json"), zc_run::run_lines(&run)).unwrap();
    let output = match limited(case, folder.path())? {
        Ended::With(output) => output,
        Ended::Skipped(why) => {
            eprintln!("skipped: {:?}: {why}", case.limit);
            return Ok(());
        }
    };
    let further: &[i32] = if case.args[0] == "soak" { &AROUND_A_COMMAND } else { &[] };
    let end = verdict::end(&output, further)?;
    if case.args[0] == "run" {
        // On a file system of its own the run went with it.
        if !matches!(case.limit, Limit::Mounted(_)) {
            verdict::saved_run(folder.path(), end)?;
        }
        verdict::table(&output, end, &["read+send", "sendfile"])?;
    }
    let works = match case.limit {
        Limit::Memory(mib) => mib >= 256,
        Limit::Filter | Limit::OneCpu => true,
        _ => false,
    };
    if works
        && !matches!(end, End::Succeeded | End::Failed(NOTHING_KEPT | verdict::NOT_FIT))
        && case.args[0] != "soak"
    {
        return Err(format!("does not work: {end:?}: {}", stderr(&output)));
    }
    Ok(())
}

fn limited(case: &Case, folder: &Path) -> Result<Ended, String> {
    let mut command;
    let mut cgroup = None;
    match case.limit {
        Limit::Memory(mib) => match Cgroup::of_memory(mib << 20) {
            Ok(made) => command = cgroup.insert(made).zc(case.args),
            Err(error) => {
                return Ok(Ended::Skipped(format!("no memory cgroup can be made: {error}")));
            }
        },
        Limit::Resource(name, value) => {
            command = Command::new("prlimit");
            command.arg(format!("--{name}={value}")).arg(ZC).args(case.args);
            as_nobody(&mut command, folder);
            of_its_own(&mut command, folder);
        }
        Limit::Mounted(script) => {
            let root = rustix::process::geteuid().is_root();
            command = Command::new("unshare");
            command.args(if root { &["-m"][..] } else { &["-Urm"] });
            let script = format!("{{ {script}; }} >&2 || exit {NOT_HERE}; exec \"$0\" \"$@\"");
            command.args(["sh", "-c", &script, ZC]).args(case.args);
        }
        Limit::Filter | Limit::Without(_) => {
            command = Command::new(ZC);
            command.args(case.args);
            as_nobody(&mut command, folder);
        }
        Limit::OneCpu => {
            let cpu = zc_kernel::sched::allowed_cpus().unwrap()[0];
            command = Command::new("taskset");
            command.args(["-c", &cpu.to_string(), ZC]).args(case.args);
        }
    }
    command.current_dir(folder);
    let mut ended =
        || if case.args[0] == "serve" { served(&mut command) } else { finished(&mut command) };
    // A filter belongs to a thread, and to what it starts.
    let output = match case.limit {
        Limit::Filter | Limit::Without(_) => std::thread::scope(|scope| {
            let filtered = || {
                let filter = match case.limit {
                    Limit::Without(call) => forbidden::one(call),
                    _ => as_in_a_container(),
                };
                filter.map_err(|error| format!("skip {error}")).and_then(|()| ended())
            };
            scope.spawn(filtered).join().unwrap()
        }),
        _ => ended(),
    };
    match output {
        Ok(output)
            if output.status.code() == Some(NOT_HERE)
                || stderr(&output).starts_with("unshare: ") =>
        {
            Ok(Ended::Skipped(stderr(&output)))
        }
        Ok(output) => Ok(Ended::With(output)),
        Err(why) if why.starts_with("skip ") || why.contains("cannot be started: No such file") => {
            Ok(Ended::Skipped(why))
        }
        Err(why) => Err(why),
    }
}

/// Makes a program that runs as `nobody` run as a user of its own: RLIMIT_NPROC counts all
/// processes of a user.
fn of_its_own(command: &mut Command, folder: &Path) {
    use std::os::unix::process::CommandExt as _;
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    if rustix::process::geteuid().is_root() {
        let user = NOBODY
            - 1
            - (std::process::id() % 500) * 50
            - NEXT.fetch_add(1, Ordering::Relaxed) % 50;
        std::os::unix::fs::chown(folder, Some(user), Some(NOBODY)).unwrap();
        command.uid(user);
    }
}

/// A server that one client calls, where it came to listen.
fn served(command: &mut Command) -> Result<Output, String> {
    let mut server = start(command)?;
    if let Ok(address) = server.says(super::faults::address_in) {
        let folder = tempfile::tempdir().unwrap();
        let args = [
            "run", "--remote", &address, "--paths", "sendfile", "--budget", "2s", "--out",
            "run.json",
        ];
        let near = finished(Command::new(ZC).args(args).current_dir(folder.path()))?;
        let end = verdict::end(&near, &[]).map_err(|wrong| format!("the client: {wrong}"))?;
        verdict::saved_run(folder.path(), end).map_err(|wrong| format!("the client: {wrong}"))?;
    }
    if let Some(pid) = server.zc() {
        signal(pid, Signal::TERM);
    }
    server.ends()
}

/// A run that has its first blocks, to which something happens.
fn in_the_middle(args: &[&str], happens: impl Fn(i32)) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(ZC);
    command
        .args(args)
        .args(["--paths", "sendfile", "--budget", "3s", "--out", "run.json"])
        .current_dir(folder.path());
    let mut near = start(&mut command)?;
    if !near.does(|| blocks_saved(folder.path()) > 0) {
        return verdict::end(&near.ends_itself()?, &[]).map(drop);
    }
    happens(near.pid());
    let output = near.ends()?;
    let end = verdict::end(&output, &[])?;
    verdict::saved_run(folder.path(), end)?;
    verdict::table(&output, end, &["read+send", "sendfile"])?;
    if matches!(end, End::Succeeded | End::Failed(NOTHING_KEPT)) {
        Ok(())
    } else {
        Err(format!("{end:?}: {}", stderr(&output)))
    }
}

#[test]
fn a_run_that_is_stopped_for_a_while_goes_on_afterwards() {
    let _turn = turn();
    let stopped = |pid| {
        signal(pid, Signal::STOP);
        std::thread::sleep(Duration::from_millis(700));
        signal(pid, Signal::CONT);
    };
    let mut server = start(Command::new(ZC).args(["serve", "--listen", "127.0.0.1:0"])).unwrap();
    let address = server.says(super::faults::address_in).unwrap();
    let far = server.pid();
    std::thread::scope(|scope| {
        let near = scope.spawn(|| in_the_middle(&["run"], stopped));
        in_the_middle(&["run", "--remote", &address], |_| stopped(far)).unwrap();
        near.join().unwrap().unwrap();
    });
    signal(far, Signal::TERM);
    assert_eq!(server.ends().unwrap().status.code(), Some(0));
}

#[test]
fn a_cpu_that_goes_offline_ends_a_run_with_a_sentence_or_not_at_all() {
    if !is_long() {
        return eprintln!("skipped: a CPU is taken from all that run here only with ZC_SWEEP set");
    }
    let _turn = turn();
    let cpus = zc_kernel::sched::allowed_cpus().unwrap();
    let last = *cpus.last().unwrap();
    let switch = format!("/sys/devices/system/cpu/cpu{last}/online");
    let set = |on: &str| std::fs::write(&switch, on);
    if let Err(error) = set("1") {
        return eprintln!("skipped: no CPU can be taken offline here: {error}");
    }
    let off = |_| {
        let gone = set("0");
        std::thread::sleep(Duration::from_millis(500));
        set("1").unwrap();
        if let Err(error) = gone {
            eprintln!("skipped: no CPU can be taken offline here: {error}");
        }
    };
    for args in [&["run", "--link", "veth"][..], &["run"]] {
        in_the_middle(args, off).unwrap();
    }
}
