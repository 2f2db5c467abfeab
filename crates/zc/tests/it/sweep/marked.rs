//! A program with all that it starts. A mark in its environment is inherited, so every process that
//! carries it is found in /proc wherever it went: into another session, another namespace, to
//! another parent.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use zc_kernel::spawn;

use crate::support::ZC;

/// The name of the mark.
const MARK: &str = "ZC_SWEEP_MARK";

/// Time that processes started by a program may outlive it. Helper processes end by themselves,
/// within seconds; soakers rank below all else and must get a CPU to do so.
const AFTERWARDS: Duration = Duration::from_secs(60);

/// `nobody` and its group on every distribution that zc is likely to meet.
pub(super) const NOBODY: u32 = 65_534;

/// The mark of one case.
struct Mark(String);

/// A process that carries a mark.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) words: Vec<String>,
}

impl Mark {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(format!("{}-{number}.", std::process::id()))
    }

    /// Marks what will be started.
    fn put_on<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env(MARK, &self.0)
    }

    /// All processes that carry the mark. A process that has ended and was not waited for has none.
    fn processes(&self) -> Vec<Process> {
        let wanted = format!("{MARK}={}", self.0).into_bytes();
        let carries =
            |environment: &[u8]| environment.split(|byte| *byte == 0).any(|word| word == wanted);
        let numbers = std::fs::read_dir("/proc").unwrap().flatten();
        numbers
            .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
            .filter(|pid| {
                std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|text| carries(&text))
            })
            .map(|pid| {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                let words = line.split(|byte| *byte == 0);
                Process {
                    pid,
                    words: words.map(|word| String::from_utf8_lossy(word).into_owned()).collect(),
                }
            })
            .collect()
    }

    /// Kills whatever carries the mark.
    fn kill_all(&self) {
        for process in self.processes() {
            signal(process.pid, Signal::KILL);
        }
    }

    /// Waits until nothing carries the mark.
    ///
    /// # Errors
    /// Processes that carry it after [`AFTERWARDS`]; they are killed.
    fn nothing_is_left(&self) -> Result<(), String> {
        let until = Instant::now() + AFTERWARDS;
        loop {
            let left = self.processes();
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > until {
                self.kill_all();
                return Err(format!("left after {AFTERWARDS:?}: {left:?}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.kill_all();
    }
}

/// Time limit of a program. The longest takes seconds; other programs may have the CPUs.
const HANGS_AFTER: Duration = Duration::from_secs(100);

/// A program that was started with a mark. Its output goes to files, so that nothing that it leaves
/// behind can hold up who waits for it.
pub(super) struct Started {
    child: Child,
    mark: Mark,
    folder: tempfile::TempDir,
}

/// Starts a program with a mark of its own.
///
/// # Errors
/// It cannot be started.
pub(super) fn start(command: &mut Command) -> Result<Started, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| File::create_new(folder.path().join(name)).unwrap();
    let (stdout, stderr) = (file("stdout"), file("stderr"));
    let mark = Mark::new();
    command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
    let child =
        mark.put_on(command).spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    Ok(Started { child, mark, folder })
}

/// Runs a program to its end, after which nothing of it is left.
///
/// # Errors
/// It hangs, or something is left.
pub(super) fn finished(command: &mut Command) -> Result<Output, String> {
    start(command)?.ends()
}

impl Started {
    pub(super) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Its stderr so far.
    pub(super) fn said(&self) -> String {
        self.read("stderr")
    }

    /// zc itself, where it was started through another program; `None` once it has ended.
    pub(super) fn zc(&self) -> Option<i32> {
        let is_zc = |process: &&Process| process.words.first().is_some_and(|word| word == ZC);
        self.mark.processes().iter().find(is_zc).map(|process| process.pid)
    }

    /// All processes that it has started, itself included.
    pub(super) fn processes(&self) -> Vec<Process> {
        self.mark.processes()
    }

    /// Waits until it says so.
    ///
    /// # Errors
    /// It has ended before, or does not say so in time.
    pub(super) fn says<T>(&mut self, what: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        let until = Instant::now() + HANGS_AFTER;
        loop {
            let has_ended = self.child.try_wait().is_ok_and(|status| status.is_some());
            if let Some(found) = what(&self.said()) {
                return Ok(found);
            }
            if has_ended || Instant::now() > until {
                return Err(format!(
                    "it {}: {}",
                    if has_ended { "ended" } else { "says no more" },
                    self.said()
                ));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for its end, after which nothing that it started is left.
    ///
    /// # Errors
    /// It hangs, or something is left.
    pub(super) fn ends(mut self) -> Result<Output, String> {
        let output = self.ends_itself()?;
        self.nothing_is_left()?;
        Ok(output)
    }

    /// Waits until nothing that it started is left.
    ///
    /// # Errors
    /// Processes that are left after some time.
    pub(super) fn nothing_is_left(&self) -> Result<(), String> {
        self.mark.nothing_is_left().map_err(|left| format!("{left}: {}", self.said()))
    }

    /// Waits until something has happened; returns whether it has. It is given up when nothing that
    /// this program started is left that could make it happen.
    pub(super) fn does(&self, has_happened: impl Fn() -> bool) -> bool {
        /// A process in the middle of execve(2) has no environment, and so no mark, for a moment.
        const LOOKS: usize = 5;
        let until = Instant::now() + HANGS_AFTER;
        let mut seen_nothing = 0;
        loop {
            seen_nothing = if self.processes().is_empty() { seen_nothing + 1 } else { 0 };
            let can = seen_nothing < LOOKS && Instant::now() < until;
            if has_happened() {
                return true;
            }
            if !can {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// It hangs; then all that it started is killed.
    pub(super) fn ends_itself(&mut self) -> Result<Output, String> {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            let process = spawn::pidfd(self.pid()).map_err(|error| error.to_string())?;
            let ended = spawn::wait_readable(&[process.as_fd()], Some(HANGS_AFTER));
            if ended.map_err(|error| error.to_string())? != [true] {
                let whereabouts = self.whereabouts();
                self.mark.kill_all();
                drop(self.child.wait());
                return Err(format!(
                    "hangs: has not ended after {HANGS_AFTER:?}: {}\n{whereabouts}",
                    self.said()
                ));
            }
        }
        let status = self.child.wait().map_err(|error| error.to_string())?;
        Ok(Output {
            status,
            stdout: self.read("stdout").into_bytes(),
            stderr: self.said().into_bytes(),
        })
    }

    /// Which system call each of its threads is in.
    fn whereabouts(&self) -> String {
        let mut text = String::new();
        for process in self.mark.processes() {
            writeln!(text, "{} {:?}", process.pid, process.words).unwrap();
            for task in std::fs::read_dir(format!("/proc/{}/task", process.pid))
                .into_iter()
                .flatten()
                .flatten()
            {
                let read = |name: &str| {
                    std::fs::read_to_string(task.path().join(name)).unwrap_or_default()
                };
                writeln!(
                    text,
                    "  {} {} {}",
                    read("comm").trim(),
                    read("wchan"),
                    read("syscall").trim()
                )
                .unwrap();
            }
        }
        text
    }

    fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(self.folder.path().join(name)).unwrap_or_default())
            .into_owned()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.mark.kill_all();
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Sends a signal to a process that may have ended.
pub(super) fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Makes a program run as `nobody`, if the tests run as root; the folder becomes nobody's.
pub(super) fn as_nobody(command: &mut Command, folder: &Path) {
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
}

/// State of this host that zc could have changed for others: its network interfaces, its settings
/// of the network, its cgroups.
#[derive(Debug)]
pub(super) struct Host {
    interfaces: BTreeSet<String>,
    /// Empty cgroups only: another zc may be at work in its own.
    cgroups: BTreeSet<String>,
    settings: BTreeSet<(String, Vec<u8>)>,
}

impl Host {
    pub(super) fn now() -> Self {
        let mut settings = BTreeSet::new();
        for folder in [
            "/proc/sys/net/core",
            "/proc/sys/net/ipv4",
            "/proc/sys/net/ipv6/conf",
            "/proc/sys/kernel",
        ] {
            read_all(Path::new(folder), &mut settings);
        }
        let names = |folder: &str| -> BTreeSet<String> {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path().display().to_string()).collect()
        };
        let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"];
        let is_left = |folder: &String| {
            let name = folder.rsplit('/').next().unwrap_or_default();
            let members = std::fs::read_to_string(Path::new(folder).join("cgroup.procs"));
            ["zc-soakers", "zc-competitors"].contains(&name)
                && members.is_ok_and(|list| list.is_empty())
        };
        Self {
            interfaces: names("/sys/class/net"),
            settings,
            cgroups: mounts.into_iter().flat_map(names).filter(is_left).collect(),
        }
    }

    /// Waits until the host is as it was. Tests that run at the same time change it for a moment.
    ///
    /// # Errors
    /// Differences after [`AFTERWARDS`].
    pub(super) fn is_as_it_was(&self) -> Result<(), String> {
        let until = Instant::now() + AFTERWARDS;
        loop {
            let now = Self::now();
            // Those of another zc may have gone.
            let has_more_cgroups = !now.cgroups.is_subset(&self.cgroups);
            if now.interfaces == self.interfaces
                && now.settings == self.settings
                && !has_more_cgroups
            {
                return Ok(());
            }
            if Instant::now() > until {
                let settings: Vec<_> = self
                    .settings
                    .symmetric_difference(&now.settings)
                    .map(|(name, value)| {
                        format!("{name}={}", String::from_utf8_lossy(value).trim_end())
                    })
                    .collect();
                return Err(format!(
                    "the host has changed: interfaces {:?} and now {:?}, cgroups {:?} and now \
                     {:?}, settings {settings:?}",
                    self.interfaces, now.interfaces, self.cgroups, now.cgroups
                ));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The files below a folder of settings, without those of /proc/sys/kernel that count what the
/// kernel does.
fn read_all(folder: &Path, into: &mut BTreeSet<(String, Vec<u8>)>) {
    const COUNTERS: [&str; 6] =
        ["tainted", "random", "ns_last_pid", "pty", "perf_event_max_sample_rate", "ipfrag"];
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if COUNTERS.iter().any(|name| entry.file_name().to_string_lossy().starts_with(name)) {
            continue;
        }
        if path.is_dir() {
            read_all(&path, into);
        } else if let Ok(value) = std::fs::read(&path) {
            into.insert((path.display().to_string(), value));
        }
    }
}

#[test]
fn what_a_program_leaves_behind_is_found_wherever_it_went_and_is_killed() {
    let mut shell = Command::new("sh");
    let mut started = start(shell.args(["-c", "setsid sleep 1000 & echo ready >&2"])).unwrap();
    started.says(|said| said.contains("ready").then_some(())).unwrap();
    assert!(started.ends_itself().unwrap().status.success());
    let left = || started.processes().into_iter().find(|process| process.words[0] == "sleep");
    // The shell's child may not have become sleep yet.
    let pid = crate::support::until("the sleep is seen", left).pid;
    drop(started);
    let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    crate::support::until("it is gone", || {
        (stat().is_empty() || stat().contains(") Z ")).then_some(())
    });
}
